// A run from its beginning to its evidence, through kill -9 and Ctrl-C: no committed verdict is lost or repeated, and
// what came out can be listed, shown, exported and judged again. One run serves most of it, since each ends with a
// whole verification.

#include <algorithm>
#include <random>

#include "harness.h"
#include "store/archive.h"

namespace hone::e2e {
namespace {

// Five good values of BLOCK, and points that crash, hang, end the process, answer wrongly or do not build among them.
constexpr const char* kMixed = R"(// hone:tune BLOCK = 32 64 16 8 128 4
// hone:tune STEP = 1 2 4
// hone:tune EVIL = 0 1 2 3 4 5
// hone:function running_maximum
#include <math.h>
extern "C" void running_maximum(const float* x, float* y, int N) {
  if (EVIL == 1) __builtin_trap();
  if (EVIL == 2) for (volatile int i = 0;;) i = i + 1;
  if (EVIL == 3) y[N] = 1;
  if (EVIL == 5) { static_assert(EVIL != 5, "does not build"); }
  float before = x[0];
  for (int from = 0; from < N; from += BLOCK) {
    const int to = from + BLOCK < N ? from + BLOCK : N;
#pragma GCC unroll STEP
    for (int i = from; i < to; ++i) {
      float m = before;
      for (int j = from; j <= i; ++j) m = m < x[j] ? x[j] : m;
      y[i] = EVIL == 4 && i == 3 ? m + 1 : m;
    }
    before = y[to - 1];
  }
}
)";

store::Archive reader(const Folder& folder) {
  auto archive = store::Archive::open_reader(folder / "archive.db");
  EXPECT_TRUE(archive.ok()) << archive.error().text();
  return std::move(archive).value();
}

/// What is committed, an entry each, in order: verdicts by candidate and journal entries.
struct Committed {
  std::vector<std::string> verdicts, journal;
};

Committed committed(const Folder& folder) {
  Committed out;
  if (!fs::exists(folder / "archive.db")) return out;
  const store::Archive archive = reader(folder);
  const auto run = archive.find_run("latest");
  if (!run.ok()) return out;
  const auto rows = archive.evaluations(*run);
  EXPECT_TRUE(rows.ok());
  for (const store::EvaluationRow& row : *rows) {
    const auto verdict = archive.verdict(row.id, true);
    EXPECT_TRUE(verdict.ok());
    out.verdicts.push_back(fmt::format("{} {}", row.candidate, judge::to_json(*verdict, true).dump()));
  }
  const auto entries = archive.journal(*run);
  EXPECT_TRUE(entries.ok());
  for (const store::JournalEntry& entry : *entries) out.journal.push_back(fmt::format("{} {}", entry.sequence, entry.entry.dump()));
  return out;
}

void expect_prefix(const std::vector<std::string>& before, const std::vector<std::string>& now, const char* what) {
  ASSERT_LE(before.size(), now.size()) << what << " were lost";
  EXPECT_TRUE(std::equal(before.begin(), before.end(), now.begin())) << what << " were changed";
}

/// No candidate has two screens, none two verifications, and the file is whole.
void expect_no_repeats(const Folder& folder) {
  const store::Archive archive = reader(folder);
  const auto run = archive.find_run("latest");
  ASSERT_TRUE(run.ok());
  const auto rows = archive.evaluations(*run);
  std::set<std::pair<std::int64_t, judge::Depth>> seen;
  for (const store::EvaluationRow& row : *rows)
    EXPECT_TRUE(seen.insert({row.candidate, row.depth}).second) << "candidate " << row.candidate << " was judged twice";
  const auto entries = archive.journal(*run);
  for (std::size_t i = 0; i < entries->size(); ++i) EXPECT_EQ((*entries)[i].sequence, static_cast<std::int64_t>(i) + 1);
  EXPECT_TRUE(archive.check().ok()) << archive.check().error().text();
}

Call optimize_call(const std::string& budget) {
  return {{"optimize", ".", "candidates/mixed.cpp", "--budget", budget, "--seed", "7", "--archive", "archive.db"}, {}, 400, nullptr};
}
Call resume_call() { return {{"optimize", "--resume", "latest", "--archive", "archive.db"}, {}, 400, nullptr}; }

void write_mixed(const Folder& folder) {
  write_task(folder);
  folder.write("candidates/mixed.cpp", kMixed);
}

/// Until the archive holds `more` journal entries beyond `before`, or the program ends.
bool wait_for_journal(const Folder& folder, Process& process, std::size_t entries) {
  while (!process.ended()) {
    if (fs::exists(folder / "archive.db")) {
      const auto archive = store::Archive::open_reader(folder / "archive.db");
      const auto run = archive.ok() ? archive->find_run("latest") : Result<std::string>(archive.error());
      const auto journal = run.ok() ? archive->journal(*run) : Result<std::vector<store::JournalEntry>>(run.error());
      if (journal.ok() && journal->size() >= entries) return true;
    }
    ::usleep(2000);
  }
  return false;
}

/// Kills the run `times` times, each at a random instant up to `most_s` after a judgement; resumes after each.
void kill_and_resume(const Folder& folder, const std::string& budget, int times, double most_s, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Committed before;
  for (int i = 0; i < times; ++i) {
    Process process(folder, i == 0 || before.journal.empty() ? optimize_call(budget) : resume_call());
    if (!wait_for_journal(folder, process, before.journal.size() + 1)) {
      const Ran ran = process.wait();
      ASSERT_LE(ran.code, 1) << ran.all();
      break;
    }
    ::usleep(static_cast<useconds_t>(static_cast<double>(random() % 1000) * 1e3 * most_s));
    process.signal(SIGKILL);
    const int code = process.wait().code;
    ASSERT_TRUE(code == 128 + SIGKILL || code <= 1) << code;
    ASSERT_EQ(strays(), std::vector<std::string>()) << "after kill -9";
    const Committed now = committed(folder);
    expect_prefix(before.verdicts, now.verdicts, "verdicts");
    expect_prefix(before.journal, now.journal, "journal entries");
    expect_no_repeats(folder);
    if (::testing::Test::HasFatalFailure()) return;
    before = now;
    if (code <= 1) break;
  }
}

std::string status_of(const Folder& folder) {
  const Ran ran = hone(folder, {"show", "latest", "--archive", "archive.db", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.all();
  EXPECT_EQ(against_schema(ran.json(), "run"), "") << ran.all();
  return ran.json().value("status", "");
}

class Run : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the tool makes a search twenty times slower; search_test covers its threads";
#endif
  }
};

TEST_F(Run, SurvivesKillsAndCtrlCAndEndsInEvidence) {
  const Folder folder;
  write_mixed(folder);
  kill_and_resume(folder, "10evals", 3, 0.5, 11);
  if (HasFatalFailure()) return;
  EXPECT_EQ(status_of(folder), "interrupted");

  // Ctrl-C: a clean end that says how to go on.
  Committed before = committed(folder);
  {
    Process process(folder, resume_call());
    ASSERT_TRUE(wait_for_journal(folder, process, before.journal.size() + 1)) << process.wait().all();
    process.signal(SIGINT);
    const Ran ran = process.wait();
    EXPECT_EQ(ran.code, 130) << ran.all();
    EXPECT_NE(ran.err.find("hone optimize --resume "), std::string::npos) << ran.all();
    EXPECT_EQ(strays(), std::vector<std::string>());
    EXPECT_EQ(status_of(folder), "stopped");
  }
  Committed now = committed(folder);
  expect_prefix(before.verdicts, now.verdicts, "verdicts");
  before = now;

  const Ran end = hone(folder, resume_call());
  ASSERT_EQ(end.code, 0) << end.all();
  now = committed(folder);
  expect_prefix(before.verdicts, now.verdicts, "verdicts");
  expect_prefix(before.journal, now.journal, "journal entries");
  expect_no_repeats(folder);
  EXPECT_EQ(status_of(folder), "done");
  EXPECT_EQ(strays(), std::vector<std::string>());
  EXPECT_EQ(hone(folder, resume_call()).code, 2) << "a run that is done cannot go on";

  // Listed, shown.
  const Ran runs = hone(folder, {"runs", "--archive", "archive.db", "--json"});
  EXPECT_EQ(runs.code, 0) << runs.all();
  EXPECT_EQ(against_schema(runs.json(), "runs"), "") << runs.all();
  const Ran best = hone(folder, {"show", "latest/best", "--archive", "archive.db", "--json"});
  ASSERT_EQ(best.code, 0) << best.all();
  EXPECT_EQ(against_schema(best.json(), "candidate"), "") << best.all();
  const Ran typo = hone(folder, {"show", "lastest", "--archive", "archive.db"});
  EXPECT_EQ(typo.code, 2) << typo.all();

  // Exported, judged again; changed, refused.
  const Ran exported = hone(folder, {"export", "latest", "--archive", "archive.db", "--out", "evidence"});
  ASSERT_EQ(exported.code, 0) << exported.all();
  EXPECT_EQ(hone(folder, {"export", "latest", "--archive", "archive.db", "--out", "evidence"}).code, 2) << "never overwritten unasked";
  const Ran replayed = hone(folder, {"replay", "evidence", "--no-timing"});
  EXPECT_EQ(replayed.code, 0) << replayed.all();
  const Ran rewritten = hone(folder, {"export", "latest", "--archive", "archive.db", "--out", "evidence", "--force", "--json"});
  EXPECT_EQ(against_schema(rewritten.json(), "export"), "") << rewritten.all();
  EXPECT_EQ(rewritten.json().value("depth", ""), "verify") << rewritten.all();
  EXPECT_NE(replayed.out.find("reproduced"), std::string::npos) << replayed.all();
  const Ran kernel = hone(folder, {"verify", "evidence/task", "evidence/kernel.cpp", "--no-timing", "--no-memory-gate"});
  EXPECT_EQ(kernel.code, 0) << kernel.all();
  EXPECT_NE(end.out.find("hone optimize . candidates/mixed.cpp --budget 10evals --seed 7 --archive archive.db\n"), std::string::npos) << end.all();
  const Ran brief_json = hone(folder, {"replay", "evidence", "--no-timing", "--time-limit", "50ms", "--json"});
  EXPECT_EQ(brief_json.code, 1) << brief_json.all();
  EXPECT_EQ(against_schema(brief_json.json(), "replay"), "") << brief_json.all();
  const Ran brief = hone(folder, {"replay", "evidence", "--no-timing", "--time-limit", "50ms"});
  EXPECT_EQ(brief.code, 1) << brief.all();
  EXPECT_NE(brief.out.find("cannot be compared"), std::string::npos) << brief.all();
  EXPECT_NE(brief.out.find("time limit"), std::string::npos) << brief.all();
  for (const char* name : {"kernel.cpp", "task/reference.cpp", "verdict.json"}) {
    const std::string was = folder.read(std::string("evidence/") + name);
    folder.write(std::string("evidence/") + name, was + " ");
    const Ran tampered = hone(folder, {"replay", "evidence", "--no-timing"});
    EXPECT_EQ(tampered.code, 2) << tampered.all();
    EXPECT_NE(tampered.err.find("changed"), std::string::npos) << tampered.all();
    EXPECT_NE(tampered.err.find(name), std::string::npos) << tampered.all();
    folder.write(std::string("evidence/") + name, was);
  }
  // The task in its folder is not what the run was about any more.
  EXPECT_EQ(folder.left_behind(), std::set<std::string>());
}

TEST_F(Run, ATaskThatChangedIsNotResumed) {
  const Folder folder;
  write_mixed(folder);
  Process process(folder, optimize_call("300s"));
  ASSERT_TRUE(wait_for_journal(folder, process, 1)) << process.wait().all();

  // Another coordinator on the same archive is told who holds it; readers are not held up.
  const Ran second = hone(folder, optimize_call("4evals"));
  EXPECT_EQ(second.code, 3) << second.all();
  EXPECT_NE(second.err.find(std::to_string(process.pid())), std::string::npos) << second.all();
  EXPECT_NE(second.err.find("--archive"), std::string::npos) << second.all();
  EXPECT_EQ(status_of(folder), "running");

  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().code, 130);
  folder.write("task.toml", std::string(kTask) + "# changed\n[work]\nflops = \"N\"\n");
  const Ran resumed = hone(folder, resume_call());
  EXPECT_EQ(resumed.code, 2) << resumed.all();
  EXPECT_NE(resumed.err.find("changed"), std::string::npos) << resumed.all();
}

