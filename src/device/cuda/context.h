#pragma once
// A CUDA context and what lives in it, freed with its owner: physical memory that two processes share, mappings between
// unmapped gaps, modules, kernels, graphs. Errors are environment errors that name the call; what a kernel did wrong is
// told by fault_of(). facts: one mapping has one protection, so each tensor has its own.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "device/cuda/driver.h"
#include "device/cuda/gpu.h"

namespace hone::device {

/// The device's primary context, current in the thread that opened it, and one stream of it. Move-only.
class GpuContext {
 public:
  static Result<GpuContext> open(int gpu);
  GpuContext(GpuContext&& other) noexcept;
  GpuContext& operator=(GpuContext&& other) noexcept;
  ~GpuContext();

  const Driver& driver() const { return *driver_; }
  const GpuFacts& facts() const { return facts_; }
  cu::Stream stream() const { return stream_; }
  std::uint64_t granularity() const { return granularity_; }  ///< of physical memory, bytes
  /// Makes it current in another thread.
  Status use() const;
  /// Waits for the stream. The code is the driver's: a kernel's fault shows here.
  cu::Code synchronize() const { return driver_->StreamSynchronize(stream_); }
  std::uint64_t rounded(std::uint64_t bytes) const { return (bytes + granularity_ - 1) / granularity_ * granularity_; }

 private:
  GpuContext() = default;
  const Driver* driver_ = nullptr;
  GpuFacts facts_;
  cu::Device device_ = 0;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  std::uint64_t granularity_ = 0;
};

/// Physical device memory in whole granules. Move-only.
class GpuMemory {
 public:
  GpuMemory() = default;
  /// Zero is rounded up to one granule. Full memory is an environment error that says how much is free.
  static Result<GpuMemory> create(const GpuContext& context, std::uint64_t bytes);
  /// Memory that another process shared; `bytes` as it said.
  static Result<GpuMemory> import(const GpuContext& context, int fd, std::uint64_t bytes);
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept;
  ~GpuMemory();
  /// A descriptor another process can import.
  Result<UniqueFd> share() const;
  std::uint64_t bytes() const { return bytes_; }
  cu::Memory handle() const { return handle_; }

 private:
  const Driver* driver_ = nullptr;
  cu::Memory handle_ = 0;
  std::uint64_t bytes_ = 0;
};

/// A view of physical memory between two unmapped gaps of a granule each. Move-only; borrows nothing: the memory may go.
class GpuMapping {
 public:
  GpuMapping() = default;
  static Result<GpuMapping> map(const GpuContext& context, const GpuMemory& memory, bool writable);
  GpuMapping(GpuMapping&& other) noexcept { *this = std::move(other); }
  GpuMapping& operator=(GpuMapping&& other) noexcept;
  ~GpuMapping();
  cu::Pointer begin() const { return begin_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const Driver* driver_ = nullptr;
  cu::Pointer reserved_ = 0, begin_ = 0;
  std::uint64_t reserved_bytes_ = 0, bytes_ = 0;
  bool mapped_ = false;
};

/// What the driver says of a loaded kernel.
struct GpuKernel {
  cu::Function function = nullptr;
  std::string name;
  int registers = 0, max_threads = 0;
  std::int64_t static_shared_bytes = 0, local_bytes = 0, constant_bytes = 0;
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< offset and size, in order
};

/// A loaded cubin. Move-only.
class GpuModule {
 public:
  GpuModule() = default;
  static Result<GpuModule> load(const GpuContext& context, const std::string& cubin);
  GpuModule(GpuModule&& other) noexcept { *this = std::move(other); }
  GpuModule& operator=(GpuModule&& other) noexcept;
  ~GpuModule();
  Result<GpuKernel> kernel(const std::string& name) const;

 private:
  const Driver* driver_ = nullptr;
  cu::Module module_ = nullptr;
};

/// One launch; parameters are pointers to values, as the driver takes them.
struct GpuLaunch {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::array<std::uint32_t, 3> cluster{0, 0, 0};  ///< all 0: none
  bool cooperative = false;
};
/// Asks for more dynamic shared memory where the launch needs it. The driver's code comes back: a launch it refuses is
/// the candidate's fault.
cu::Code launch(const GpuContext& context, const GpuKernel& kernel, const GpuLaunch& how, void** parameters);

/// A word for what ended a context: "illegal_address", "misaligned_address", "trap", "illegal_instruction",
/// "stack_overflow", "launch_failure"…; empty: the code is no fault of a kernel.
std::string fault_of(cu::Code code);

}  // namespace hone::device
