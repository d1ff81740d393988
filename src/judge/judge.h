#pragma once
// judge: is a candidate right, how right, and how fast? What comes in is a session (oracle, jails), a candidate and an
// assignment; what goes out is a Verdict. Gates run cheapest first and the first failure ends it. `enter` builds,
// `screen` judges on the run's fixed secret draws, `verify` on fresh ones with the memory gate. An Error is the
// task's or the machine's; whatever the candidate does wrong is in Verdict::failure, by a word of reasons.h.
// Read budget.h (the error budget), then static_gate.h, memory_gate.h, admission.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "judge/budget.h"
#include "judge/memory_gate.h"
#include "judge/static_gate.h"
#include "judge/verdict.h"
#include "judge/watch.h"
#include "lane/lane.h"
#include "runner/session.h"
#include "task/task.h"

namespace hone::judge {

/// A candidate bound and built, or why it could not be.
struct Entry {
  candidate::Assignment assignment;
  std::string source_hash;
  runner::Program program;   ///< empty when `failure`
  lane::Built built;         ///< its object lies in `program`
  std::optional<candidate::Failure> failure;
  std::optional<StaticReport> statics;  ///< what the object says, read while others are timed
  double ms = 0;
};
/// Thread-safe: several may build at once. `as` baseline: the source is written like a reference (HONE_OUT, two buffers
/// for an inout output) and judged like any other.
Result<Entry> enter(lane::Lane& lane, const task::Task& task, const candidate::Candidate& candidate,
                    const candidate::Assignment& assignment, const lane::BuildOptions& build = {},
                    candidate::Build as = candidate::Build::candidate);

/// Which classes count as correct. A and B always do.
struct Allowed {
  bool c = false, x = false;
};

/// How many draws, and for how long the oracle may compute.
struct Effort {
  int draws_large = 2;      ///< timed cases
  int draws_small = 4;      ///< edges and hidden shapes
  int draws_tiny = kLeastDraws;  ///< any output below kSmallOutput elements
};

struct ScreenOptions {
  std::uint64_t seed = 0;   ///< 0: from the system's entropy
  const Watch* watch = nullptr;  ///< asked before each draw; none without. Outlives the context
  Effort effort;
  Allowed allowed;
  Budget budget;
  StaticOptions statics;
};

/// The run's fixed cases and secret draws, their truths kept by the oracle. Not thread-safe.
class ScreenContext {
 public:
  /// Draws and evaluates everything; an invalid nominal draw everywhere is a usage error (the reference).
  static Result<std::unique_ptr<ScreenContext>> prepare(runner::Session& session, const ScreenOptions& options = {});
  ~ScreenContext();
  std::uint64_t seed() const;
  double oracle_ms() const;
  struct Inner;
  Inner& inner() { return *inner_; }

 private:
  explicit ScreenContext(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

/// Static and correctness gates. Times nothing: see performance.h.
Result<Verdict> screen(runner::Session& session, const Entry& entry, ScreenContext& context);

struct VerifyOptions {
  std::uint64_t seed = 0;   ///< 0: from the system's entropy; written to the verdict
  Effort effort;
  Allowed allowed;
  Budget budget;
  StaticOptions statics;
  bool hidden = true;            ///< hidden shapes
  bool memory = true;            ///< the memory gate
  MemoryOptions memory_options;
  double oracle_s = 2;           ///< all evaluations of hidden cases, about
  double other_distributions_s = 2;  ///< of distributions beside nominal on timed cases, about
  bool keep_draws = false;       ///< truths stay with the oracle: for several candidates on one seed
  const Watch* watch = nullptr;  ///< limit, progress, cancelling; none without. Running out is a failure "out_of_time"
  /// Times the candidate and fills speeds, geomean, answer; called once everything else passed. Empty: no timing.
  std::function<Status(const Entry&, Verdict&)> performance;
};

/// All gates on fresh draws, all distributions, hidden cases, redrawn scalars. Only this accepts.
Result<Verdict> verify(runner::Session& session, const Entry& entry, const VerifyOptions& options = {});

}  // namespace hone::judge
