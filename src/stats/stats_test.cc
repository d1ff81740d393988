#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/distributions.h"
#include "stats/interval.h"
#include "stats/random.h"
#include "stats/rank.h"
#include "stats/summary.h"

namespace hone::stats {
namespace {

using Values = std::vector<double>;

TEST(Summary, SmallSamplesByHand) {
  EXPECT_EQ(median(Values{3, 1, 2}), 2);
  EXPECT_EQ(median(Values{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(mean(Values{1, 2, 6}), 3);
  EXPECT_EQ(variance(Values{1, 2, 6}), 7);
  EXPECT_EQ(mad(Values{1, 2, 6}), 1);
  // Floor of 0.2 · 6 is 1: one value is cut, or moved, at each end.
  EXPECT_EQ(trimmed_mean(Values{100, 1, 2, 3, 4, -50}, 0.2), 2.5);
  EXPECT_EQ(winsorised_mean(Values{100, 1, 2, 3, 4, -50}, 0.2), 15.0 / 6);
  EXPECT_NEAR(geometric_mean(Values{1, 2, 4}), 2, 1e-15);
  EXPECT_TRUE(std::isnan(geometric_mean(Values{1, 0})));
  // Walsh averages of 1, 2, 10: 1, 1.5, 2, 5.5, 6, 10.
  EXPECT_EQ(hodges_lehmann(Values{1, 2, 10}), 3.75);
  EXPECT_EQ(hodges_lehmann_shift(Values{5, 6}, Values{1, 2}), 4);
}

TEST(Summary, QuantileIsTypeSeven) {
  // R: quantile(c(1, 2, 3, 4), c(.25, .5, .9)) = 1.75, 2.5, 3.7.
  const Values xs = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(xs, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(xs, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(xs, 0.9), 3.7);
  EXPECT_EQ(quantile(xs, 0), 1);
  EXPECT_EQ(quantile(xs, 1), 4);
}

TEST(Summary, NothingGivesNan) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(variance(Values{1})));
  EXPECT_TRUE(std::isnan(hodges_lehmann({})));
  EXPECT_TRUE(std::isnan(quantile(Values{1}, 1.5)));
}

TEST(Distributions, NormalAgainstTables) {
  // NIST/SEMATECH e-Handbook 1.3.6.7.1 and its inverse.
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-13);
  EXPECT_NEAR(normal_quantile(0.995), 2.575829303548901, 1e-13);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167814, 1e-12);
  EXPECT_NEAR(normal_cdf(1), 0.8413447460685429, 1e-15);
  for (double p : {1e-300, 1e-20, 1e-6, 0.3, 0.5, 0.9}) EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1, 1e-11);
  EXPECT_TRUE(std::isinf(normal_quantile(1)));
}

TEST(Distributions, StudentAgainstTables) {
  // NIST/SEMATECH e-Handbook 1.3.6.7.2 (three decimals); df 1 and 2 have closed forms.
  EXPECT_NEAR(student_quantile(0.975, 5), 2.571, 5e-4);
  EXPECT_NEAR(student_quantile(0.975, 7), 2.365, 5e-4);
  EXPECT_NEAR(student_quantile(0.995, 10), 3.169, 5e-4);
  EXPECT_NEAR(student_quantile(0.999, 31), 3.375, 5e-4);
  EXPECT_NEAR(student_quantile(0.95, 100), 1.660, 5e-4);
  for (double p : {0.0001, 0.1, 0.4999, 0.50001, 0.9, 0.99999}) {
    EXPECT_NEAR(student_quantile(p, 1) / std::tan(M_PI * (p - 0.5)), 1, 1e-9) << p;
    const double a = 4 * p * (1 - p);
    EXPECT_NEAR(student_quantile(p, 2) / (2 * (p - 0.5) * std::sqrt(2 / a)), 1, 1e-9) << p;
    for (double df : {0.5, 3.0, 17.0, 1e4})
      EXPECT_NEAR(student_cdf(student_quantile(p, df), df), p, 1e-11) << p << " " << df;
  }
}

TEST(Distributions, BetaAndBinomial) {
  // I_x(2, 3) = P(at least 2 of 4 successes) = 6x²(1−x)² + 4x³(1−x) + x⁴.
  for (double x : {0.01, 0.3, 0.5, 0.8}) {
    const double exact = 6 * x * x * (1 - x) * (1 - x) + 4 * x * x * x * (1 - x) + x * x * x * x;
    EXPECT_NEAR(incomplete_beta(2, 3, x), exact, 1e-14);
    EXPECT_NEAR(beta_quantile(2, 3, exact), x, 1e-12);
  }
  EXPECT_NEAR(binomial_cdf(2, 4, 0.5), 11.0 / 16, 1e-14);
  EXPECT_NEAR(binomial_cdf(0, 6, 0.5), 1.0 / 64, 1e-15);
  EXPECT_EQ(binomial_cdf(-1, 4, 0.5), 0);
  EXPECT_EQ(binomial_cdf(4, 4, 0.5), 1);
}

TEST(Interval, ClopperPearsonAgainstPublishedValues) {
  // R's binom.test: 10 of 100 gives 0.04900469, 0.17622260; 0 of 10 gives 1 − 0.025^(1/10).
  const Interval ten = binomial_interval(10, 100);
  EXPECT_NEAR(ten.low, 0.04900469, 1e-8);
  EXPECT_NEAR(ten.high, 0.17622260, 1e-8);
  const Interval none = binomial_interval(0, 10);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(binomial_interval(10, 10).high, 1);
}

TEST(Interval, MedianByOrderStatisticsIsHonestWhenSmall) {
  // 2 · 2^−5 > 0.05 ≥ 2 · 2^−6: six values are the fewest that reach 95 %, with the extremes as ends.
  EXPECT_TRUE(std::isinf(order_statistic_interval(Values{1, 2, 3, 4, 5}).high));
  const Interval six = order_statistic_interval(Values{6, 1, 5, 2, 4, 3});
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  // Tables of the sign test: n = 20 at 95 % uses the 6th and 15th values.
  Values twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  EXPECT_EQ(order_statistic_interval(twenty).low, 6);
  EXPECT_EQ(order_statistic_interval(twenty).high, 15);
}

TEST(Interval, TooLittleDataIsNeverNarrow) {
  EXPECT_TRUE(std::isinf(t_interval(Values{1}).high));
  EXPECT_TRUE(std::isinf(bootstrap_interval(Values{1, 2, 3, 4}, median).low));
  EXPECT_EQ(geometric_mean_interval(Values{2}).low, 0);
  EXPECT_EQ(binomial_interval(0, 0).high, 1);
}

TEST(Interval, StudentByHand) {
  // mean 3, deviation √2.5, t(0.975, 4) = 2.776445.
  const Interval interval = t_interval(Values{1, 2, 3, 4, 5});
  EXPECT_NEAR(interval.high - 3, 2.776445105 * std::sqrt(2.5 / 5), 1e-8);
  EXPECT_NEAR(3 - interval.low, interval.high - 3, 1e-14);
}

double coverage(int n, int trials, double (*draw)(Random&), double truth,
                Interval (*interval)(std::span<const double>)) {
  Random random(7);
  int held = 0;
  for (int i = 0; i < trials; ++i) {
    Values xs;
    for (int j = 0; j < n; ++j) xs.push_back(draw(random));
    held += interval(xs).contains(truth);
  }
  return static_cast<double>(held) / trials;
}

TEST(Interval, NominalCoverageOnSimulatedData) {
  const auto normal = [](Random& r) { return r.normal(); };
  const auto skewed = [](Random& r) { return std::exp(r.normal()); };
  // Binomial deviation of 4,000 trials at 95 % is 0.0034: four of them.
  const double t = coverage(8, 4000, normal, 0, [](std::span<const double> x) { return t_interval(x); });
  EXPECT_NEAR(t, 0.95, 0.014);
  // The order-statistic interval owes nothing to the shape: at least 95 % also for a skewed median.
  const double order =
      coverage(20, 4000, skewed, 1, [](std::span<const double> x) { return order_statistic_interval(x); });
  EXPECT_GE(order, 0.95 - 0.0138);
  EXPECT_LE(order, 0.98);
  // The bootstrap of a mean of 30 normal values is known to fall a little short.
  const double boot = coverage(30, 400, normal, 0, [](std::span<const double> x) {
    return bootstrap_interval(x, [](std::span<const double> s) { return mean(s); }, 0.95, 400);
  });
  EXPECT_GE(boot, 0.89);
  EXPECT_LE(boot, 0.99);
}

TEST(Interval, BootstrapIsReproducible) {
  const Values xs = {3, 1, 4, 1, 5, 9, 2, 6};
  const auto a = bootstrap_interval(xs, median, 0.9, 500, 3), b = bootstrap_interval(xs, median, 0.9, 500, 3);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LE(a.low, a.mid);
  EXPECT_GE(a.high, a.mid);
}

TEST(Rank, ByHand) {
  const Values xs = {1, 2, 3, 4, 5}, ys = {2, 1, 4, 3, 5};
  EXPECT_DOUBLE_EQ(spearman(xs, ys), 0.8);  // 1 − 6 · 4 / (5 · 24)
  EXPECT_DOUBLE_EQ(kendall(xs, ys), 0.6);   // 8 pairs agree, 2 do not
  EXPECT_EQ(ranks(Values{10, 20, 10}), (Values{1.5, 3, 1.5}));
  // tau-b with one tie: 2 agreeing pairs of √(2 · 3).
  EXPECT_DOUBLE_EQ(kendall(Values{1, 1, 2}, Values{1, 2, 3}), 2 / std::sqrt(6.0));
  EXPECT_TRUE(std::isnan(spearman(Values{1, 1}, Values{1, 2})));
}

TEST(Rank, BenjaminiHochbergByHand) {
  const Values adjusted = benjamini_hochberg(Values{0.2, 0.005, 0.05, 0.009});
  EXPECT_DOUBLE_EQ(adjusted[1], 0.018);  // 0.005 · 4 / 1 = 0.02, but 0.009 · 4 / 2 is less
  EXPECT_DOUBLE_EQ(adjusted[3], 0.018);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.2 / 3);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.2);
}

TEST(RandomNumbers, MomentsAndState) {
  Random random(11);
  Values normals, uniforms;
  for (int i = 0; i < 20000; ++i) {
    normals.push_back(random.normal());
    uniforms.push_back(random.uniform());
  }
  EXPECT_NEAR(mean(normals), 0, 4 / std::sqrt(20000.0));
  EXPECT_NEAR(variance(normals), 1, 4 * std::sqrt(2 / 20000.0));
  EXPECT_NEAR(mean(uniforms), 0.5, 4 * std::sqrt(1 / 12.0 / 20000));
  Random copy(random.state());
  EXPECT_EQ(copy.next(), random.next());
  EXPECT_NE(Random(1).next(), Random(2).next());
}

}  // namespace
}  // namespace hone::stats
