#pragma once
// How the search judges: builds run ahead in threads of their own while this one screens and times. A slow baseline
// would eat the budget, so new points are timed against an anchor: the best point so far whose speed-up over the
// baseline was measured. Finalists are timed against the baseline itself.

#include <memory>
#include <optional>

#include "engine/bench.h"
#include "engine/performance.h"
#include "judge/judge.h"
#include "measure/compare.h"
#include "search/evaluator.h"

namespace hone::engine {

struct EvaluatorOptions {
  double screen_s = 0.25;        ///< of timed slots for one point
  double retime_s = 1.0;
  double verify_s = 1.0;
  bool timing = true;            ///< false: correctness only (benchmarks)
  bool early_stop = true;        ///< clear winners and losers
  double margin = 0.01;
  judge::Allowed allowed;
  bool memory_gate = true;
  bool allow_missing_tools = false;
  int build_threads = 2;
  double verify_limit_s = 300;   ///< for all verify jobs together; what is over is undecided, and no further one begins. 0: none
  const std::atomic<bool>* cancel = nullptr;
};

/// Where the time of a run went, for --stats; milliseconds.
struct EvaluatorStats {
  double build_ms = 0, screen_ms = 0, timing_ms = 0, verify_ms = 0, waiting_ms = 0;
  std::int64_t built = 0, screened = 0, timed = 0, stopped_early = 0;
};

class JudgeEvaluator final : public search::Evaluator {
 public:
  static Result<std::unique_ptr<JudgeEvaluator>> make(Bench& bench, const EvaluatorOptions& options);
  ~JudgeEvaluator() override;

  Status evaluate(std::span<const search::Job> jobs, const search::Race& race, const std::function<bool()>& stop,
                  const Finished& finished) override;

  const EvaluatorStats& stats() const;
  /// The verdict of the last verify job, with samples.
  const std::optional<judge::Verdict>& last_verified() const;
  const std::optional<judge::Entry>& last_verified_entry() const;

 private:
  struct Inner;
  explicit JudgeEvaluator(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace hone::engine
