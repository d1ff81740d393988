#pragma once
// A bench of processes for one task: the oracle, and jails from which fresh runners come. Everything above asks
// here for "run this program on that draw" or "release k calls and tell how long it took".

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "lane/lane.h"
#include "runner/oracle.h"

namespace hone::runner {

/// What a runner loads, built and bound.
struct Program {
  std::string object;                  ///< shared object's bytes
  candidate::Resolved resolved;
};

/// One release of a frozen runner: k calls.
struct Release {
  double outside_ns = 0;   ///< coordinator's clock, from release to the completion signal
  double inside_ns = 0;    ///< the runner's own claim
};
using ReleaseOutcome = std::variant<Release, candidate::Failure>;

/// A process with one program loaded, frozen except during release().
class Runner {
 public:
  virtual ~Runner() = default;
  /// Binds the arenas of a case. Scalars in task order.
  virtual Result<std::optional<candidate::Failure>> bind(const Arenas& arenas, const task::Dims& dims,
                                                         const std::vector<double>& scalars) = 0;
  /// Thaws, calls sets 0 … calls−1 once each in order, freezes. calls = 0 is an empty release.
  virtual Result<ReleaseOutcome> release(std::int64_t calls, double limit_s) = 0;
  virtual std::int64_t peak_memory_bytes() const = 0;
};

struct SessionOptions {
  lane::Lane* lane = nullptr;
  bool unsafe = false;
  int gpu = 0;                      ///< cuda lane: its number, as the driver counts
  std::vector<int> runner_cpus;     ///< empty: the last limits.threads usable ones
  std::uint64_t memory_limit_bytes = std::uint64_t{2} << 30;  ///< of a runner beside its tensors
};

using RunnerOutcome = std::variant<std::unique_ptr<Runner>, candidate::Failure>;

class Session {
 public:
  /// Builds t and r of the task's reference, and r of the next lower class where there is one, starts the oracle and two jails. A reference that does not build or
  /// crashes is a usage error that says where.
  static Result<std::unique_ptr<Session>> open(const task::Task& task, const SessionOptions& options);
  virtual ~Session() = default;

  virtual const task::Task& task() const = 0;
  virtual lane::Lane& lane() = 0;
  virtual Oracle& oracle() = 0;
  /// The baseline as a program (built in its storage types with the default flags).
  virtual const Program& baseline() = 0;

  enum class Who { candidate, baseline };
  virtual Result<RunnerOutcome> start_runner(Who who, const Program& program, int threads_hint) = 0;

  /// Start to end in one runner: stages the draw, releases one call, checks. The runner must be bound to arenas
  /// made for this case.
  virtual Result<std::variant<DrawCheck, candidate::Failure>> run_draw(Runner& runner, const Arenas& arenas,
                                                                       const Prepared& prepared) = 0;
  virtual std::vector<std::string> sandbox_layers() const = 0;
  virtual std::vector<int> runner_cpus(int threads) const = 0;
};

}  // namespace hone::runner
