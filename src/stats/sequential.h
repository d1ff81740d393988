#pragma once
// Sequential looks: stop early when the answer is clear, without claiming more than alpha allows.
//
// A plan fixes beforehand at how many units (pairs of processes, or rounds) one looks. The error
// probability alpha, two-sided, is split over the looks; each look forms an interval at 1 − its share.
// By the union bound the chance that any look's interval misses the truth is at most alpha, whatever the
// correlation between looks, so "faster" is false with probability at most alpha / 2 (plus what the
// interval itself errs on non-normal data) and any false answer with at most alpha. That is conservative:
// the looks share data. How to split:
//   equal         the same share each (Pocock's idea): stops earliest, widest at the last look
//   proportional  as the units: a clear winner still stops at the first look, the last loses little
//   late          increments of the Lan–DeMets spending function 2 − 2Φ(z/√t) (O'Brien–Fleming's idea):
//                 almost nothing is spent early
// The interval that is reported to a user comes from a fresh set of fixed size (DESIGN.md §8), not from here:
// stopping because an effect looked large makes it look larger than it is.

#include <span>
#include <vector>

#include "stats/interval.h"

namespace hone::stats {

enum class Spending { equal, proportional, late };
enum class Centre { mean, median };  ///< skew-aware t interval of the mean, or order-statistic interval of the median

struct LookPlan {
  std::vector<int> sizes;  ///< units at each look, increasing
  double alpha = 0.05;     ///< two-sided, over all looks together
  Spending spending = Spending::proportional;
  Centre centre = Centre::mean;
};

LookPlan pair_looks(double alpha = 0.05);   ///< 8, 16, 32 pairs of processes, skew_interval of the mean
LookPlan round_looks(double alpha = 0.05);  ///< 16, 32, 64, 128 rounds, order-statistic intervals of the median

/// Share of alpha for each look; sums to alpha.
std::vector<double> spend(const LookPlan& plan);

enum class Answer { faster, slower, same, go_on, undecided };
const char* name_of(Answer answer);

struct Decision {
  Answer answer = Answer::undecided;
  Interval interval;  ///< of the log-ratio, at this look's confidence
};

/// `log_ratios`: log(baseline time / candidate time) of each unit so far, > 0 is faster. `look` counts from 0;
/// a last look that fails to decide is `undecided`. `margin` ≥ 0, in logs: faster is an interval wholly above
/// it, slower one wholly below −margin, same one wholly inside.
Decision decide(std::span<const double> log_ratios, int look, double margin, const LookPlan& plan);

/// The look that `units` units have reached: the last one with size ≤ units; −1 before the first.
int look_at(int units, const LookPlan& plan);

}  // namespace hone::stats
