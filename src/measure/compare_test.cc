#include "measure/compare.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <random>
#include <set>

#include "../../tests/fake_session.h"
#include "candidate/candidate.h"
#include "task/task_file.h"

namespace hone::measure {
namespace {

constexpr const char* kTask = R"toml(
[task]
name = "t"
lanes = ["cpu"]
precision = "f32"
[dims]
N = "n"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "reference.cpp" }
[[case]]
N = 256
)toml";

/// How a fake program behaves: the times a runner of it would show.
struct Behaviour {
  double call_ns = 20e3;
  double noise = 0.005;            ///< of one release, relative, standard deviation
  double process_bias = 0.002;     ///< of one process, relative, standard deviation
  int crash_after = -1;            ///< releases; −1: never
  int* kills = nullptr;            ///< so many further processes end by SIGKILL in their second release
  bool first_call_does_all = false;
  double once_ns = 0;              ///< of the first release of a process, on top
  double disturbed = 0;            ///< share of releases that the machine makes twice as long
  double slow_share = 0;           ///< share of releases that the kernel itself makes twice as long
  bool dear_first_empty = false;   ///< another program lengthens each process's first empty release by 100 ms
  double inside_share = 1;         ///< what the runner's own timer says, relative to the truth
};

constexpr double kEmpty_ns = 70e3;  // of one release: measured, cpu_facts §3

class TimedRunner final : public testing::FakeRunner {
 public:
  TimedRunner(const Behaviour& b, std::mt19937_64& random) : b_(b), random_(random) {
    bias_ = 1 + b.process_bias * std::normal_distribution<>()(random_);
  }
  Result<runner::ReleaseOutcome> release(std::int64_t calls, double) override {
    if (b_.crash_after >= 0 && released_++ >= b_.crash_after)
      return runner::ReleaseOutcome(candidate::Failure{"correctness", "crash", "gone", Json::object()});
    if (b_.kills && *b_.kills > 0 && calls > 1 && ++released_ > 1) {
      --*b_.kills;
      return runner::ReleaseOutcome(candidate::Failure{"correctness", "crash", "killed", {{"signal", SIGKILL}}});
    }
    const double n = b_.first_call_does_all && calls > 0 ? 16 + 0.05 * static_cast<double>(calls) : static_cast<double>(calls);
    const bool twice = std::uniform_real_distribution<>()(random_) < std::max(b_.disturbed, b_.slow_share);
    const double work = (twice ? 2 : 1) * n * b_.call_ns * bias_ * (1 + b_.noise * std::normal_distribution<>()(random_));
    const double once = calls > 0 && !warm_ ? b_.once_ns : 0;
    warm_ = warm_ || calls > 0;
    if (b_.dear_first_empty && calls == 0 && !std::exchange(emptied_, true))
      return runner::ReleaseOutcome(runner::Release{100e6, 0});
    return runner::ReleaseOutcome(runner::Release{once + work + kEmpty_ns, work * b_.inside_share});
  }

 private:
  Behaviour b_;
  std::mt19937_64& random_;
  double bias_ = 1;
  int released_ = 0;
  bool warm_ = false, emptied_ = false;
};

class TimingOracle final : public testing::FakeOracle {
 public:
  bool wrong_timed = false;
  Result<runner::Arenas> make_timing_arenas(const task::Dims&, std::int64_t sets) override {
    runner::Arenas a;
    a.layout.sets = sets;
    return a;
  }
  Status drop_arenas(std::uint64_t) override { return {}; }
  Status fill(std::uint64_t, std::uint64_t seed, std::int64_t, bool) override {
    EXPECT_TRUE(seeds.insert(seed).second) << "every release has contents of its own";
    return {};
  }
  Status collect(std::uint64_t, std::uint64_t seed, const std::vector<std::int64_t>& calls, const std::string& tag) override {
    for (const std::int64_t call : calls) kept.push_back({tag, seed, call, {}});
    return {};
  }
  Result<std::vector<Settled>> settle(double, int) override {
    for (Settled& s : kept)
      if (wrong_timed && s.tag == "b") {
        runner::OutputErrors o;
        o.name = "y";
        o.exact_wrong = 3;
        s.check.outputs.push_back(o);
      }
    return std::move(kept);
  }
  Result<std::string> freshness(std::uint64_t) override { return std::string("fresh"); }
  std::set<std::uint64_t> seeds;
  std::vector<Settled> kept;
};

