#include "propose/descent/descent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "propose/recorded.h"
#include "propose/registry.h"
#include "propose/simple.h"

namespace hone::propose {
namespace {

int value(const candidate::Assignment& a, const char* name) { return std::stoi(a.at(name)); }

candidate::Candidate three_knobs() {
  candidate::Candidate candidate;
  for (const char* name : {"A", "B", "C"}) {
    candidate.tunables.push_back({name, {}});
    for (int i = 0; i < 12; ++i) candidate.tunables.back().values.push_back(std::to_string(i));
  }
  return candidate;
}

Space whole(const candidate::Candidate& candidate) {
  return Space(candidate.tunables, [](const candidate::Assignment&) { return true; });
}

/// A curved valley with its best at (7, 4, 9): knobs depend on each other.
double speed(const candidate::Assignment& a) {
  const double x = value(a, "A"), y = value(a, "B"), z = value(a, "C");
  return std::exp(-0.02 * (x - 7) * (x - 7) - 0.1 * (y + x - 11) * (y + x - 11) - 0.03 * (z - 9) * (z - 9));
}

Outcome answer(double speedup, double spread = 0) {
  return {true, false, speedup, speedup * std::exp(-spread), speedup * std::exp(spread), false};
}
Outcome exact(const Proposal& p) {
  return answer(p.against ? speed(p.assignment) / speed(*p.against) : speed(p.assignment));
}

using Judge = std::function<Outcome(const Proposal&)>;
struct Trace {
  std::vector<std::string> asked;
  double best = 0;
  int comparisons = 0;
};
Trace drive(Proposer& proposer, const Judge& judge, int evaluations, int batch = 3) {
  Trace trace;
  while (static_cast<int>(trace.asked.size()) < evaluations && !proposer.done()) {
    const auto proposals = proposer.ask(batch);
    if (proposals.empty()) break;
    for (const Proposal& p : proposals) {
      trace.asked.push_back(candidate::to_json(p.assignment).dump() + (p.against ? candidate::to_json(*p.against).dump() : ""));
      trace.comparisons += p.against.has_value();
      const Outcome outcome = judge(p);
      if (outcome.correct && !p.against) trace.best = std::max(trace.best, speed(p.assignment));
      proposer.tell(p.id, outcome);
    }
  }
  return trace;
}

TEST(Descent, FindsTheOptimumOfACurvedValley) {
  const auto candidate = three_knobs();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto descent = make_descent(candidate, whole(candidate), {seed});
    // 170 of 1,728 points; random would have it with probability 1 in 10.
    EXPECT_EQ(drive(*descent, exact, 170).best, 1.0) << seed;
  }
}

TEST(Descent, AsksNoPointTwiceAndEndsWithAllOfThem) {
  candidate::Candidate candidate = three_knobs();
  for (auto& tunable : candidate.tunables) tunable.values.resize(4);
  const auto descent = make_descent(candidate, whole(candidate), {1});
  const Trace trace = drive(*descent, exact, 10000);
  EXPECT_TRUE(descent->done());
  EXPECT_EQ(trace.asked.size() - static_cast<std::size_t>(trace.comparisons), 64u);
  std::set<std::string> distinct(trace.asked.begin(), trace.asked.end());
  EXPECT_EQ(distinct.size(), trace.asked.size());
}

TEST(Descent, OverlappingIntervalsLeadToAPairedTest) {
  const auto candidate = three_knobs();
  const auto descent = make_descent(candidate, whole(candidate), {2});
  // Screens know speed only within a factor of three; pairs know it exactly.
  int comparisons = 0, sure = 0;
  const Trace trace = drive(*descent, [&](const Proposal& p) {
    if (!p.against) return answer(speed(p.assignment), 1.1);
    ++comparisons;
    sure += speed(p.assignment) > speed(*p.against);
    return exact(p);
  }, 250);
  EXPECT_GT(comparisons, 2);
  EXPECT_EQ(sure, comparisons);  // only what looked faster is compared, and here looks do not deceive
  EXPECT_EQ(trace.best, 1.0);
}

TEST(Descent, ALostPairedTestIsNoStep) {
  const auto candidate = three_knobs();
  const auto descent = make_descent(candidate, whole(candidate), {2});
  std::set<std::string> incumbents;
  drive(*descent, [&](const Proposal& p) {
    if (!p.against) return answer(speed(p.assignment), 5);  // never apart
    incumbents.insert(candidate::to_json(*p.against).dump());
    return answer(1.01, 0.05);  // never certain
  }, 18);                       // too few for a second descent
  EXPECT_EQ(incumbents.size(), 1u);
}

TEST(Descent, LearnsARegionThatFails) {
  const auto candidate = three_knobs();
  int wrong = 0, asked = 0;
  // Half the space fails, next to the optimum at A = 7.
  const auto descent = make_descent(candidate, whole(candidate), {3});
  const Trace trace = drive(*descent, [&](const Proposal& p) {
    ++asked;
    if (value(p.assignment, "A") < 6) return ++wrong, Outcome{};
    return exact(p);
  }, 200);
  EXPECT_EQ(trace.best, 1.0);
  EXPECT_LT(wrong, asked / 5);  // at random it would be half
}

TEST(Descent, AllPointsWrongStillEnds) {
  candidate::Candidate candidate = three_knobs();
  for (auto& tunable : candidate.tunables) tunable.values.resize(3);
  const auto descent = make_descent(candidate, whole(candidate), {1});
  EXPECT_EQ(drive(*descent, [](const Proposal&) { return Outcome{}; }, 1000).asked.size(), 27u);
  EXPECT_TRUE(descent->done());
}

TEST(Descent, WithoutTunablesThereIsOnePoint) {
  const auto descent = make_descent({}, Space({}, [](const candidate::Assignment&) { return true; }), {1});
  const auto proposals = descent->ask(5);
  ASSERT_EQ(proposals.size(), 1u);
  descent->tell(proposals[0].id, answer(2));
  EXPECT_TRUE(descent->ask(5).empty());
  EXPECT_TRUE(descent->done());
}

TEST(Descent, AnInvalidAnswerIsAskedOnceMore) {
  candidate::Candidate candidate = three_knobs();
  for (auto& tunable : candidate.tunables) tunable.values.resize(2);
  const auto descent = make_descent(candidate, whole(candidate), {1});
  Outcome invalid;
  invalid.invalid = true;
  std::map<std::string, int> times;
  drive(*descent, [&](const Proposal& p) { return ++times[candidate::to_json(p.assignment).dump()], invalid; }, 1000);
  for (const auto& [point, count] : times) EXPECT_EQ(count, 2) << point;
}

/// Save and restore at every point of a run: what follows is the same, ids included.
void check_restore(const std::function<std::unique_ptr<Proposer>()>& make) {
  const auto salted = [](const Proposal& p) {
    Outcome outcome = exact(p);
    if (value(p.assignment, "B") == 3) outcome = {};
    outcome.low *= 0.8;
    outcome.high *= 1.25;
    return outcome;
  };
  const auto original = make();
  for (int round = 0; round < 40; ++round) {
    const auto copy = make();
    const auto text = parse_json(original->save().dump(), "state");
    ASSERT_TRUE(text.ok());
    ASSERT_TRUE(copy->restore(*text).ok());
    const auto a = original->ask(3), b = copy->ask(3);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].id, b[i].id);
      EXPECT_EQ(a[i].assignment, b[i].assignment);
      EXPECT_EQ(a[i].against, b[i].against);
    }
    // With answers outstanding as well.
    const auto late = make();
    ASSERT_TRUE(late->restore(original->save()).ok());
    for (const Proposal& p : a) {
      original->tell(p.id, salted(p));
      late->tell(p.id, salted(p));
    }
    EXPECT_EQ(original->save(), late->save());
  }
  EXPECT_FALSE(make()->restore(Json::object()).ok());
}

