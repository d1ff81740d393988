#include "stats/rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stats/summary.h"

namespace hone::stats {
namespace {

std::vector<std::size_t> order_of(std::span<const double> xs) {
  std::vector<std::size_t> order(xs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return xs[i] < xs[j]; });
  return order;
}

}  // namespace

std::vector<double> ranks(std::span<const double> xs) {
  const std::vector<std::size_t> order = order_of(xs);
  std::vector<double> result(xs.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && xs[order[end]] == xs[order[i]]) ++end;
    if (end == i) end = i + 1;  // NaN equals nothing, itself included
    const double shared = static_cast<double>(i + end + 1) / 2;
    for (; i < end; ++i) result[order[i]] = shared;
  }
  return result;
}

double spearman(std::span<const double> xs, std::span<const double> ys) {
  const std::size_t n = std::min(xs.size(), ys.size());
  if (n < 2) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = ranks(xs.first(n)), b = ranks(ys.first(n));
  const double ma = mean(a), mb = mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  return ab / std::sqrt(aa * bb);
}

double kendall(std::span<const double> xs, std::span<const double> ys) {
  const std::size_t n = std::min(xs.size(), ys.size());
  if (n < 2) return std::numeric_limits<double>::quiet_NaN();
  double score = 0, x_pairs = 0, y_pairs = 0;
  const auto sign = [](double d) { return d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0; };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double a = sign(xs[i] - xs[j]), b = sign(ys[i] - ys[j]);
      score += a * b;
      x_pairs += a * a;
      y_pairs += b * b;
    }
  }
  return score / std::sqrt(x_pairs * y_pairs);
}

std::vector<double> benjamini_hochberg(std::span<const double> p_values) {
  const std::vector<std::size_t> order = order_of(p_values);
  const auto n = static_cast<double>(p_values.size());
  std::vector<double> adjusted(p_values.size());
  double smallest = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    smallest = std::min(smallest, p_values[order[i]] * n / static_cast<double>(i + 1));
    adjusted[order[i]] = smallest;
  }
  return adjusted;
}

}  // namespace hone::stats
