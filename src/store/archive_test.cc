#include "store/archive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "store/inner.h"

namespace hone::store {
namespace {

RunStart start_of(const std::string& name = "softmax_rows") {
  RunStart start;
  start.task_name = name;
  start.task_identity = "t1";
  start.task_folder = "/tasks/softmax";
  start.task_text = "[task]\nname = \"softmax_rows\"\n";
  start.options = {{"budget", "60s"}};
  start.seed = 0xffffffffffffffffull;
  start.device = {{"model", "Test CPU"}};
  start.versions = {{"hone", "0.1.0"}};
  start.command = "hone optimize softmax";
  return start;
}

NewCandidate candidate_of(const std::string& tile, const std::string& identity = "") {
  NewCandidate c;
  c.source = "void f();\n";
  c.assignment = {{"TILE", tile}};
  c.provenance = {"descent", "parent", "step"};
  c.source_identity = identity;
  return c;
}

judge::Verdict good(double low, judge::Depth depth = judge::Depth::screen, judge::Class cls = judge::Class::B) {
  judge::Verdict v;
  v.correct = true;
  v.cls = cls;
  v.depth = depth;
  v.answer = low > 1 ? judge::Answer::faster : judge::Answer::undecided;
  judge::Speed s;
  s.case_label = "N=4";
  s.answer = v.answer;
  s.ratio = low * 1.1;
  s.low = low;
  s.high = low * 1.2;
  s.candidate_ns = 100;
  s.baseline_ns = 100 * s.ratio;
  s.samples = {{"slots", {1.5, 2.25, 1e300}}};
  v.speeds = {s};
  v.geomean = s.ratio;
  v.geomean_low = s.low;
  v.geomean_high = s.high;
  v.total_ms = 250;
  return v;
}

judge::Verdict bad(const std::string& gate = "correctness", const std::string& reason = "wrong_value",
                   judge::Depth depth = judge::Depth::screen) {
  judge::Verdict v;
  v.depth = depth;
  v.failure = candidate::Failure{gate, reason, "y[3] is off", {{"index", 3}}};
  v.total_ms = 50;
  return v;
}

class ArchiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Archive::in_memory();
    ASSERT_TRUE(made.ok()) << made.error().text();
    archive_.emplace(std::move(*made));
    auto run = archive_->begin_run(start_of());
    ASSERT_TRUE(run.ok()) << run.error().text();
    run_ = *run;
  }
  std::int64_t add(const judge::Verdict& verdict, const std::string& tile = "8") {
    auto number = archive_->add_candidate(run_, candidate_of(tile));
    EXPECT_TRUE(number.ok()) << number.error().text();
    auto id = archive_->add_verdict(run_, *number, verdict);
    EXPECT_TRUE(id.ok()) << id.error().text();
    return *number;
  }
  std::optional<Archive> archive_;
  std::string run_;
};

TEST_F(ArchiveTest, ARunKeepsAllItBeganWith) {
  const auto run = archive_->run(run_);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->task_name, "softmax_rows");
  EXPECT_EQ(run->task_identity, "t1");
  EXPECT_EQ(run->task_folder, "/tasks/softmax");
  EXPECT_EQ(run->task_text, start_of().task_text);
  EXPECT_EQ(run->options["budget"], "60s");
  EXPECT_EQ(run->seed, 0xffffffffffffffffull);
  EXPECT_EQ(run->device["model"], "Test CPU");
  EXPECT_EQ(run->versions["hone"], "0.1.0");
  EXPECT_EQ(run->command, "hone optimize softmax");
  EXPECT_EQ(run->status, RunStatus::running);
  ASSERT_TRUE(archive_->set_status(run_, RunStatus::stopped, "Ctrl-C").ok());
  EXPECT_EQ(archive_->run(run_)->status, RunStatus::stopped);
  EXPECT_EQ(archive_->run(run_)->status_note, "Ctrl-C");
}

TEST_F(ArchiveTest, ARunIdIsDateNameAndFourDigits) {
  EXPECT_EQ(run_.size(), std::string("2026-11-30-softmax_rows-3f2a").size());
  EXPECT_EQ(run_.substr(10, 14), "-softmax_rows-");
  EXPECT_EQ(run_.find_first_not_of("0123456789abcdef", run_.size() - 4), std::string::npos);
  const auto odd = archive_->begin_run(start_of("../my task\n"));
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->substr(10, 13), "-___my_task_-");  // it becomes a folder's name
}

