#include "stats/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hone::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> sorted(std::span<const double> xs) {
  std::vector<double> copy(xs.begin(), xs.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

/// By selection rather than a sort: Walsh averages of 128 values are 8,256 numbers.
double median_of(std::vector<double> xs) {
  if (xs.empty()) return kNan;
  const std::size_t half = xs.size() / 2;
  const auto middle = xs.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(xs.begin(), middle, xs.end());
  if (xs.size() % 2) return *middle;
  return (*std::max_element(xs.begin(), middle) + *middle) / 2;
}

}  // namespace

double mean(std::span<const double> xs) {
  if (xs.empty()) return kNan;
  double sum = 0;
  for (double x : xs) sum += x;
  return sum / static_cast<double>(xs.size());
}

double variance(std::span<const double> xs) {
  if (xs.size() < 2) return kNan;
  const double m = mean(xs);
  double sum = 0;
  for (double x : xs) sum += (x - m) * (x - m);
  return sum / static_cast<double>(xs.size() - 1);
}

double standard_deviation(std::span<const double> xs) { return std::sqrt(variance(xs)); }

double median(std::span<const double> xs) { return median_of({xs.begin(), xs.end()}); }

double quantile(std::span<const double> xs, double p) {
  if (xs.empty() || !(p >= 0 && p <= 1)) return kNan;
  const std::vector<double> s = sorted(xs);
  const double position = p * static_cast<double>(s.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= s.size()) return s.back();
  return s[below] + (position - static_cast<double>(below)) * (s[below + 1] - s[below]);
}

double trimmed_mean(std::span<const double> xs, double fraction) {
  if (xs.empty() || !(fraction >= 0 && fraction < 0.5)) return kNan;
  const std::vector<double> s = sorted(xs);
  const auto cut = static_cast<std::size_t>(fraction * static_cast<double>(s.size()));
  return mean(std::span(s).subspan(cut, s.size() - 2 * cut));
}

double winsorised_mean(std::span<const double> xs, double fraction) {
  if (xs.empty() || !(fraction >= 0 && fraction < 0.5)) return kNan;
  std::vector<double> s = sorted(xs);
  const auto cut = static_cast<std::size_t>(fraction * static_cast<double>(s.size()));
  for (std::size_t i = 0; i < cut; ++i) {
    s[i] = s[cut];
    s[s.size() - 1 - i] = s[s.size() - 1 - cut];
  }
  return mean(s);
}

double mad(std::span<const double> xs) {
  const double m = median(xs);
  std::vector<double> distances;
  distances.reserve(xs.size());
  for (double x : xs) distances.push_back(std::fabs(x - m));
  return median_of(std::move(distances));
}

double geometric_mean(std::span<const double> xs) {
  if (xs.empty()) return kNan;
  double sum = 0;
  for (double x : xs) {
    if (!(x > 0)) return kNan;
    sum += std::log(x);
  }
  return std::exp(sum / static_cast<double>(xs.size()));
}

double hodges_lehmann(std::span<const double> xs) {
  std::vector<double> averages;
  averages.reserve(xs.size() * (xs.size() + 1) / 2);
  for (std::size_t i = 0; i < xs.size(); ++i)
    for (std::size_t j = i; j < xs.size(); ++j) averages.push_back((xs[i] + xs[j]) / 2);
  return median_of(std::move(averages));
}

double hodges_lehmann_shift(std::span<const double> xs, std::span<const double> ys) {
  std::vector<double> differences;
  differences.reserve(xs.size() * ys.size());
  for (double x : xs)
    for (double y : ys) differences.push_back(x - y);
  return median_of(std::move(differences));
}

}  // namespace hone::stats
