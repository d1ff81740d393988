#pragma once
// The performance gate: a verified candidate against the baseline on every timed case.

#include <atomic>

#include "hone/hone.h"
#include "judge/judge.h"
#include "judge/verdict.h"
#include "measure/compare.h"
#include "runner/session.h"

namespace hone::engine {

struct PerformanceOptions {
  double slots_s = 1;      ///< over all timed cases together
  int pairs = 8;
  int most_pairs = 32;     ///< sequential looks go on to here while the answer is unclear; = pairs: one fixed set
  bool cold = true;
  double margin = 0.01;
  double faster_than = 0;  ///< 0: no demand; else the interval must lie above it, or the gate fails
  const std::atomic<bool>* cancel = nullptr;
};

/// Fills speeds, geometric mean, answer and the gate's line. A candidate that fails while timed is a failed verdict.
Status judge_performance(runner::Session& session, const runner::Program& program, const PerformanceOptions& options,
                         judge::Verdict& verdict);

judge::Speed to_speed(const measure::Comparison& comparison, const task::Case& on);
/// Geometric mean over cases: logs and their standard errors add as independent ones.
void combine_speeds(judge::Verdict& verdict);
std::vector<task::Case> timed_cases(const task::Task& task);

}  // namespace hone::engine
