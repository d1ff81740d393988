#include "stats/distributions.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

namespace hone::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method; converges in
/// O(√max(a, b)) terms for x below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < tiny ? tiny : d);
  double result = d;
  for (int m = 1; m < 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < tiny) c = tiny;
      change = c * d;
      result *= change;
    }
    if (std::fabs(change - 1) < 1e-16) break;
  }
  return result;
}

/// ln B(a, b). lgamma writes the global signgam, harmlessly: its arguments here are positive.
double log_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

}  // namespace

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p > 0.5) return -normal_quantile(1 - p);
  // Abramowitz & Stegun 26.2.23 is good to 4.5e-4; each Halley step triples the digits.
  const double t = std::sqrt(-2 * std::log(p));
  double z = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double newton = (normal_cdf(z) - p) / density;
    z -= newton / (1 + z * newton / 2);
  }
  return z;
}

double incomplete_beta(double a, double b, double x) {
  if (!(a > 0 && b > 0) || std::isnan(x)) return kNan;
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta(a, b));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double beta_quantile(double a, double b, double p) {
  if (!(p >= 0 && p <= 1) || !(a > 0 && b > 0)) return kNan;
  if (p == 0 || p == 1) return p;
  // Newton within a bracket that bisection keeps: safe for every a and b, and fast for ordinary ones.
  double low = 0, high = 1, x = a / (a + b);
  for (int i = 0; i < 200; ++i) {
    const double miss = incomplete_beta(a, b, x) - p;
    if (miss == 0) return x;
    (miss > 0 ? high : low) = x;
    const double density = std::exp((a - 1) * std::log(x) + (b - 1) * std::log1p(-x) - log_beta(a, b));
    double next = x - miss / density;
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::fabs(next - x) <= 1e-15 * x) return next;
    x = next;
  }
  return x;
}

double student_cdf(double t, double df) {
  if (std::isnan(t) || !(df > 0)) return kNan;
  if (std::isinf(t)) return t > 0 ? 1 : 0;
  // The complement keeps the digits near the median, the direct form those of the tail.
  const double tail = t * t < df ? 0.5 - 0.5 * incomplete_beta(0.5, df / 2, t * t / (df + t * t))
                                 : 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_quantile(double p, double df) {
  if (!(p >= 0 && p <= 1) || !(df > 0)) return kNan;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p == 0.5) return 0;
  const double tail = p < 0.5 ? p : 1 - p;
  // x = df / (df + t²) has I_x(df/2, 1/2) = 2 tail. Towards the median x nears 1 and its complement y, with
  // I_y(1/2, df/2) = 1 − 2 tail, is the one that keeps its digits.
  double x = 0, y = 0;
  if (tail < 0.25) {
    x = beta_quantile(df / 2, 0.5, 2 * tail);
    y = 1 - x;
  } else {
    y = beta_quantile(0.5, df / 2, 1 - 2 * tail);
    x = 1 - y;
  }
  const double magnitude = std::sqrt(df * y / x);
  return p < 0.5 ? -magnitude : magnitude;
}

double binomial_cdf(long k, long n, double p) {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return incomplete_beta(static_cast<double>(n - k), static_cast<double>(k + 1), 1 - p);
}

}  // namespace hone::stats