task::Task task_of() {
  auto parsed = task::parse_task(kTask, "task.toml", false);
  EXPECT_TRUE(parsed.ok());
  return *parsed;
}

class FakeSession final : public testing::FakeSession {
 public:
  FakeSession(Behaviour a, Behaviour b, unsigned seed)
      : testing::FakeSession(std::make_unique<TimingOracle>(), task_of()), a_(a), b_(b), random_(seed) {
    program_.resolved.function_threads = {"1"};
  }
  TimingOracle& timing() { return static_cast<TimingOracle&>(oracle()); }

 protected:
  std::unique_ptr<runner::Runner> make_runner(Who who) override {
    return std::make_unique<TimedRunner>(who == Who::baseline ? a_ : b_, random_);
  }

 private:
  Behaviour a_, b_;
  std::mt19937_64 random_;
};

Result<Comparison> run(FakeSession& session, CompareOptions options = {}) {
  return compare(session, session.baseline(), session.baseline(), session.task().cases.front(), options);
}

TEST(Compare, IntervalHoldsTheTrueRatioAsOftenAsItSays) {
  // Fakes with a known ratio of 1.05: a 95 % interval must hold it in 90 to 98 of 100 (DESIGN.md §8).
  int held = 0, faster = 0;
  constexpr int kTrials = 100;
  for (int i = 0; i < kTrials; ++i) {
    FakeSession session({.call_ns = 21e3}, {.call_ns = 20e3}, static_cast<unsigned>(i));
    CompareOptions options;
    options.slots_s = 0.25;
    const auto seen = run(session, options);
    ASSERT_TRUE(seen.ok());
    EXPECT_EQ(session.started, 2 + 2 * 8) << "a pilot each, then fresh processes for each pair";
    held += seen->ratio.contains(1.05) ? 1 : 0;
    faster += seen->answer == Answer::faster ? 1 : 0;
  }
  EXPECT_GE(held, 86);  // four deviations below 95
  EXPECT_LE(held, 100);
  EXPECT_GE(faster, 95);
}

TEST(Compare, ALengthenedEmptyReleaseDoesNotMakeCallsLookFree) {
  FakeSession session({.call_ns = 20e3, .dear_first_empty = true}, {.call_ns = 20e3, .dear_first_empty = true}, 5);
  const auto seen = run(session);
  ASSERT_TRUE(seen.ok());
  // 50 calls of 20 us are the 1 ms of a slot.
  EXPECT_GE(seen->a_calls, 40);
  EXPECT_LE(seen->a_calls, 60);
  EXPECT_LE(seen->b_calls, 60);
}

TEST(Compare, SameKernelsAreNotCalledFaster) {
  int faster = 0, held = 0;
  for (int i = 0; i < 100; ++i) {
    FakeSession session({}, {}, static_cast<unsigned>(1000 + i));
    CompareOptions options;
    options.slots_s = 0.1;
    const auto seen = run(session, options);
    ASSERT_TRUE(seen.ok());
    held += seen->ratio.contains(1) ? 1 : 0;
    faster += seen->answer == Answer::faster ? 1 : 0;
  }
  EXPECT_GE(held, 86);  // four deviations below 95
  EXPECT_LE(faster, 2);
}

