#pragma once
// Long-lived compile workers: each a jailed process that loads NVRTC once and compiles one source after the other.
// NVRTC serialises inside a process, so many sources at once need many processes; starting one costs 0.3 s, so they stay.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hone::lane {

struct CudaCompileRequest {
  std::string source;
  std::string name = "candidate.cu";
  std::vector<std::pair<std::string, std::string>> headers;  ///< include name → text, held in memory
  std::vector<std::string> options;                          ///< NVRTC's, the architecture among them
  double limit_s = 30;                                       ///< then the worker is killed
};

struct CudaCompileReply {
  enum class State { done, refused, timeout, crashed };
  State state = State::done;
  std::string cubin, ptx;  ///< done
  std::string log;         ///< NVRTC's or, crashed, how the worker ended; untrusted: scrub before printing
  double ms = 0;           ///< wall time as the coordinator saw it, waiting for a free worker not counted
};

struct CompilePoolOptions {
  int workers = 0;          ///< at most; 0: as many as usable processors
  bool unsafe = false;      ///< without the jail where there is none (--unsafe)
  std::string nvrtc;        ///< library; empty: found by device::Nvrtc's search
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< of one worker
};

class CompilePool {
 public:
  /// Starts the jail and one worker, and waits until it answers: an environment error names cause and cure when NVRTC is
  /// not there. The others start when they are first needed.
  static Result<std::unique_ptr<CompilePool>> start(const CompilePoolOptions& options);
  ~CompilePool();
  /// Blocks until compiled; usable from many threads, each of which takes a free worker. An Error is the machine's fault.
  Result<CudaCompileReply> compile(const CudaCompileRequest& request);
  /// "NVRTC 13.0".
  const std::string& version() const;
  const std::vector<int>& architectures() const;
  std::vector<std::string> layers() const;

  struct Inner;

 private:
  explicit CompilePool(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace hone::lane
