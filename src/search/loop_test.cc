#include "search/loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "propose/descent/descent.h"
#include "propose/recorded.h"
#include "propose/simple.h"

namespace hone::search {
namespace {

/// A journal that dies after a number of appends, as a killed process would: what was appended stays.
class MemoryJournal : public Journal {
 public:
  Status append(const Record& record, const propose::Proposal&, const Json&) override {
    if (left_ == 0) return environment_error("killed");
    --left_;
    const auto back = record_from_json(*parse_json(to_json(record).dump(), "record"));  // as an archive would keep it
    if (!back.ok()) return back.error();
    records_.push_back(*back);
    return {};
  }
  Result<std::vector<Record>> records() override { return records_; }

  std::vector<Record> records_;
  long left_ = -1;
};

class HandClock : public Clock {
 public:
  std::int64_t now_ns() override { return now_; }
  std::int64_t now_ = 1'000'000'000;
};

/// Judges by a recording; each answer takes a quarter of a second. Answers the last job first.
class RecordedEvaluator : public Evaluator {
 public:
  explicit RecordedEvaluator(const propose::Recorded& recorded, double noise = 0.02) : judge_(recorded, noise, 7) {}

  Status evaluate(std::span<const Job> jobs, const Race&, const std::function<bool()>& stop, const Finished& finished) override {
    for (std::size_t i = jobs.size(); i-- > 0;) {
      if (stop()) return {};
      ++judged_[std::string(name_of(jobs[i].kind)) + candidate::to_json(jobs[i].proposal.assignment).dump() +
                (jobs[i].proposal.against ? candidate::to_json(*jobs[i].proposal.against).dump() : "")];
      clock.now_ += 250'000'000;
      Judged judged;
      judged.outcome = judge_.judge(jobs[i].proposal, static_cast<std::uint64_t>(jobs[i].kind));
      if (jobs[i].kind == Kind::verify && fail_verify_-- > 0) judged.outcome = {};
      if (jobs[i].kind == Kind::retime && busy_) {
        judged.outcome = {};
        judged.outcome.invalid = true;
      }
      judged.seconds = 0.25;
      HONE_CHECK(finished(i, judged));
    }
    return {};
  }

  HandClock clock;
  std::map<std::string, int> judged_;
  int fail_verify_ = 0;
  bool busy_ = false;  // no retime comes out valid

