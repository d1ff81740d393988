#include "device/cuda/gpu.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "device/cuda/driver.h"
#include "device/cuda/library.h"
#include "device/cuda/nvrtc.h"

namespace hone::device {

std::string GpuFacts::identity() const {
  return identity_hash(fmt::format("{} {}.{} {} {} {}", name, major, minor, multiprocessors, l2_bytes, driver_version))
      .substr(0, 16);
}

Result<GpuFacts> gpu_facts(int index) {
  HONE_TRY(const Driver* const driver, Driver::get());
  if (index < 0 || index >= driver->devices)
    return usage_error(fmt::format("there is no GPU {}: the driver sees {}", index, driver->devices),
                       "Count from 0, in the driver's order.");
  cu::Device device = 0;
  HONE_CHECK(driver->check(driver->DeviceGet(&device, index), "opening the GPU"));
  GpuFacts facts;
  facts.index = index;
  facts.driver_version = driver->version;
  char text[256] = {0};
  if (driver->DeviceGetName(text, sizeof text, device) == cu::kSuccess) facts.name = text;
  if (driver->DeviceGetPCIBusId(text, sizeof text, device) == cu::kSuccess) facts.pci = text;
  cu::Uuid uuid{};
  if (driver->DeviceGetUuid(&uuid, device) == cu::kSuccess)
    for (const char byte : uuid.bytes) facts.uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  std::size_t memory = 0;
  if (driver->DeviceTotalMem(&memory, device) == cu::kSuccess) facts.memory_bytes = static_cast<std::int64_t>(memory);
  const auto ask = [&](int attribute) {
    int value = 0;
    return driver->DeviceGetAttribute(&value, attribute, device) == cu::kSuccess ? value : 0;
  };
  facts.major = ask(cu::kMajor);
  facts.minor = ask(cu::kMinor);
  facts.multiprocessors = ask(cu::kMultiprocessors);
  facts.warp = ask(cu::kWarpSize);
  facts.max_threads_per_block = ask(cu::kMaxThreadsPerBlock);
  facts.max_threads_per_multiprocessor = ask(cu::kMaxThreadsPerMultiprocessor);
  facts.max_blocks_per_multiprocessor = ask(cu::kMaxBlocksPerMultiprocessor);
  for (int i = 0; i < 3; ++i) {
    facts.max_block[i] = ask(cu::kMaxBlockX + i);
    facts.max_grid[i] = ask(cu::kMaxGridX + i);
  }
  facts.registers_per_block = ask(cu::kRegistersPerBlock);
  facts.registers_per_multiprocessor = ask(cu::kRegistersPerMultiprocessor);
  facts.shared_per_block = ask(cu::kSharedPerBlock);
  facts.shared_per_block_opt_in = ask(cu::kSharedPerBlockOptIn);
  facts.shared_per_multiprocessor = ask(cu::kSharedPerMultiprocessor);
  facts.l2_bytes = ask(cu::kL2Bytes);
  facts.clock_hz = 1e3 * ask(cu::kClockKhz);
  facts.memory_bandwidth = 2e3 * ask(cu::kMemoryClockKhz) * ask(cu::kMemoryBusBits) / 8;
  facts.ecc = ask(cu::kEcc) != 0;
  facts.clusters = ask(cu::kClusterLaunch) != 0;
  facts.cooperative = ask(cu::kCooperativeLaunch) != 0;
  facts.virtual_memory = ask(cu::kVirtualMemory) != 0;
  facts.posix_handles = ask(cu::kPosixFdHandles) != 0;
  return facts;
}

Result<std::vector<GpuFacts>> all_gpus() {
  HONE_TRY(const Driver* const driver, Driver::get());
  std::vector<GpuFacts> out;
  for (int i = 0; i < driver->devices; ++i) {
    HONE_TRY(GpuFacts facts, gpu_facts(i));
    out.push_back(std::move(facts));
  }
  return out;
}

Json to_json(const GpuFacts& f) {
  return {{"index", f.index},
          {"name", f.name},
          {"uuid", f.uuid},
          {"pci", f.pci},
          {"capability", fmt::format("{}.{}", f.major, f.minor)},
          {"multiprocessors", f.multiprocessors},
          {"max_threads_per_block", f.max_threads_per_block},
          {"max_threads_per_multiprocessor", f.max_threads_per_multiprocessor},
          {"registers_per_multiprocessor", f.registers_per_multiprocessor},
          {"shared_per_block_opt_in_bytes", f.shared_per_block_opt_in},
          {"shared_per_multiprocessor_bytes", f.shared_per_multiprocessor},
          {"l2_bytes", f.l2_bytes},
          {"memory_bytes", f.memory_bytes},
          {"clock_hz", f.clock_hz},
          {"memory_bandwidth_bytes_per_s", f.memory_bandwidth},
          {"ecc", f.ecc},
          {"driver_cuda", cuda_version_text(f.driver_version)},
          {"identity", f.identity()}};
}

namespace {

CudaPart library_part(const char* name, const char* use, const std::string& file, const char* cure) {
  CudaPart part;
  part.name = name;
  part.use = use;
  auto library = Library::open(library_candidates(file), name, cure);
  part.found = library.ok();
  if (library.ok()) {
    part.path = library->path();
  } else {
    part.problem = library.error().message;
    part.cure = library.error().cure;
  }
  return part;
}

/// A program of the toolkit: in PATH, or in a toolkit's bin folder.
CudaPart program_part(const char* name, const char* use, const char* cure) {
  CudaPart part;
  part.name = name;
  part.use = use;
  part.path = find_program(name);
  for (const std::string& folder : toolkit_folders()) {
    if (!part.path.empty()) break;
    std::error_code none;
    const fs::path program = fs::path(folder) / "bin" / name;
    if (fs::exists(program, none)) part.path = program.string();
  }
  part.found = !part.path.empty();
  if (!part.found) {
    part.problem = fmt::format("{} is in no folder of PATH and in no toolkit", name);
    part.cure = cure;
  }
  return part;
}

}  // namespace

std::vector<CudaPart> cuda_parts() {
  constexpr const char* kToolkit = "Install the CUDA toolkit.";
  std::vector<CudaPart> parts;
  CudaPart driver{"driver", "running kernels", false, "", "", "", ""};
  if (const auto loaded = Driver::get(); loaded.ok()) {
    driver.found = true;
    driver.version = "CUDA " + cuda_version_text((*loaded)->version);
    driver.path = (*loaded)->path;
  } else {
    driver.problem = loaded.error().message;
    driver.cure = loaded.error().cure;
  }
  parts.push_back(std::move(driver));
  CudaPart nvrtc{"NVRTC", "compiling CUDA C++", false, "", "", "", ""};
  if (const auto loaded = Nvrtc::get(); loaded.ok()) {
    nvrtc.found = true;
    nvrtc.version = fmt::format("{}.{}", (*loaded)->major, (*loaded)->minor);
    nvrtc.path = (*loaded)->path;
  } else {
    nvrtc.problem = loaded.error().message;
    nvrtc.cure = loaded.error().cure;
  }
  parts.push_back(std::move(nvrtc));
  parts.push_back(library_part("nvJitLink", "assembling PTX", "libnvJitLink.so",
                               "Install the CUDA toolkit, or NVIDIA's PyPI package nvidia-nvjitlink."));
  parts.push_back(library_part("NVML", "clocks, power and throttling", "libnvidia-ml.so.1", "Install NVIDIA's driver."));
  parts.push_back(library_part("CUPTI", "counters and the second clock", "libcupti.so",
                               "Install the CUDA toolkit, or NVIDIA's PyPI package nvidia-cuda-cupti."));
  parts.push_back(program_part("compute-sanitizer", "the memory gate", kToolkit));
  parts.push_back(program_part("ncu", "counters where CUPTI may not", kToolkit));
  parts.push_back(program_part("nvdisasm", "reading machine code", kToolkit));
  return parts;
}

Json to_json(const CudaPart& part) {
  Json out = {{"name", part.name}, {"use", part.use}, {"found", part.found}};
  if (!part.version.empty()) out["version"] = part.version;
  if (!part.path.empty()) out["path"] = part.path;
  if (!part.problem.empty()) out["problem"] = part.problem;
  if (!part.cure.empty()) out["cure"] = part.cure;
  return out;
}

}  // namespace hone::device