TEST(Compare, ADisturbedMachineIsSeenThrough) {
  // Both sides lose the processor in 30 % of their slots, as two threads do on a shared core; the true ratio is 1.03.
  int held = 0, faster = 0, same_held = 0, false_faster = 0;
  std::set<std::string> told;
  for (int i = 0; i < 60; ++i) {
    FakeSession planted({.call_ns = 2.06e6, .disturbed = 0.3}, {.call_ns = 2e6, .disturbed = 0.3}, static_cast<unsigned>(i));
    const auto seen = run(planted);
    ASSERT_TRUE(seen.ok());
    if (seen->disturbed) told.insert(seen->reason);
    held += seen->ratio.contains(1.03) ? 1 : 0;
    faster += seen->ratio.low > 1 ? 1 : 0;
    FakeSession same({.call_ns = 2e6, .disturbed = 0.3}, {.call_ns = 2e6, .disturbed = 0.3}, static_cast<unsigned>(500 + i));
    const auto equal = run(same);
    same_held += equal->ratio.contains(1) ? 1 : 0;
    false_faster += equal->answer == Answer::faster ? 1 : 0;
  }
  EXPECT_GE(held, 49);  // 93 of 100 hold: three deviations below 55.8
  EXPECT_GE(faster, 54);
  EXPECT_GE(same_held, 49);
  EXPECT_LE(false_faster, 3);
  EXPECT_EQ(told, std::set<std::string>{"disturbed machine: the speed-up is that of the fastest tenth of slots"});
}

TEST(Compare, AKernelThatIsItselfSlowAtTimesGainsNothingByItsFastCalls) {
  // On a quiet machine b is as fast as a in 60 of 100 calls and takes twice as long in the others: 1.4 times slower.
  int called_slower = 0;
  for (int i = 0; i < 20; ++i) {
    FakeSession session({.call_ns = 2e6}, {.call_ns = 2e6, .slow_share = 0.4}, static_cast<unsigned>(i));
    const auto seen = run(session);
    ASSERT_TRUE(seen.ok());
    EXPECT_FALSE(seen->disturbed);
    called_slower += seen->answer == Answer::slower ? 1 : 0;
  }
  EXPECT_GE(called_slower, 19);
}

TEST(Compare, TheEmptyReleaseIsSubtracted) {
  // One call of 1 ms a release beside 70 us of overhead: unsubtracted a true 2.00 would read 2.07 / 1.07 = 1.93.
  FakeSession session({.call_ns = 2e6, .noise = 0, .process_bias = 0}, {.call_ns = 1e6, .noise = 0, .process_bias = 0}, 5);
  const auto seen = run(session);
  ASSERT_TRUE(seen.ok());
  EXPECT_NEAR(seen->ratio.mid, 2.0, 1e-9);
  EXPECT_EQ(seen->b_calls, 1);
  EXPECT_NEAR(seen->b_ns, 1e6, 1);
}

TEST(Compare, ACrashWhileTimedIsAFailureOfTheCandidateOnly) {
  FakeSession bad({}, {.crash_after = 20}, 1);
  const auto seen = run(bad);
  ASSERT_TRUE(seen.ok());
  ASSERT_TRUE(seen->failure.has_value());
  EXPECT_EQ(seen->failure->gate, "performance");
  EXPECT_EQ(seen->failure->reason, "crash");
  EXPECT_EQ(seen->answer, Answer::invalid);
  FakeSession baseline({.crash_after = 20}, {}, 1);
  EXPECT_FALSE(run(baseline).ok());
}

TEST(Compare, AProcessKilledFromOutsideIsReplacedOnce) {
  for (const bool baseline : {false, true}) {
    int kills = 1;
    const Behaviour killed{.kills = &kills};
    FakeSession once(baseline ? killed : Behaviour{}, baseline ? Behaviour{} : killed, 1);
    const auto seen = run(once);
    ASSERT_TRUE(seen.ok()) << seen.error().text();
    EXPECT_EQ(kills, 0);
    EXPECT_FALSE(seen->failure.has_value());
    EXPECT_EQ(seen->pairs.size(), 8u) << "the broken pair is measured again, whole";
    kills = 2;
    FakeSession twice(baseline ? killed : Behaviour{}, baseline ? Behaviour{} : killed, 1);
    const auto again = run(twice);
    EXPECT_EQ(again.ok(), !baseline);
    if (again.ok()) {
      ASSERT_TRUE(again->failure.has_value());
      EXPECT_EQ(again->failure->reason, "crash");
    }
  }
}