 private:
  propose::RecordedJudge judge_;
};

const propose::Recorded& sort_space() {
  static const auto recorded = propose::Recorded::read(HONE_SOURCE_DIR "/tests/data/spaces/sort.csv");
  return *recorded;
}

std::vector<std::unique_ptr<propose::Proposer>> proposers(std::uint64_t seed = 3) {
  std::vector<std::unique_ptr<propose::Proposer>> list;
  list.push_back(propose::make_descent(sort_space().candidate(), sort_space().space(), {seed}));
  list.push_back(propose::make_random(sort_space().candidate(), sort_space().space(), {seed}));
  return list;
}

LoopOptions options(const char* budget, RecordedEvaluator& evaluator) {
  LoopOptions o;
  o.budget = *parse_budget(budget);
  o.clock = &evaluator.clock;
  return o;
}

std::string text(const std::vector<Record>& records) {
  std::map<std::uint64_t, std::string> lines;
  for (Record record : records) {
    record.elapsed_s = 0;  // a killed session's last moments are not on the run's clock
    lines[record.sequence] += to_json(record).dump() + "\n";
  }
  std::string all;
  for (const auto& [sequence, line] : lines) all += line;
  return all;
}

TEST(Loop, EndsByEvaluationsAndVerifiesABestTimedAfresh) {
  RecordedEvaluator evaluator(sort_space());
  MemoryJournal journal;
  const auto result = run_loop(proposers(), evaluator, journal, options("100evals", evaluator));
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->ended, Ended::budget);
  EXPECT_EQ(result->evaluations, 100);
  EXPECT_EQ(journal.records_.size(), 100u + 3 + 1);
  ASSERT_TRUE(result->best && result->verified);
  EXPECT_TRUE(result->best->fresh.has_value());
  for (const Contender& elite : result->elites) {
    if (elite.fresh) { EXPECT_GE(result->best->fresh->low, elite.fresh->low); }
  }
}

TEST(Loop, CutAnywhereAndResumedItIsTheSameRun) {
  RecordedEvaluator whole_evaluator(sort_space());
  MemoryJournal whole;
  const auto uncut = run_loop(proposers(), whole_evaluator, whole, options("60evals", whole_evaluator));
  ASSERT_TRUE(uncut.ok());
  ASSERT_TRUE(uncut->best);
  for (long cut = 0; cut < static_cast<long>(whole.records_.size()); ++cut) {
    RecordedEvaluator evaluator(sort_space());
    MemoryJournal journal;
    journal.left_ = cut;
    ASSERT_FALSE(run_loop(proposers(), evaluator, journal, options("60evals", evaluator)).ok());
    ASSERT_EQ(journal.records_.size(), static_cast<std::size_t>(cut));
    const auto committed = journal.records_;
    journal.left_ = -1;
    const auto resumed = run_loop(proposers(), evaluator, journal, options("60evals", evaluator));
    ASSERT_TRUE(resumed.ok()) << cut << resumed.error().text();
    EXPECT_EQ(resumed->replayed, cut);
    // Nothing committed was lost, changed or repeated, and the rest is what it would have been.
    ASSERT_EQ(text(journal.records_), text(whole.records_)) << cut;
    for (std::size_t i = 0; i < committed.size(); ++i)
      EXPECT_EQ(to_json(journal.records_[i]), to_json(committed[i]));
    EXPECT_EQ(resumed->best->proposal.assignment, uncut->best->proposal.assignment);
    EXPECT_EQ(resumed->verified->speedup, uncut->verified->speedup);
    EXPECT_EQ(resumed->state, uncut->state);
    // Work in flight was judged twice: one job, as this evaluator has one in flight.
    int repeated = 0;
    for (const auto& [job, times] : evaluator.judged_) {
      const int once = whole_evaluator.judged_[job];
      EXPECT_EQ(once, 1);  // not even by two proposers
      EXPECT_LE(times - once, 1);
      repeated += times - once;
    }
    EXPECT_LE(repeated, 1);
  }
}

TEST(Loop, AFinishedRunResumesToTheSameResultWithoutJudging) {
  RecordedEvaluator evaluator(sort_space());
  MemoryJournal journal;
  const auto first = run_loop(proposers(), evaluator, journal, options("30evals", evaluator));
  const auto judged = evaluator.judged_;
  const auto again = run_loop(proposers(), evaluator, journal, options("30evals", evaluator));
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(evaluator.judged_, judged);
  EXPECT_EQ(again->state, first->state);
  EXPECT_EQ(again->verified->speedup, first->verified->speedup);
  // With more budget it goes on, and no sequence number is used twice.
  const auto more = run_loop(proposers(), evaluator, journal, options("50evals", evaluator));
  ASSERT_TRUE(more.ok()) << more.error().text();
  EXPECT_EQ(more->evaluations, 50);
  std::map<std::uint64_t, int> sequences;
  for (const Record& record : journal.records_) EXPECT_EQ(++sequences[record.sequence], 1);
}

TEST(Loop, AnotherRunsJournalIsRefused) {
  RecordedEvaluator evaluator(sort_space());
  MemoryJournal journal;
  ASSERT_TRUE(run_loop(proposers(3), evaluator, journal, options("30evals", evaluator)).ok());
  const auto other = run_loop(proposers(4), evaluator, journal, options("60evals", evaluator));
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("does not fit"), std::string::npos);
}

TEST(Loop, TimeBudgetKeepsAShareForFinalists) {
  RecordedEvaluator evaluator(sort_space());
  MemoryJournal journal;
  const auto result = run_loop(proposers(), evaluator, journal, options("20s", evaluator));
  ASSERT_TRUE(result.ok());
  // 90 % of 20 s at a quarter of a second each, up to a whole batch more; then three times again, one verification.
  EXPECT_GE(result->evaluations, 72);
  EXPECT_LE(result->evaluations, 75);
  EXPECT_TRUE(result->verified.has_value());
  EXPECT_NEAR(result->elapsed_s, 0.25 * static_cast<double>(result->evaluations + 4), 1e-9);
}

TEST(Loop, TargetEndsTheRun) {
  RecordedEvaluator evaluator(sort_space());
  MemoryJournal journal;
  const auto result = run_loop(proposers(), evaluator, journal, options("target=1.5x,500evals", evaluator));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ended, Ended::target);
  EXPECT_LT(result->evaluations, 500);
}

TEST(Loop, CancelStopsCleanlyAndResumes) {
  std::atomic<bool> cancel = false;
  RecordedEvaluator evaluator(sort_space());
  MemoryJournal journal;
  LoopOptions o = options("60evals", evaluator);
  o.cancel = &cancel;
  o.progress = [&](const Progress& p) { cancel = p.evaluations == 18; };
  const auto stopped = run_loop(proposers(), evaluator, journal, o);
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(stopped->ended, Ended::cancelled);
  EXPECT_EQ(journal.records_.size(), 18u);
  EXPECT_FALSE(stopped->verified.has_value());
  EXPECT_TRUE(stopped->best.has_value());
  o.cancel = nullptr;
  o.progress = nullptr;
  ASSERT_TRUE(run_loop(proposers(), evaluator, journal, o).ok());
  RecordedEvaluator other(sort_space());
  MemoryJournal whole;
  ASSERT_TRUE(run_loop(proposers(), other, whole, options("60evals", other)).ok());
  EXPECT_EQ(text(journal.records_), text(whole.records_));
}

