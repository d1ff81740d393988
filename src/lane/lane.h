#pragma once
// lane: a way to build and run candidates. One small interface; cpu/ implements it, cuda/ and host/ will.

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "task/task.h"

namespace hone::lane {

/// A finished build. `object` is what a runner loads (cpu: a shared object's bytes, cuda: a cubin).
struct Built {
  std::string object;
  std::string text;                 // cuda: the PTX; else empty
  std::string machine_code_hash;    // of what executes, without names and build ids
  std::vector<std::string> command; // with flags expanded ("native" spelled out), scratch paths left out
  std::string log;                  // scrubbed diagnostics
  double compile_ms = 0;
  bool from_cache = false;
};

/// A build that the candidate lost is a Failure; one that we or the machine lost is an Error.
using BuildOutcome = std::variant<Built, candidate::Failure>;

struct BuildOptions {
  double limit_s = 30;  // then the compiler is killed and the candidate fails with compile_timeout
};

class Lane {
 public:
  virtual ~Lane() = default;
  virtual std::string name() const = 0;
  /// Compiles out of process in the sandbox; thread-safe; blocks until done.
  virtual Result<BuildOutcome> build(const candidate::Resolved& resolved, const BuildOptions& options) = 0;
  /// What identifies the device a verdict holds for: cpu model, flags, compiler versions.
  virtual std::string device() const = 0;
};

struct CpuLaneOptions {
  std::string compiler;       // "g++" or "clang++"; empty: g++ where there is one
  std::string cache;          // folder of finished objects and precompiled headers; empty: the default
  bool use_cache = true;      // finished objects; the precompiled prelude is always kept
  bool unsafe = false;        // run compilers without the sandbox where there is none (--unsafe)
};
Result<std::unique_ptr<Lane>> make_cpu_lane(const CpuLaneOptions& options);

struct CudaLaneOptions {
  int gpu = 0;                // its number, as the driver counts
  std::string architecture;   // "sm_90a": compile for it without asking for a GPU; empty: the GPU's own
  std::string cache;          // folder of finished cubins; empty: the default
  int workers = 0;            // compile workers at most; 0: as many as usable processors
  bool use_cache = true;
  bool unsafe = false;
};
/// Needs NVRTC; needs a GPU only where no architecture is named.
Result<std::unique_ptr<Lane>> make_cuda_lane(const CudaLaneOptions& options);

}  // namespace hone::lane
