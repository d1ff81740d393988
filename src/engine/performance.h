#pragma once
// The performance gate as the verbs ask for it: a verified candidate against the baseline on every timed case.

#include <atomic>

#include "hone/hone.h"
#include "judge/judge.h"
#include "judge/performance.h"
#include "judge/verdict.h"
#include "runner/session.h"

namespace hone::engine {

struct PerformanceOptions {
  double slots_s = 1;      ///< over all timed cases together
  int most_pairs = 32;     ///< sequential looks go on to here while the answer is unclear; 8: one look
  double margin = 0.01;
  const std::atomic<bool>* cancel = nullptr;
  const judge::Watch* watch = nullptr;
};

/// Fills speeds, geometric mean and answer. A candidate that fails while timed is the verdict's failure.
Status judge_performance(runner::Session& session, const judge::Entry& entry, const PerformanceOptions& options,
                         judge::Verdict& verdict);

std::vector<task::Case> timed_cases(const task::Task& task);

}  // namespace hone::engine