/// Runners are the leaves below hone: hone, jail, its first process, runners.
std::vector<pid_t> runners_below(pid_t root) {
  std::vector<pid_t> out, todo = {root};
  while (!todo.empty()) {
    const pid_t pid = todo.back();
    todo.pop_back();
    for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid), fs::directory_options::skip_permission_denied)) {
      const auto list = read_file(task.path() / "children");
      const std::string pids = list.ok() ? *list : "";
      for (const std::string_view word : words(pids)) {
        const pid_t child = static_cast<pid_t>(std::stol(std::string(word)));
        const auto command = read_file(fmt::format("/proc/{}/cmdline", child));
        if (command.ok() && command->find("hone-worker") != std::string::npos && command->ends_with(std::string("runner\0", 7)))
          out.push_back(child);
        todo.push_back(child);
      }
    }
  }
  return out;
}

TEST_F(Run, GoesOnWhenRunnersAreKilledFromOutside) {
  const Folder folder;
  write_task(folder);
  Process process(folder, {{"optimize", ".", "--budget", "3evals", "--verify-limit", "60s", "--archive", "archive.db", "--json"}, {}, 300, nullptr});
  int killed = 0;
  for (int entries = 0; entries < 3 && !process.ended(); ++entries) {
    wait_for_journal(folder, process, static_cast<std::size_t>(entries));
    for (int tries = 0; tries < 2000 && !process.ended(); ++tries) {
      std::vector<pid_t> found;
      try {
        found = runners_below(process.pid());
      } catch (const fs::filesystem_error&) {  // a process that ended meanwhile
      }
      if (!found.empty() && ::kill(found.front(), SIGKILL) == 0) {
        ++killed;
        break;
      }
      ::usleep(1000);
    }
  }
  const Ran ran = process.wait();
  EXPECT_GT(killed, 0);
  ASSERT_LE(ran.code, 1) << ran.all();  // on a busy machine a gain may not show
  const Json document = ran.json();
  EXPECT_EQ(against_schema(document, "run"), "");
  EXPECT_EQ(document.value("status", ""), "done");
  EXPECT_EQ(document.value("failed", -1), 0) << "an honest kernel was put down for what the machine did\n" << ran.all();
  EXPECT_EQ(strays(), std::vector<std::string>());
}

