#pragma once
// What a GPU is, as the driver tells it. No context is made.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hone::device {

struct GpuFacts {
  int index = 0;
  std::string name, uuid, pci;
  int major = 0, minor = 0;                ///< compute capability
  int multiprocessors = 0;
  int warp = 32;
  int max_threads_per_block = 0, max_threads_per_multiprocessor = 0, max_blocks_per_multiprocessor = 0;
  int max_block[3] = {0, 0, 0}, max_grid[3] = {0, 0, 0};
  int registers_per_block = 0, registers_per_multiprocessor = 0;
  std::int64_t shared_per_block = 0;        ///< bytes without asking for more
  std::int64_t shared_per_block_opt_in = 0; ///< bytes at most
  std::int64_t shared_per_multiprocessor = 0;
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  double clock_hz = 0;                      ///< highest SM clock
  double memory_bandwidth = 0;              ///< theoretical, bytes/s: 2 · memory clock · bus width; 0: not told
  bool ecc = false, clusters = false, cooperative = false, virtual_memory = false, posix_handles = false;
  int driver_version = 0;                   ///< 13000 is CUDA 13.0

  /// A short stable word for verdicts and caches: name, capability, driver.
  std::string identity() const;
};
Result<GpuFacts> gpu_facts(int index);
/// All that the driver sees; an environment error where there is none.
Result<std::vector<GpuFacts>> all_gpus();
Json to_json(const GpuFacts& facts);

/// One library the cuda lane loads at run time: found where and which version, or why not and what to do.
struct CudaPart {
  std::string name;     ///< "driver", "NVRTC", "nvJitLink", "NVML", "CUPTI", "compute-sanitizer", "ncu", "nvdisasm"
  std::string use;      ///< what needs it
  bool found = false;
  std::string version, path, problem, cure;
};
std::vector<CudaPart> cuda_parts();
Json to_json(const CudaPart& part);

}  // namespace hone::device
