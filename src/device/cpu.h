#pragma once
// device/cpu: what the processor is and what it can reach. Facts are read, never guessed: what the system
// does not tell is absent (JSON null), and reads "unknown".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hone::device {

struct Cache {
  int level = 0;
  std::string type;              ///< "data", "instruction", "unified"
  std::int64_t bytes = 0;
  int shared_by = 0;             ///< logical cores that share it; 0: unknown
};

struct CpuFacts {
  std::string vendor, model;     ///< as /proc/cpuinfo says
  std::string architecture;      ///< "x86_64"
  std::vector<int> usable_cores; ///< this process's affinity
  int online_cores = 0;
  int threads_per_core = 0;      ///< 0: unknown
  std::vector<std::string> isa;  ///< of: sse4_2 avx avx2 fma f16c avx512f avx512bw avx512vl avx512_bf16 …
  std::vector<Cache> caches;     ///< of the first usable core
  std::int64_t memory_bytes = 0;
  std::string kernel;            ///< "6.1.0-…"
  std::optional<std::string> governor;      ///< cpufreq's, where readable
  bool virtual_machine = false;             ///< the hypervisor bit
  std::optional<double> max_ghz;            ///< cpufreq's, where readable
  std::optional<double> memory_bandwidth;   ///< theoretical, bytes/s; unknown unless HONE_MEMORY_BANDWIDTH_GBS says

  /// Bytes of the largest data or unified cache that one core sees; 32 MiB where unknown.
  std::int64_t last_level_cache_bytes() const;
  /// A short stable word for verdicts and caches: model, cores, ISA, kernel, hashed.
  std::string identity() const;
};
/// Read once a process.
const CpuFacts& cpu_facts();

/// First line of `COMPILER --version`, or an environment error with the cure. Cached in the process.
Result<std::string> compiler_version(const std::string& compiler);

/// What loops of our own reached here; for the roofline, never for a verdict.
struct CpuCeilings {
  double copy_bytes_per_s_1 = 0;   ///< bytes read + written, one thread, beyond the caches
  double copy_bytes_per_s_n = 0;   ///< the same, a thread on every usable core
  double fma_flops_per_s_1 = 0;    ///< float32 multiply-adds, 2 operations each, one core
  double fma_flops_per_s_n = 0;
  int threads = 1;                 ///< n
  std::string isa;                 ///< which body ran: "avx512f", "avx2", "baseline"
  std::int64_t measured_at = 0;    ///< seconds since 1970
};
/// From the cache folder where this machine was measured before, unless `fresh`; else measured (about 1 s).
Result<CpuCeilings> cpu_ceilings(bool fresh = false);

Json to_json(const CpuFacts& facts);
Json to_json(const CpuCeilings& ceilings);

}  // namespace hone::device