TEST_F(ArchiveTest, CandidatesAreNumberedAndShareTheirSource) {
  ASSERT_EQ(*archive_->add_candidate(run_, candidate_of("8")), 1);
  ASSERT_EQ(*archive_->add_candidate(run_, candidate_of("16")), 2);
  const auto second = archive_->candidate(run_, 2);
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_EQ(second->source, "void f();\n");
  EXPECT_EQ(second->assignment.at("TILE"), "16");
  EXPECT_EQ(second->provenance.proposer, "descent");
  EXPECT_EQ(second->provenance.parent, "parent");
  EXPECT_EQ(second->provenance.note, "step");
  EXPECT_EQ(second->source_hash, archive_->candidate(run_, 1)->source_hash);
  const Database& db = Archive::Inner::of(*archive_).database;
  EXPECT_EQ(*db.integer("SELECT count(*) FROM texts"), 2);  // the task's and the one source
  EXPECT_EQ(archive_->candidates(run_)->size(), 2u);
}

TEST_F(ArchiveTest, TheSameIdentityIsTheSameCandidate) {
  ASSERT_EQ(*archive_->add_candidate(run_, candidate_of("8", "abc")), 1);
  ASSERT_EQ(*archive_->add_candidate(run_, candidate_of("16", "def")), 2);
  EXPECT_EQ(*archive_->add_candidate(run_, candidate_of("8", "abc")), 1);
  const auto other = archive_->begin_run(start_of());
  EXPECT_EQ(*archive_->add_candidate(*other, candidate_of("8", "abc")), 1);  // a run of its own
}

TEST_F(ArchiveTest, AVerdictComesBackWholeWithItsSamples) {
  add(good(2.0));
  const auto rows = archive_->evaluations(run_);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().cls, judge::Class::B);
  EXPECT_EQ(rows->front().answer, judge::Answer::faster);
  EXPECT_DOUBLE_EQ(rows->front().low, 2.0);
  EXPECT_NEAR(rows->front().candidate_ns, 100, 1e-9);
  EXPECT_NEAR(rows->front().baseline_ns, 220, 1e-9);
  const auto whole = archive_->verdict(rows->front().id, true);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_EQ(judge::to_json(*whole, true), judge::to_json(good(2.0), true));
  EXPECT_TRUE(archive_->verdict(rows->front().id)->speeds[0].samples.empty());
  EXPECT_FALSE(archive_->verdict(99).ok());
}

TEST_F(ArchiveTest, BytesThatAreNoTextDoNotBreakAVerdict) {
  judge::Verdict v = bad();
  v.failure->message = "printed \xff\xfe";
  v.failure->evidence["value"] = number(std::nan(""));
  add(v);
  const auto back = archive_->verdict(1);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->failure->evidence["value"], "nan");
}

TEST_F(ArchiveTest, BestIsTheVerifiedOneWithTheHighestLowerBound) {
  EXPECT_FALSE(archive_->best_of(run_)->has_value());
  add(bad());
  add(good(0.9));
  EXPECT_FALSE(archive_->best_of(run_)->has_value()) << "nothing is faster yet";
  const auto first = add(good(1.5)), lucky = add(good(3.0));
  add(good(9.0, judge::Depth::screen, judge::Class::X));
  EXPECT_EQ((*archive_->best_of(run_))->candidate, lucky);
  EXPECT_EQ((*archive_->best_of(run_))->depth, judge::Depth::screen);
  ASSERT_TRUE(archive_->add_verdict(run_, lucky, bad("memory", "race", judge::Depth::verify)).ok());
  EXPECT_EQ((*archive_->best_of(run_))->candidate, first) << "the lucky one failed its verify";
  ASSERT_TRUE(archive_->add_verdict(run_, first, good(1.4, judge::Depth::verify)).ok());
  EXPECT_EQ((*archive_->best_of(run_))->depth, judge::Depth::verify);
  EXPECT_DOUBLE_EQ((*archive_->best_of(run_))->low, 1.4);
}