TEST(Compare, AWrongTimedOutputInvalidatesTheTiming) {
  FakeSession session({}, {}, 1);
  session.timing().wrong_timed = true;
  const auto seen = run(session);
  ASSERT_TRUE(seen.ok());
  ASSERT_TRUE(seen->failure.has_value());
  EXPECT_EQ(seen->failure->reason, "wrong_when_timed");
  EXPECT_EQ(seen->answer, Answer::invalid);
}

TEST(Compare, WorkDoneOnceForManyCallsIsNotLinear) {
  FakeSession session({}, {.first_call_does_all = true}, 1);
  CompareOptions options;
  options.check_linearity = true;
  const auto seen = run(session, options);
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->answer, Answer::invalid);
  EXPECT_NE(seen->reason.find("linear"), std::string::npos);
}

TEST(Compare, AnswersKeptFromTheFirstCallInvalidate) {
  // Threads and tables in a millisecond are honest; 40 ms of work done once are not.
  FakeSession honest({}, {.once_ns = 1e6}, 1), keeps({}, {.call_ns = 5e3, .once_ns = 40e6}, 1);
  const auto fine = run(honest), kept = run(keeps);
  ASSERT_TRUE(fine.ok() && kept.ok());
  EXPECT_NE(fine->answer, Answer::invalid) << fine->reason;
  EXPECT_EQ(kept->answer, Answer::invalid);
  EXPECT_NE(kept->reason.find("kept from call to call"), std::string::npos);
}

TEST(Compare, ATimerInsideThatDisagreesInvalidates) {
  FakeSession session({}, {.inside_share = 0.3}, 1);
  const auto seen = run(session);
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->answer, Answer::invalid);
  EXPECT_NE(seen->reason.find("disagree"), std::string::npos);
}

TEST(Compare, StopsWhenAskedTo) {
  FakeSession session({}, {}, 1);
  CompareOptions options;
  options.stop = [](const std::vector<double>& ratios) { return ratios.size() == 3; };
  const auto seen = run(session, options);
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->pairs.size(), 3u);
  std::atomic<bool> cancel{true};
  options.cancel = &cancel;
  const auto cancelled = run(session, options);
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
}

TEST(Compare, SequentialReportsAFreshSetOfTheSizeItStoppedAt) {
  FakeSession clear({.call_ns = 40e3}, {.call_ns = 20e3}, 3);
  const auto seen = compare_sequential(clear, clear.baseline(), clear.baseline(), clear.task().cases.front(), {});
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->answer, Answer::faster);
  EXPECT_EQ(seen->pairs.size(), 8u);
  EXPECT_EQ(clear.started, 2 * (2 + 16)) << "one look of eight pairs, then eight fresh ones";
}

TEST(Plausible, OneDrawIsGivenRoomButNotForStaleAnswers) {
  runner::DrawCheck check;
  check.outputs.resize(1);
  runner::OutputErrors& o = check.outputs[0];
  o.elements = o.counted = 100;
  o.sum2_reference = o.sum2_candidate = 100;
  o.max_reference = o.max_candidate = 3;
  std::string why;
  EXPECT_TRUE(plausible(check, &why));
  o.max_candidate = 1e5;
  EXPECT_FALSE(plausible(check, &why));
  o.max_candidate = 3;
  check.inputs_changed = true;
  EXPECT_FALSE(plausible(check, &why));
}

}  // namespace
}  // namespace hone::measure
