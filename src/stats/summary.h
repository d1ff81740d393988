#pragma once
// stats: medians, intervals, sequential looks, comparisons. Pure: no clock, no entropy, no input or output.
// Everything takes a span of doubles and leaves it as it was; an empty span gives NaN unless said otherwise.
// Read summary.h (one number for many), interval.h (how sure it is), sequential.h (when to stop looking).

#include <span>

namespace hone::stats {

double mean(std::span<const double> xs);
/// Unbiased (divisor n − 1); NaN below two values.
double variance(std::span<const double> xs);
double standard_deviation(std::span<const double> xs);
double median(std::span<const double> xs);
/// Type 7 of Hyndman & Fan (1996), the default of R and NumPy: linear between order statistics. p in [0, 1].
double quantile(std::span<const double> xs, double p);
/// Mean without the floor(fraction · n) smallest and as many largest values; fraction in [0, 0.5).
double trimmed_mean(std::span<const double> xs, double fraction);
/// Mean after the floor(fraction · n) smallest and largest values were moved to their nearest kept neighbour.
double winsorised_mean(std::span<const double> xs, double fraction);
/// Median of |x − median|, unscaled (times 1.4826 it estimates the deviation of a normal sample).
double mad(std::span<const double> xs);
/// exp of the mean logarithm; NaN when a value is not positive.
double geometric_mean(std::span<const double> xs);
/// Median of the pairwise (Walsh) averages of one sample; O(n²).
double hodges_lehmann(std::span<const double> xs);
/// Median of all differences x − y: the shift between two samples; O(n · m).
double hodges_lehmann_shift(std::span<const double> xs, std::span<const double> ys);

}  // namespace hone::stats
