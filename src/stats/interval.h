#pragma once
// Intervals: how sure a summary is. A sample too small to reach the confidence asked for gives an infinite
// interval, never a narrow one. `mid` is the estimate itself.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

namespace hone::stats {

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double mid = 0;
  double high = std::numeric_limits<double>::infinity();
  double confidence = 0.95;  ///< asked for; the true one is at least this where the method says so

  bool contains(double x) const { return low <= x && x <= high; }
  double half_width() const { return (high - low) / 2; }
};

/// Applies a monotone increasing function to the three numbers, for example exp to an interval of logarithms.
Interval map(const Interval& interval, double (*f)(double));

/// Student's t interval of the mean; infinite below two values.
Interval t_interval(std::span<const double> xs, double confidence = 0.95);

/// The t interval, stretched where the sample is skewed to also hold the interval that Hall's cubic
/// transformation of t gives (Hall 1992): never narrower than t_interval, and about honest in both tails where
/// that one errs up to four times too often on the side of the long tail (docs/statistics.md).
Interval skew_interval(std::span<const double> xs, double confidence = 0.95);

/// Interval of the median between two order statistics, from the binomial distribution: holds for every
/// continuous distribution and at least at the confidence asked for. Infinite when n is too small
/// (below 6 values at 95 %).
Interval order_statistic_interval(std::span<const double> xs, double confidence = 0.95);

using Statistic = std::function<double(std::span<const double>)>;
/// Bias-corrected and accelerated bootstrap (Efron 1987), or the plain percentile interval where the
/// jackknife is degenerate, as it may be for medians. Infinite where no order-statistic interval exists
/// either. The same seed gives the same interval.
Interval bootstrap_interval(std::span<const double> xs, const Statistic& statistic,
                            double confidence = 0.95, int resamples = 2000, std::uint64_t seed = 1);

/// Geometric mean, with a t interval over the logarithms; low 0 and high infinite below two values.
Interval geometric_mean_interval(std::span<const double> xs, double confidence = 0.95);

/// Clopper–Pearson interval of a probability from `successes` in `trials`: at least the confidence asked for.
Interval binomial_interval(long successes, long trials, double confidence = 0.95);

}  // namespace hone::stats
