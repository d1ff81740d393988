#include "stats/sequential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "stats/random.h"

namespace hone::stats {
namespace {

using Noise = double (*)(Random&);

double normal(Random& random) { return random.normal(); }
/// Student's t with 5 degrees of freedom, scaled to deviation 1.
double heavy(Random& random) {
  double squares = 0;
  for (int i = 0; i < 5; ++i) {
    const double z = random.normal();
    squares += z * z;
  }
  return random.normal() / std::sqrt(squares / 5) * std::sqrt(3.0 / 5);
}
/// Log-normal with sigma 0.5, shifted and scaled to mean 0, deviation 1: skewed to the right.
double skewed(Random& random) {
  const double v = std::exp(0.25);
  return (std::exp(0.5 * random.normal()) - std::sqrt(v)) / std::sqrt(v * (v - 1));
}
double skewed_left(Random& random) { return -skewed(random); }

struct Tally {
  int faster = 0, slower = 0, same = 0, undecided = 0;
  double units = 0;
};

Tally simulate(const LookPlan& plan, Noise noise, double effect, double deviation, double margin, int trials) {
  Random random(42);
  Tally tally;
  for (int t = 0; t < trials; ++t) {
    std::vector<double> xs;
    Answer answer = Answer::go_on;
    for (int look = 0; answer == Answer::go_on; ++look) {
      while (static_cast<int>(xs.size()) < plan.sizes[static_cast<std::size_t>(look)])
        xs.push_back(effect + deviation * noise(random));
      answer = decide(xs, look, margin, plan).answer;
    }
    tally.faster += answer == Answer::faster;
    tally.slower += answer == Answer::slower;
    tally.same += answer == Answer::same;
    tally.undecided += answer == Answer::undecided;
    tally.units += static_cast<double>(xs.size()) / trials;
  }
  return tally;
}

TEST(Sequential, SharesSumToAlpha) {
  for (Spending spending : {Spending::equal, Spending::proportional, Spending::late}) {
    const std::vector<double> shares = spend({{8, 16, 32}, 0.05, spending, Centre::mean});
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 0.05, 1e-15);
  }
  // Lan–DeMets at t = 1/4: 2 − 2Φ(1.96 / 0.5) = 8.86e-5.
  EXPECT_NEAR(spend({{8, 16, 32}, 0.05, Spending::late, Centre::mean})[0], 8.86e-5, 1e-7);
}

TEST(Sequential, AnswersByHand) {
  const LookPlan plan = pair_looks();
  const std::vector<double> fast = {.30, .31, .29, .30, .31, .29, .30, .30};
  EXPECT_EQ(decide(fast, 0, 0.01, plan).answer, Answer::faster);
  std::vector<double> slow, zero;
  for (double x : fast) slow.push_back(-x), zero.push_back(x - 0.30);
  EXPECT_EQ(decide(slow, 0, 0.01, plan).answer, Answer::slower);
  EXPECT_EQ(decide(zero, 0, 0.02, plan).answer, Answer::same);
  EXPECT_EQ(decide(zero, 0, 0.0, plan).answer, Answer::go_on);
  EXPECT_EQ(decide(zero, 2, 0.0, plan).answer, Answer::undecided);
  EXPECT_EQ(decide(std::vector<double>{0.5}, 0, 0.01, plan).answer, Answer::go_on);
  EXPECT_EQ(look_at(7, plan), -1);
  EXPECT_EQ(look_at(16, plan), 1);
  EXPECT_EQ(look_at(100, plan), 2);
}

/// True effect at the margin's edge: every "faster" is false. Alpha 0.05 is two-sided, so normal noise may give
/// 2.5 %; skewed noise errs more on the side of its long tail and must still stay below alpha.
TEST(Sequential, FalseFasterStaysBelowAlpha) {
  constexpr int trials = 2000;
  const double slack = 3 * std::sqrt(0.05 * 0.95 / trials);
  for (Spending spending : {Spending::equal, Spending::proportional, Spending::late}) {
    LookPlan plan = pair_looks();
    plan.spending = spending;
    for (Noise noise : {normal, heavy, skewed, skewed_left}) {
      const Tally tally = simulate(plan, noise, 0.01, 0.02, 0.01, trials);
      EXPECT_LE(tally.faster / double(trials), 0.05 + slack);
      EXPECT_EQ(tally.slower, 0);
    }
    EXPECT_LE(simulate(plan, normal, 0.01, 0.02, 0.01, trials).faster / double(trials), 0.025 + slack);
  }
}

/// The median's interval promises its level for every shape: the noise must have its median at the edge.
TEST(Sequential, FalseFasterOfRoundsWhateverTheShape) {
  constexpr int trials = 1000;
  const auto skewed_median_zero = [](Random& random) { return std::exp(random.normal()) - 1; };
  for (Noise noise : {Noise(normal), Noise(heavy), Noise(skewed_median_zero)}) {
    const Tally tally = simulate(round_looks(), noise, 0.01, 0.02, 0.01, trials);
    EXPECT_LE(tally.faster / double(trials), 0.025 + 3 * std::sqrt(0.025 / trials));
  }
}

TEST(Sequential, FalseSameStaysBelowAlpha) {
  // At the edge "same" is false too.
  const Tally tally = simulate(pair_looks(), normal, 0.01, 0.005, 0.01, 2000);
  EXPECT_LE(tally.same / 2000.0, 0.025 + 3 * std::sqrt(0.025 / 2000));
}

TEST(Sequential, PowerAndEarlyStops) {
  // 2.5 % over a 1 % margin with 1 % noise a pair: ncp at 32 pairs is 1.5 · √32 = 8.5, certain to be found.
  const Tally found = simulate(pair_looks(), normal, 0.025, 0.01, 0.01, 500);
  EXPECT_GE(found.faster, 499);
  EXPECT_LT(found.units, 16);
  // A clear winner stops at the first look.
  EXPECT_LT(simulate(pair_looks(), normal, 0.5, 0.02, 0.01, 200).units, 8.01);
  // No effect and little noise is "same", not "undecided".
  EXPECT_GE(simulate(pair_looks(), normal, 0, 0.01, 0.01, 500).same, 475);
}

}  // namespace
}  // namespace hone::stats