TEST_F(ArchiveTest, AVerifyThatFindsNoGainIsNotHiddenByTheScreenBeforeIt) {
  const auto only = add(good(1.5));
  ASSERT_TRUE(archive_->add_verdict(run_, only, good(0.98, judge::Depth::verify)).ok());
  EXPECT_FALSE(archive_->best_of(run_)->has_value());
}

TEST_F(ArchiveTest, TheSummaryCountsCandidatesOnceAndFailuresByReason) {
  add(good(1.2));
  const auto twice = add(good(1.1));
  ASSERT_TRUE(archive_->add_verdict(run_, twice, good(1.3)).ok());  // timed again
  add(bad());
  add(bad("static", "compile_error"));
  add(bad("static", "compile_error"));
  const auto late = add(good(1.25));
  ASSERT_TRUE(archive_->add_verdict(run_, late, bad("memory", "race", judge::Depth::verify)).ok());
  const auto s = archive_->summary(run_);
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(s->tried, 6);
  EXPECT_EQ(s->failed, 4);
  ASSERT_EQ(s->by_proposer.size(), 1u);
  EXPECT_EQ(s->by_proposer[0].proposer, "descent");
  EXPECT_EQ(s->by_proposer[0].faster, 3);
  EXPECT_NEAR(s->by_proposer[0].seconds, (4 * 250 + 4 * 50) / 1e3, 1e-9);
  ASSERT_EQ(s->by_failure.size(), 3u);
  EXPECT_EQ(s->by_failure[0].reason, "compile_error");
  EXPECT_EQ(s->by_failure[0].count, 2);
  // 1.2 begins, 1.1 raises nothing, 1.3 does, 1.25 does not.
  ASSERT_EQ(s->best_history.size(), 2u);
  EXPECT_DOUBLE_EQ(s->best_history[0].low, 1.2);
  EXPECT_DOUBLE_EQ(s->best_history[1].low, 1.3);
  const auto lines = archive_->runs();
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->front().tried, 6);
  EXPECT_EQ(lines->front().failed, 4);
  ASSERT_TRUE(archive_->check().ok()) << archive_->check().error().text();
}

TEST_F(ArchiveTest, ClassesCAndXAreReportedApart) {
  add(good(5.0, judge::Depth::screen, judge::Class::C));
  const auto s = archive_->summary(run_);
  EXPECT_FALSE(s->best.has_value());
  ASSERT_TRUE(s->best_other_class.has_value());
  EXPECT_EQ(s->best_other_class->cls, judge::Class::C);
}

TEST_F(ArchiveTest, TheJournalCountsWithoutGapsAndStatesKeepTheNewest) {
  EXPECT_EQ(*archive_->append_journal(run_, {{"a", 1}}), 1);
  EXPECT_EQ(*archive_->append_journal(run_, {{"a", 2}}), 2);
  const auto other = archive_->begin_run(start_of());
  EXPECT_EQ(*archive_->append_journal(*other, {{"a", 9}}), 1);
  const auto entries = archive_->journal(run_);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[1].entry["a"], 2);
  EXPECT_EQ(archive_->journal(run_, 1)->size(), 1u);
  ASSERT_TRUE(archive_->save_state(run_, "descent", 1, {{"x", 1}}).ok());
  ASSERT_TRUE(archive_->save_state(run_, "descent", 2, {{"x", 2}}).ok());
  const auto states = archive_->states(run_);
  ASSERT_EQ(states->size(), 1u);
  EXPECT_EQ((*states)[0].sequence, 2);
  EXPECT_EQ((*states)[0].state["x"], 2);
  ASSERT_TRUE(archive_->add_message(run_, "warning", "the clock drifts").ok());
  EXPECT_EQ(archive_->messages(run_)->front().text, "the clock drifts");
}

TEST_F(ArchiveTest, ATransactionIsKeptWholeOrNotAtAll) {
  const Status failed = archive_->transaction([&]() -> Status {
    HONE_TRY(const std::int64_t number, archive_->add_candidate(run_, candidate_of("8")));
    HONE_TRY(const std::int64_t id, archive_->add_verdict(run_, number, good(2)));
    EXPECT_GT(id, 0);
    return environment_error("the power went");
  });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(archive_->candidates(run_)->size(), 0u);
  EXPECT_EQ(archive_->evaluations(run_)->size(), 0u);
  // A part that fails inside takes back its own rows only: candidate 7 does not exist.
  ASSERT_TRUE(archive_->transaction([&]() -> Status {
    HONE_TRY(const std::int64_t number, archive_->add_candidate(run_, candidate_of("8")));
    EXPECT_EQ(number, 1);
    EXPECT_FALSE(archive_->add_verdict(run_, 7, good(2)).ok());
    return {};
  }).ok());
  EXPECT_EQ(archive_->candidates(run_)->size(), 1u);
}