TEST(Descent, RestoresExactly) {
  const auto candidate = three_knobs();
  check_restore([&] { return make_descent(candidate, whole(candidate), {5}); });
}
TEST(Random, RestoresExactly) {
  const auto candidate = three_knobs();
  check_restore([&] { return make_random(candidate, whole(candidate), {5}); });
}
TEST(Exhaustive, RestoresExactly) {
  const auto candidate = three_knobs();
  check_restore([&] { return make_exhaustive(candidate, whole(candidate)); });
}

TEST(Simple, BothVisitEveryPointOnce) {
  candidate::Candidate candidate = three_knobs();
  for (auto& tunable : candidate.tunables) tunable.values.resize(3);
  for (const bool random : {true, false}) {
    const auto proposer = random ? make_random(candidate, whole(candidate), {1}) : make_exhaustive(candidate, whole(candidate));
    const Trace trace = drive(*proposer, exact, 1000);
    EXPECT_EQ(trace.asked.size(), 27u);
    EXPECT_EQ(std::set<std::string>(trace.asked.begin(), trace.asked.end()).size(), 27u);
    EXPECT_TRUE(proposer->done());
  }
}

TEST(Registry, NearestSpelling) {
  const auto made = make("decent", three_knobs(), {}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("descent"), std::string::npos);
  for (const Entry& entry : registry()) EXPECT_FALSE(entry.about.empty());
}