// Ctrl-C on a terminal goes to every process of the foreground group, the oracle and the jails among them.
TEST_F(Run, CtrlCForTheWholeGroupIsNoCrash) {
  const Folder folder;
  write_mixed(folder);
  std::size_t entries = 0;
  for (const int delay_ms : {0, 150, 700}) {
    Process process(folder, entries == 0 ? optimize_call("4evals") : resume_call());
    if (!wait_for_journal(folder, process, entries + 1)) break;  // it was done before
    ::usleep(static_cast<useconds_t>(delay_ms) * 1000);
    ASSERT_EQ(::kill(-process.pid(), SIGINT), 0);
    const Ran ran = process.wait();
    EXPECT_EQ(ran.code, 130) << ran.all();
    EXPECT_EQ(ran.err.find("crash"), std::string::npos) << ran.all();
    EXPECT_NE(ran.err.find("hone optimize --resume "), std::string::npos) << ran.all();
    EXPECT_EQ(strays(), std::vector<std::string>());
    EXPECT_EQ(status_of(folder), "stopped");
    entries = committed(folder).journal.size();
    expect_no_repeats(folder);
  }
  EXPECT_GT(entries, 0u);
  for (const std::string& verdict : committed(folder).verdicts)
    EXPECT_EQ(verdict.find("SIGINT"), std::string::npos) << verdict;
  const Ran end = hone(folder, resume_call());
  EXPECT_LE(end.code, 1) << end.all();
  EXPECT_EQ(status_of(folder), "done");
}

