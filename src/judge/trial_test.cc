// When a failure is the candidate's: a scripted session fails as told, no process runs.
#include "judge/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "../../tests/fake_session.h"

namespace hone::judge {
namespace {

using candidate::Failure;

/// Answers run_draw from a script: empty text is a clean run with `bits` differing, else the failure of that name.
class Scripted final : public testing::FakeSession {
 public:
  struct Step {
    std::string failure;
    std::int64_t bits = 0;
  };
  std::deque<Step> script;

  Result<std::variant<runner::DrawCheck, Failure>> run_draw(runner::Runner&, const runner::Arenas&,
                                                            const runner::Prepared&) override {
    const Step step = script.empty() ? Step{} : script.front();
    if (!script.empty()) script.pop_front();
    if (!step.failure.empty())
      return std::variant<runner::DrawCheck, Failure>(Failure{"correctness", step.failure, "scripted", Json::object()});
    runner::DrawCheck check;
    check.outputs.emplace_back();
    check.outputs[0].name = "y";
    check.outputs[0].elements = check.outputs[0].counted = 1000;
    check.outputs[0].bits_differ = step.bits;
    check.outputs[0].reference_exact = false;
    return std::variant<runner::DrawCheck, Failure>(std::move(check));
  }
};

class TrialTest : public ::testing::Test {
 protected:
  std::optional<Failure> run(bool twice = false) {
    auto result = trial_.run(draw(twice), &ledger_);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }
  ReadyDraw draw(bool twice) {
    ReadyDraw out;
    out.name = {"N=1", {{"N", 1}}, {7, task::Distribution::nominal, 0}};
    out.arenas = &arenas_;
    out.twice = twice;
    return out;
  }
  Scripted session_;
  runner::Program program_;
  runner::Arenas arenas_ = [] {
    runner::Arenas a;
    a.id = 1;
    return a;
  }();
  Trial trial_{session_, program_};
  Ledger ledger_{Budget{}};
};

TEST_F(TrialTest, ARunnerIsReusedWhileAllIsWell) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(run().has_value());
  EXPECT_EQ(session_.started, 1);
  EXPECT_EQ(trial_.runs(), 5);
}

TEST_F(TrialTest, WhatRepeatsAloneIsTheCandidates) {
  session_.script = {{"crash"}, {"crash"}};
  const auto failure = run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->reason, "crash");
  EXPECT_EQ(failure->evidence["seed"], "0x0000000000000007");
  EXPECT_EQ(failure->evidence["case"], "N=1");
  EXPECT_EQ(trial_.runs(), 2);
  EXPECT_EQ(session_.started, 2);  // the second run was alone in a fresh runner
}

TEST_F(TrialTest, OnceAndNeverAgainIsTheMachines) {
  session_.script = {{"crash"}};
  EXPECT_FALSE(run().has_value());
  EXPECT_EQ(trial_.runs(), 4);  // the failure and three confirmations
  EXPECT_EQ(trial_.notes().size(), 1u);
}

TEST_F(TrialTest, OnceMoreElsewhereIsTheCandidates) {
  session_.script = {{"crash"}, {}, {}, {}, {"timeout"}, {}, {}, {}};
  EXPECT_FALSE(run().has_value());
  const auto failure = run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->reason, "unstable");
}

TEST_F(TrialTest, NowAndThenOnOneDrawIsTheCandidates) {
  session_.script = {{"crash"}, {}, {"crash"}};
  const auto failure = run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->reason, "unstable");
}

TEST_F(TrialTest, TwoRunsThatDifferAreTold) {
  session_.script = {{"", 3}, {"", 3}};
  EXPECT_FALSE(run(true).has_value());
  EXPECT_TRUE(trial_.deterministic());
  session_.script = {{"", 3}, {"", 4}};
  EXPECT_FALSE(run(true).has_value());
  EXPECT_FALSE(trial_.deterministic());
}

TEST(DerivedSeeds, AreNeverZeroAndDiffer) {
  std::vector<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.push_back(derived_seed(42, i));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_NE(seen[0], 0u);
  EXPECT_NE(derived_seed(42, 0), derived_seed(43, 0));
}

}  // namespace
}  // namespace hone::judge