TEST(Recorded, ReadsAndRefuses) {
  const auto good = Recorded::parse("# hone recorded space 1\nA,B,ns\n1,1,100\n2,1,50\n2,2,wrong\n", "x.csv");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->points(), 3u);
  EXPECT_EQ(good->wrong(), 1u);
  EXPECT_EQ(good->best_ns(), 50);
  EXPECT_EQ(good->median_ns(), 75);
  EXPECT_EQ(good->within(0.5), 2u);
  EXPECT_EQ(good->time_ns({{"A", "2"}, {"B", "2"}}), 0);
  EXPECT_FALSE(good->space().valid(*good->space().point({{"A", "1"}, {"B", "2"}})));
  const RecordedJudge judge(*good);
  EXPECT_DOUBLE_EQ(judge.judge({{}, {{"A", "2"}, {"B", "1"}}, std::nullopt, 0}).speedup, 1.5);
  EXPECT_DOUBLE_EQ(judge.judge({{}, {{"A", "2"}, {"B", "1"}}, candidate::Assignment{{"A", "1"}, {"B", "1"}}, 0}).speedup, 2);
  EXPECT_FALSE(judge.judge({{}, {{"A", "2"}, {"B", "2"}}, std::nullopt, 0}).correct);
  for (const char* bad : {"", "A,B\n1,2\n", "A,ns\n1\n", "A,ns\n1,-3\n", "A,ns\n1,x\n", "A,ns\n1,5\n1,6\n", "A,ns\n1,wrong\n"})
    EXPECT_FALSE(Recorded::parse(bad, "x.csv").ok()) << bad;
}

TEST(Recorded, DescentReachesTheBestOfASortInATenthOfItsPoints) {
  const auto recorded = Recorded::read(HONE_SOURCE_DIR "/tests/data/spaces/sort.csv");
  ASSERT_TRUE(recorded.ok()) << recorded.error().text();
  int reached = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RecordedJudge judge(*recorded, 0, seed);
    const auto descent = make_descent(recorded->candidate(), recorded->space(), {seed});
    bool found = false;
    for (std::size_t count = 0; count < recorded->points() / 10 && !found;) {
      for (const Proposal& p : descent->ask(4)) {
        const double ns = *recorded->time_ns(p.assignment);
        found = found || (ns > 0 && ns <= recorded->best_ns() / 0.95);
        descent->tell(p.id, judge.judge(p));
        ++count;
      }
    }
    reached += found;
  }
  EXPECT_GE(reached, 9);
}

}  // namespace
}  // namespace hone::propose