TEST_F(Run, AFinalistThatCannotBeVerifiedInTimeIsUndecided) {
  const Folder folder;
  write_task(folder);
  const Ran ran = hone(folder, {"optimize", ".", "--budget", "2evals", "--verify-limit", "20ms", "--archive", "archive.db"});
  EXPECT_EQ(ran.code, 1) << ran.all();
  EXPECT_NE(ran.out.find("undecided"), std::string::npos) << ran.all();
  EXPECT_NE(ran.out.find("out_of_time"), std::string::npos) << ran.all();
  const Ran shown = hone(folder, {"show", "latest", "--archive", "archive.db", "--json"});
  EXPECT_EQ(against_schema(shown.json(), "run"), "") << shown.all();
  const Json undecided = shown.json()["undecided"];
  ASSERT_EQ(undecided.size(), 1u) << "the other finalist has no time left either\n" << shown.all();
  EXPECT_EQ(undecided[0]["depth"], "verify");
  EXPECT_EQ(undecided[0]["class"], "undecided");
  EXPECT_FALSE(undecided[0]["correct"]);
  EXPECT_EQ(strays(), std::vector<std::string>());
}

// ---- long ----

TEST(RunLongTest, ManyKillsLoseNothing) {
  const Folder folder;
  write_mixed(folder);
  kill_and_resume(folder, "40evals", 40, 1.0, 12);
  if (HasFatalFailure()) return;
  const Ran end = hone(folder, resume_call());
  ASSERT_TRUE(end.code <= 2) << end.all();
  expect_no_repeats(folder);
  EXPECT_EQ(status_of(folder), "done");
}

TEST(RunLongTest, KillsBeforeTheFirstJudgementLoseNothing) {
  std::mt19937_64 random(13);
  const Folder folder;
  write_mixed(folder);
  for (int i = 0; i < 15; ++i) {
    Process process(folder, optimize_call("3evals"));
    ::usleep(static_cast<useconds_t>(random() % 2'000'000));
    process.signal(SIGKILL);
    process.wait();
    ASSERT_EQ(strays(), std::vector<std::string>());
  }
  const Ran end = hone(folder, optimize_call("3evals"));
  EXPECT_LE(end.code, 1) << end.all();
  EXPECT_TRUE(reader(folder).check().ok());
}

}  // namespace
}  // namespace hone::e2e
