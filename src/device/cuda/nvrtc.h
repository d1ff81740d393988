#pragma once
// NVRTC: CUDA C++ to cubin or PTX, loaded at run time. Untrusted source is compiled by compile workers only
// (lane/cuda); our own helper kernels may be compiled here.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/cuda/library.h"

namespace hone::device {

/// Where the library is looked for: $HONE_NVRTC alone where it is set, else the toolkits and the loader's own search.
std::vector<std::string> nvrtc_libraries();

struct NvrtcJob {
  std::string source;
  std::string name = "candidate.cu";                            ///< as diagnostics show it
  std::vector<std::pair<std::string, std::string>> headers;     ///< include name → text
  std::vector<std::string> options;                             ///< "--gpu-architecture=sm_90a", …
  bool want_ptx = false;                                        ///< also the PTX
};

struct NvrtcOutput {
  bool compiled = false;     ///< false: log says why
  std::string cubin, ptx, log;
  double ms = 0;
};

class Nvrtc {
 public:
  /// Once a process; `path` wins over the search where it is not empty. Environment error with the cure.
  static Result<const Nvrtc*> get(const std::string& path = "");
  /// Serialised inside a process by NVRTC itself. An Error is ours or the machine's; what the source did wrong is in the
  /// output.
  Result<NvrtcOutput> compile(const NvrtcJob& job) const;

  int major = 0, minor = 0;
  std::string path;
  /// "sm_80", "sm_90", … that this version compiles for, ascending.
  std::vector<int> architectures;

 private:
  struct Functions;
  const Functions* functions_ = nullptr;
  static Result<Nvrtc> load(const std::string& path);
};

/// "sm_90a" from compute capability 9.0: the architecture-specific set where the version knows one.
std::string architecture_name(int major, int minor);

}  // namespace hone::device