TEST(Loop, AFinalistThatFailsVerificationGivesWayToTheNext) {
  RecordedEvaluator evaluator(sort_space());
  evaluator.fail_verify_ = 1;
  MemoryJournal journal;
  const auto result = run_loop(proposers(), evaluator, journal, options("40evals", evaluator));
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->rejected.size(), 1u);
  ASSERT_TRUE(result->best.has_value());
  EXPECT_NE(result->best->sequence, result->rejected[0].sequence);
  evaluator.fail_verify_ = 100;
  MemoryJournal empty;
  const auto none = run_loop(proposers(), evaluator, empty, options("40evals", evaluator));
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->best.has_value());
  EXPECT_EQ(none->rejected.size(), 3u);
}

TEST(Loop, WhatCouldNotBeTimedAgainIsVerifiedAllTheSame) {
  RecordedEvaluator evaluator(sort_space());
  evaluator.busy_ = true;
  MemoryJournal journal;
  const auto result = run_loop(proposers(), evaluator, journal, options("40evals", evaluator));
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->best.has_value());
  EXPECT_TRUE(result->verified.has_value());
  EXPECT_FALSE(result->best->fresh.has_value());
}

/// With one point or two a space is exhausted before the clock; what follows is still told as it goes.
TEST(Loop, AnExhaustedSpaceReportsToItsEnd) {
  for (const char* space : {"A,ns\n1,100\n", "A,ns\n1,100\n2,90\n"}) {
    const auto tiny = propose::Recorded::parse(space, "tiny");
    ASSERT_TRUE(tiny.ok());
    for (const bool descent : {true, false}) {
      RecordedEvaluator evaluator(*tiny, 0);
      MemoryJournal journal;
      std::vector<std::unique_ptr<propose::Proposer>> list;
      list.push_back(descent ? propose::make_descent(tiny->candidate(), tiny->space(), {1})
                             : propose::make_random(tiny->candidate(), tiny->space(), {1}));
      LoopOptions o = options("500evals", evaluator);
      std::vector<std::string> proposers_told;
      o.progress = [&](const Progress& p) { proposers_told.push_back(p.proposer); };
      const auto result = run_loop(std::move(list), evaluator, journal, o);
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(result->ended, Ended::exhausted);
      EXPECT_TRUE(result->verified.has_value());
      // Every screen, the retimes and the verification.
      EXPECT_GE(proposers_told.size(), static_cast<std::size_t>(result->tried) + 2);
      for (const std::string& name : proposers_told) EXPECT_EQ(name, descent ? "descent" : "random");
    }
  }
}

TEST(Loop, ExhaustedSpaceEnds) {
  const auto tiny = propose::Recorded::parse("A,ns\n1,100\n2,90\n3,80\n", "tiny");
  ASSERT_TRUE(tiny.ok());
  RecordedEvaluator evaluator(*tiny, 0);
  MemoryJournal journal;
  std::vector<std::unique_ptr<propose::Proposer>> list;
  list.push_back(propose::make_descent(tiny->candidate(), tiny->space(), {1}));
  const auto result = run_loop(std::move(list), evaluator, journal, options("500evals", evaluator));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ended, Ended::exhausted);
  EXPECT_EQ(result->tried, 3);
  EXPECT_EQ(result->best->proposal.assignment.at("A"), "3");
}

TEST(Loop, TwoProposersShareWhatIsKnownOfAPoint) {
  const auto tiny = propose::Recorded::parse("A,ns\n1,100\n2,90\n3,80\n4,70\n", "tiny");
  ASSERT_TRUE(tiny.ok());
  RecordedEvaluator evaluator(*tiny, 0);
  MemoryJournal journal;
  std::vector<std::unique_ptr<propose::Proposer>> list;
  list.push_back(propose::make_exhaustive(tiny->candidate(), tiny->space()));
  list.push_back(propose::make_random(tiny->candidate(), tiny->space(), {1}));
  const auto result = run_loop(std::move(list), evaluator, journal, options("500evals", evaluator));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ended, Ended::exhausted);
  EXPECT_EQ(result->tried, 4);
  EXPECT_EQ(result->elites.size(), 4u);
}

TEST(Loop, NoProposerIsAnError) {
  RecordedEvaluator evaluator(sort_space());
  MemoryJournal journal;
  EXPECT_FALSE(run_loop({}, evaluator, journal, options("5evals", evaluator)).ok());
}

}  // namespace
}  // namespace hone::search
