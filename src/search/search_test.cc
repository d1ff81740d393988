#include <gtest/gtest.h>

#include <cmath>

#include "search/bandit.h"
#include "search/budget.h"
#include "search/population.h"
#include "search/race.h"
#include "stats/random.h"

namespace hone::search {
namespace {

TEST(Budget, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_budget("60s")->seconds, 60);
  EXPECT_EQ(parse_budget("2m")->seconds, 120);
  EXPECT_EQ(parse_budget("1.5h")->seconds, 5400);
  EXPECT_EQ(parse_budget("500ms")->seconds, 0.5);
  EXPECT_FALSE(parse_budget("1e99s").ok()) << "more nanoseconds than 64 bits hold";
  EXPECT_EQ(parse_budget("200evals")->evaluations, 200);
  EXPECT_EQ(parse_budget("target=2.0x")->target, 2);
  const auto all = parse_budget("60s, 200evals,target=2.5x");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(to_text(*all), "60s,200evals,target=2.5x");
  EXPECT_EQ(to_text(*parse_budget(to_text(*all))), to_text(*all));
}

TEST(Budget, RefusesTheRestAndSaysWhy) {
  for (const char* bad : {"", "60", "s", "-5s", "0s", "nans", "1e999s", "5 parsecs", "2.5evals", "target=", "target=-1x",
                          "target=2y", "60s,,", "60s,2m", "5evals,6evals", "evals=200"}) {
    const auto budget = parse_budget(bad);
    ASSERT_FALSE(budget.ok()) << bad;
    EXPECT_NE(budget.error().text().find("60s"), std::string::npos) << bad;
  }
}

/// Chance of being dropped within `rounds`, for a candidate `behind` the best in logs.
double dropped(double behind, double deviation, int rounds) {
  stats::Random random(9);
  const Race race(1.5);
  int count = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> logs;
    for (int i = 0; i < rounds; ++i) {
      logs.push_back(std::log(1.5) - behind + deviation * random.normal());
      if (race.clearly_slower(logs)) {
        ++count;
        break;
      }
    }
  }
  return count / 1000.0;
}

TEST(Race, DropsTheSlowSoonAndTheEqualRarely) {
  EXPECT_GE(dropped(0.3, 0.03, 8), 0.95);     // 26 % slower: gone within eight rounds
  EXPECT_LE(dropped(0.0, 0.03, 64), 0.02);    // as fast: at most the error, however long
  EXPECT_LE(dropped(0.02, 0.03, 64), 0.035);  // at the slack: at most the error, and its sampling
  EXPECT_EQ(dropped(-0.2, 0.03, 64), 0);
  EXPECT_FALSE(Race().clearly_slower(std::vector<double>(20, -5.0)));
  EXPECT_FALSE(Race(0.0).on());
}

TEST(Bandit, FavoursGainPerSecond) {
  Bandit bandit({"quick", "slow", "useless"});
  const std::vector<bool> open(3, true);
  std::vector<int> plays(3);
  stats::Random random(2);
  for (int i = 0; i < 300; ++i) {
    const int arm = bandit.pick(open);
    ++plays[static_cast<std::size_t>(arm)];
    const double gain = arm == 2 ? 0 : 0.01 * random.uniform();
    bandit.reward(arm, gain, arm == 1 ? 5 : 1);
  }
  EXPECT_GT(plays[0], plays[1]);
  EXPECT_GT(plays[1], 5);  // none is given up
  EXPECT_GT(plays[2], 5);
  EXPECT_GT(plays[0], 150);
}

TEST(Bandit, FollowsAChangeAndTriesEachFirst) {
  Bandit bandit({"a", "b"});
  const std::vector<bool> open(2, true);
  EXPECT_EQ(bandit.pick(open), 0);
  bandit.reward(0, 1, 1);
  EXPECT_EQ(bandit.pick(open), 1);
  EXPECT_EQ(bandit.pick({true, false}), 0);
  EXPECT_EQ(bandit.pick({false, false}), -1);
  // a has run dry, b goes on gaining.
  int b = 0;
  for (int i = 0; i < 100; ++i) {
    const int arm = bandit.pick(open);
    b += arm == 1;
    bandit.reward(arm, arm == 1 ? 0.1 : 0, 1);
  }
  EXPECT_GT(b, 60);
}

TEST(Bandit, SavesAndRestores) {
  Bandit bandit({"a", "b"});
  bandit.reward(0, 0.3, 2);
  bandit.reward(1, 0.1, 1);
  Bandit copy({"a", "b"});
  ASSERT_TRUE(copy.restore(*parse_json(bandit.save().dump(), "bandit")).ok());
  EXPECT_EQ(copy.save(), bandit.save());
  EXPECT_FALSE(Bandit({"a", "c"}).restore(bandit.save()).ok());
  EXPECT_FALSE(Bandit({"a", "b"}).restore(Json::parse("[{}, {}]")).ok());
}

Contender contender(std::uint64_t sequence, double speedup, double low) {
  Contender c;
  c.sequence = sequence;
  c.outcome = {true, false, speedup, low, 2 * speedup - low, false};
  return c;
}

TEST(Population, RanksByTheBoundAndThenByFreshRounds) {
  Population population(3);
  EXPECT_EQ(population.best(), nullptr);
  population.screened(contender(0, 3.0, 1.0));  // a lucky estimate that little supports
  population.screened(contender(1, 2.0, 1.9));
  population.screened(contender(2, 1.8, 1.7));
  EXPECT_EQ(population.best()->sequence, 1u);
  population.retimed(1, {true, false, 1.5, 1.4, 1.6, false});
  EXPECT_EQ(population.best()->sequence, 2u);
  population.retimed(2, {});  // wrong on fresh draws: out
  EXPECT_EQ(population.best()->sequence, 1u);
  EXPECT_EQ(population.members().size(), 2u);
  propose::Outcome invalid;
  invalid.invalid = true;  // the machine was too busy: says nothing of the point
  population.retimed(1, invalid);
  EXPECT_EQ(population.members().size(), 2u);
  Contender dropped = contender(3, 9, 9);
  dropped.outcome.dropped = true;
  population.screened(dropped);
  Contender wrong = contender(4, 9, 9);
  wrong.outcome.correct = false;
  population.screened(wrong);
  EXPECT_EQ(population.members().size(), 2u);
}

/// Of 200 equal points the luckiest screen claims a speed-up that is not there; fresh rounds take it back.
TEST(Population, FreshRoundsRemoveTheWinnersCurse) {
  stats::Random random(4);
  double claimed = 0, fresh = 0;
  for (int trial = 0; trial < 50; ++trial) {
    Population population;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const double estimate = std::exp(0.05 * random.normal());
      population.screened(contender(i, estimate, estimate * std::exp(-0.1)));
    }
    claimed += std::log(population.best()->outcome.speedup) / 50;
    fresh += 0.05 * random.normal() / 50;  // what timing the winner again gives
  }
  EXPECT_GT(claimed, 0.1);  // expected maximum of 200 normal values is 2.75 deviations
  EXPECT_LT(std::fabs(fresh), 0.03);
}

}  // namespace
}  // namespace hone::search
