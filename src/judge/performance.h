#pragma once
// The performance gate: every timed case against the baseline, by measure; what comes out is booked in the verdict.

#include <vector>

#include "base/result.h"
#include "judge/judge.h"
#include "judge/verdict.h"
#include "measure/compare.h"
#include "runner/session.h"

namespace hone::judge {

struct PerformanceOptions {
  measure::CompareOptions compare;
  bool sequential = true;       ///< looks at 8, 16, 32 pairs, then a fresh set; false: one set (screens)
  int most_pairs = 32;
  double slots_s_all = 0;       ///< > 0: slot time of all timed cases together, split evenly
  double physics_bytes_per_s = 0;  ///< theoretical memory bandwidth; 0: no physics check
  double cache_bytes = 0;       ///< what may have stayed in the caches
  const Watch* watch = nullptr; ///< asked after each pair of processes; none without
};

/// Fills speeds (one a timed case), geomean with its interval, answer, timing_ms; and failure when the candidate
/// failed while timed. An invalid comparison is an answer, not a failure.
Status time_cases(runner::Session& session, const Entry& entry, const PerformanceOptions& options, Verdict& verdict);

/// One comparison as the verdict keeps it.
Speed speed_of(const measure::Comparison& comparison, const task::Case& on, double confidence);
/// Geometric mean over cases with an interval from the cases' own, as independent estimates; and the answer it
/// gives at `margin`. Any invalid case makes the whole invalid.
void conclude_speeds(Verdict& verdict, double margin);

}  // namespace hone::judge
