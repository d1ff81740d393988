#include "stats/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/summary.h"

namespace hone::stats {
namespace {

bool bad_confidence(double confidence) { return !(confidence > 0 && confidence < 1); }

/// 1-based rank of the lower end of the median's interval, 0 when there is none.
std::size_t median_rank(std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  std::size_t rank = 0;
  // P(median < k-th value) = P(at most k − 1 of n values below the median).
  while (2 * (rank + 1) <= n &&
         binomial_cdf(static_cast<long>(rank), static_cast<long>(n), 0.5) <= tail)
    ++rank;
  return rank;
}

/// Acceleration of BCa from the jackknife; NaN when every leave-one-out value is the same.
double acceleration(std::span<const double> xs, const Statistic& statistic) {
  std::vector<double> left_out, values;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    left_out.assign(xs.begin(), xs.end());
    left_out.erase(left_out.begin() + static_cast<std::ptrdiff_t>(i));
    values.push_back(statistic(left_out));
  }
  const double centre = mean(values);
  double squares = 0, cubes = 0;
  for (double value : values) {
    const double d = centre - value;
    squares += d * d;
    cubes += d * d * d;
  }
  return cubes / (6 * std::pow(squares, 1.5));
}

}  // namespace

Interval map(const Interval& interval, double (*f)(double)) {
  return {f(interval.low), f(interval.mid), f(interval.high), interval.confidence};
}

Interval t_interval(std::span<const double> xs, double confidence) {
  Interval result;
  result.confidence = confidence;
  result.mid = mean(xs);
  if (xs.size() < 2 || bad_confidence(confidence)) return result;
  const auto n = static_cast<double>(xs.size());
  const double reach = student_quantile(0.5 + confidence / 2, n - 1) * std::sqrt(variance(xs) / n);
  result.low = result.mid - reach;
  result.high = result.mid + reach;
  return result;
}

Interval skew_interval(std::span<const double> xs, double confidence) {
  Interval result = t_interval(xs, confidence);
  const double deviation = standard_deviation(xs);
  if (xs.size() < 3 || bad_confidence(confidence) || !(deviation > 0)) return result;
  const auto n = static_cast<double>(xs.size());
  double cubes = 0;
  for (double x : xs) cubes += std::pow((x - result.mid) / deviation, 3);
  const double skewness = cubes * n / ((n - 1) * (n - 2));
  if (std::fabs(skewness) < 1e-9) return result;
  const double root = std::sqrt(n), ratio = skewness / root;
  const auto undo = [&](double t) { return 3 / ratio * (std::cbrt(1 + ratio * (t - ratio / 6)) - 1); };
  const double t = student_quantile(0.5 + confidence / 2, n - 1);
  result.low = std::min(result.low, result.mid - deviation / root * undo(t));
  result.high = std::max(result.high, result.mid - deviation / root * undo(-t));
  return result;
}

Interval order_statistic_interval(std::span<const double> xs, double confidence) {
  Interval result;
  result.confidence = confidence;
  result.mid = median(xs);
  if (bad_confidence(confidence)) return result;
  const std::size_t rank = median_rank(xs.size(), confidence);
  if (rank == 0) return result;
  std::vector<double> sorted(xs.begin(), xs.end());
  std::sort(sorted.begin(), sorted.end());
  result.low = sorted[rank - 1];
  result.high = sorted[sorted.size() - rank];
  return result;
}

Interval bootstrap_interval(std::span<const double> xs, const Statistic& statistic,
                            double confidence, int resamples, std::uint64_t seed) {
  Interval result;
  result.confidence = confidence;
  result.mid = xs.empty() ? std::numeric_limits<double>::quiet_NaN() : statistic(xs);
  if (bad_confidence(confidence) || resamples < 2 || median_rank(xs.size(), confidence) == 0)
    return result;

  Random random(seed);
  std::vector<double> values, sample(xs.size());
  values.reserve(static_cast<std::size_t>(resamples));
  double below = 0;
  for (int i = 0; i < resamples; ++i) {
    for (double& x : sample) x = xs[random.below(xs.size())];
    values.push_back(statistic(sample));
    // A tie counts half: a statistic with few distinct values must not look biased.
    below += values.back() < result.mid ? 1 : values.back() == result.mid ? 0.5 : 0;
  }
  double low = (1 - confidence) / 2, high = 1 - low;
  const double bias = normal_quantile(below / resamples);
  const double a = acceleration(xs, statistic);
  if (std::isfinite(bias) && std::isfinite(a)) {
    const auto adjust = [&](double p) {
      const double z = bias + normal_quantile(p);
      return normal_cdf(bias + z / (1 - a * z));
    };
    low = adjust(low);
    high = adjust(high);
  }
  result.low = quantile(values, low);
  result.high = quantile(values, high);
  return result;
}

Interval geometric_mean_interval(std::span<const double> xs, double confidence) {
  std::vector<double> logs;
  logs.reserve(xs.size());
  for (double x : xs) logs.push_back(x > 0 ? std::log(x) : std::numeric_limits<double>::quiet_NaN());
  return map(t_interval(logs, confidence), [](double x) { return std::exp(x); });
}

Interval binomial_interval(long successes, long trials, double confidence) {
  Interval result{0, std::numeric_limits<double>::quiet_NaN(), 1, confidence};
  if (trials <= 0 || successes < 0 || successes > trials || bad_confidence(confidence)) return result;
  const double tail = (1 - confidence) / 2;
  const auto k = static_cast<double>(successes), n = static_cast<double>(trials);
  result.mid = k / n;
  if (successes > 0) result.low = beta_quantile(k, n - k + 1, tail);
  if (successes < trials) result.high = beta_quantile(k + 1, n - k, 1 - tail);
  return result;
}

}  // namespace hone::stats