TEST_F(ArchiveTest, FactsCanNeitherBeChangedNorRemoved) {
  add(good(2));
  ASSERT_TRUE(archive_->append_journal(run_, {{"a", 1}}).ok());
  ASSERT_TRUE(archive_->add_message(run_, "info", "hello").ok());
  const Database& db = Archive::Inner::of(*archive_).database;
  const std::vector<std::pair<std::string, std::string>> facts = {
      {"texts", "text"},       {"runs", "seed"},        {"run_events", "note"},  {"messages", "text"}, {"candidates", "note"},
      {"evaluations", "correct"}, {"verdicts", "json"}, {"samples", "cbor"},  {"journal", "entry"}};
  for (const auto& [table, column] : facts) {
    ASSERT_GT(*db.integer("SELECT count(*) FROM " + table), 0) << table;
    const Status changed = db.execute("UPDATE " + table + " SET " + column + " = " + column);
    ASSERT_FALSE(changed.ok()) << table;
    EXPECT_NE(changed.error().message.find("append-only"), std::string::npos) << changed.error().message;
    EXPECT_FALSE(db.execute("DELETE FROM " + table).ok()) << table;
    EXPECT_FALSE(db.execute("INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table).ok()) << table;
  }
  ASSERT_TRUE(archive_->check().ok()) << archive_->check().error().text();
}

TEST_F(ArchiveTest, RunsAreFoundByPrefixSuffixAndLatest) {
  EXPECT_EQ(*archive_->find_run("latest"), run_);
  EXPECT_EQ(*archive_->find_run(run_), run_);
  EXPECT_EQ(*archive_->find_run(run_.substr(0, 15)), run_);
  EXPECT_EQ(*archive_->find_run(run_.substr(run_.size() - 4)), run_);
  const auto second = archive_->begin_run(start_of("matmul"));
  EXPECT_EQ(*archive_->find_run("latest"), *second);
  const auto many = archive_->find_run(run_.substr(0, 5));
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message.find(run_), std::string::npos);
  EXPECT_NE(many.error().message.find(*second), std::string::npos);
  std::string typo = run_;
  typo[13] = 'x';
  const auto unknown = archive_->find_run(typo);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("did you mean '" + run_ + "'"), std::string::npos) << unknown.error().message;
  EXPECT_NE(archive_->find_run("latset").error().message.find("'latest'"), std::string::npos);
  EXPECT_FALSE(archive_->find_run("").ok());
}

TEST_F(ArchiveTest, CandidatesAreFoundByNumberBestAndHash) {
  ASSERT_TRUE(archive_->add_candidate(run_, candidate_of("8", "0123456789abcdef")).ok());
  judge::Verdict v = good(2);
  v.identity = "fedcba9876543210";
  ASSERT_TRUE(archive_->add_verdict(run_, 1, v).ok());
  EXPECT_FALSE(archive_->find("latest")->candidate.has_value());
  for (const char* name : {"latest/1", "latest/best", "012345", "fedcba98", "0123456789abcdef"}) {
    const auto found = archive_->find(name);
    ASSERT_TRUE(found.ok()) << name << ": " << found.error().text();
    EXPECT_EQ(found->run, run_) << name;
    EXPECT_EQ(found->candidate, 1) << name;
  }
  EXPECT_FALSE(archive_->find("latest/2").ok());
  EXPECT_FALSE(archive_->find("latest/").ok());
  EXPECT_FALSE(archive_->find("latest/1x").ok());
  EXPECT_FALSE(archive_->find("aaaaaa").ok());
}

TEST(EmptyArchive, SaysThatItHoldsNothing) {
  auto archive = Archive::in_memory();
  ASSERT_TRUE(archive.ok());
  EXPECT_NE(archive->find_run("latest").error().text().find("hone optimize"), std::string::npos);
  EXPECT_TRUE(archive->runs()->empty());
}

}  // namespace
}  // namespace hone::store
