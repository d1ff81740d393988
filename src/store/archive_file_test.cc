// What befalls the file: a second writer, readers meanwhile, full disks, read-only folders, damage, migrations,
// a writer killed at any instant.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <thread>

#include "base/files.h"
#include "store/archive.h"
#include "store/inner.h"

namespace hone::store {
namespace {

RunStart start_of(const std::string& name) {
  RunStart start;
  start.task_name = name;
  start.task_text = "text of " + name;
  return start;
}

judge::Verdict verdict_of(std::int64_t i) {
  judge::Verdict v;
  v.correct = i % 3 != 0;
  if (!v.correct) v.failure = candidate::Failure{"correctness", "wrong_value", "off", Json::object()};
  v.total_ms = static_cast<double>(i);
  judge::Speed s;
  s.case_label = "N=1";
  s.samples = {{"slots", std::vector<double>(40, 1.0 / static_cast<double>(i + 1))}};
  v.speeds = {s};
  return v;
}

NewCandidate candidate_of(std::int64_t i) {
  NewCandidate c;
  c.source = "// source " + std::to_string(i) + "\n";
  return c;
}

/// Runs `body` in a child whose exit status is its answer; failures there print to stderr.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class ArchiveFile : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("hone-archive-test");
    ASSERT_TRUE(made.ok());
    folder_.emplace(std::move(*made));
    file_ = folder_->path() / "runs" / "archive.db";
  }
  Archive writer() {
    auto archive = Archive::open_writer(file_);
    EXPECT_TRUE(archive.ok()) << archive.error().text();
    return std::move(*archive);
  }
  /// A closed archive with one run of `count` verdicts.
  std::string filled(std::int64_t count) {
    Archive archive = writer();
    const auto run = archive.begin_run(start_of("filled"));
    EXPECT_TRUE(archive.transaction([&]() -> Status {
      for (std::int64_t i = 0; i < count; ++i) {
        HONE_TRY(const std::int64_t number, archive.add_candidate(*run, candidate_of(i)));
        HONE_TRY(const std::int64_t id, archive.add_verdict(*run, number, verdict_of(i)));
        EXPECT_EQ(id, i + 1);
      }
      return {};
    }).ok());
    EXPECT_TRUE(archive.set_status(*run, RunStatus::done).ok());
    return *run;
  }
  std::optional<TemporaryFolder> folder_;
  std::filesystem::path file_;
};

TEST_F(ArchiveFile, ASecondWriterIsToldWhoHoldsIt) {
  Archive first = writer();
  const auto second = Archive::open_writer(file_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(exit_code(second.error()), 3);
  const std::string text = second.error().text(), pid = std::to_string(::getpid());
  EXPECT_NE(text.find("process " + pid), std::string::npos) << text;
  EXPECT_NE(text.find("store_test"), std::string::npos) << text;
  EXPECT_NE(text.find("kill -INT " + pid), std::string::npos) << text;
  EXPECT_NE(text.find("HONE_ARCHIVE"), std::string::npos) << text;
  { Archive gone = std::move(first); }
  EXPECT_TRUE(Archive::open_writer(file_).ok());
}

TEST_F(ArchiveFile, ReadersSeeWhatIsCommittedAndNeverBlockTheWriter) {
  Archive archive = writer();
  const auto run = archive.begin_run(start_of("a"));
  ASSERT_TRUE(run.ok());
  auto reader = Archive::open_reader(file_);
  ASSERT_TRUE(reader.ok()) << reader.error().text();
  EXPECT_EQ(reader->run(*run)->status, RunStatus::running);
  Status inside = archive.transaction([&]() -> Status {
    HONE_TRY(const std::int64_t number, archive.add_candidate(*run, candidate_of(1)));
    EXPECT_EQ(reader->candidates(*run)->size(), 0u) << "not committed yet";
    HONE_TRY(const std::int64_t id, archive.add_verdict(*run, number, verdict_of(1)));
    EXPECT_EQ(id, 1);
    return {};
  });
  ASSERT_TRUE(inside.ok()) << inside.error().text();
  EXPECT_EQ(reader->evaluations(*run)->size(), 1u);
  // A reader in the middle of a query does not stop a commit.
  const Database& db = Archive::Inner::of(*reader).database;
  auto open_query = db.prepare("SELECT key FROM texts");
  ASSERT_TRUE(open_query.ok() && open_query->step().ok());
  ASSERT_TRUE(archive.add_verdict(*run, 1, verdict_of(2)).ok());
}

TEST_F(ArchiveFile, AReaderCannotWrite) {
  const std::string run = filled(1);
  auto reader = Archive::open_reader(file_);
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(reader->add_message(run, "info", "x").ok());
  EXPECT_FALSE(Archive::Inner::of(*reader).database.script("CREATE TABLE x (a)").ok());
}

TEST_F(ArchiveFile, ARunWhoseWriterDiedReadsInterruptedAndCanGoOn) {
  std::string run;
  const int rc = in_child([&] {
    auto archive = Archive::open_writer(file_);
    if (!archive.ok() || !archive->begin_run(start_of("killed")).ok()) return 1;
    ::raise(SIGKILL);
    return 2;
  });
  ASSERT_EQ(rc, 128 + SIGKILL);
  {
    auto reader = Archive::open_reader(file_);
    ASSERT_TRUE(reader.ok()) << reader.error().text();
    run = *reader->find_run("latest");
    EXPECT_EQ(reader->run(run)->status, RunStatus::interrupted);
    EXPECT_EQ(reader->runs()->front().status, RunStatus::interrupted);
  }
  Archive archive = writer();
  EXPECT_EQ(archive.run(run)->status, RunStatus::interrupted) << "another writer does not make it alive";
  ASSERT_TRUE(archive.set_status(run, RunStatus::running, "resumed").ok());
  EXPECT_EQ(archive.run(run)->status, RunStatus::running);
  EXPECT_EQ(Archive::open_reader(file_)->run(run)->status, RunStatus::running);
}

// The child prints the id of each verdict after it is acknowledged; whatever was printed must be there afterwards.
TEST_F(ArchiveFile, KilledAtAnyInstantNoAcknowledgedVerdictIsLost) {
  std::mt19937 random(20261130);
  std::int64_t before = 0;
  for (int round = 0; round < 25; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipe_ends[0]);
      auto archive = Archive::open_writer(file_);
      if (!archive.ok()) ::_exit(1);
      const auto run = archive->begin_run(start_of("round"));
      if (!run.ok()) ::_exit(2);
      for (std::int64_t i = 0;; ++i) {
        std::int64_t id = 0;
        const Status done = archive->transaction([&]() -> Status {
          HONE_TRY(const std::int64_t number, archive->add_candidate(*run, candidate_of(i)));
          HONE_TRY(id, archive->add_verdict(*run, number, verdict_of(i)));
          HONE_TRY(const std::int64_t sequence, archive->append_journal(*run, {{"evaluation", id}}));
          return sequence == i + 1 ? Status() : Status(bug_error("a gap in the journal"));
        });
        if (!done.ok()) ::_exit(3);
        if (::write(pipe_ends[1], &id, sizeof id) != sizeof id) ::_exit(4);
      }
    }
    ::close(pipe_ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 40000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself with " << WEXITSTATUS(status);
    std::int64_t id = 0, last = before;
    while (::read(pipe_ends[0], &id, sizeof id) == sizeof id) last = id;
    ::close(pipe_ends[0]);
    if (round == 0 && last == 0) continue;  // killed before the file was there
    Archive archive = writer();
    ASSERT_TRUE(archive.check().ok()) << archive.check().error().text();
    const Database& db = Archive::Inner::of(archive).database;
    const std::int64_t kept = *db.integer("SELECT ifnull(max(id), 0) FROM evaluations");
    EXPECT_GE(kept, last) << "round " << round;
    EXPECT_LE(kept, last + 1) << "at most the one that was in flight";
    EXPECT_EQ(*db.integer("SELECT count(*) FROM evaluations"), kept);
    EXPECT_EQ(*db.integer("SELECT count(*) FROM verdicts"), kept);
    EXPECT_EQ(*db.integer("SELECT count(*) FROM journal"), kept);
    before = kept;
  }
  EXPECT_GT(before, 0);
}

TEST_F(ArchiveFile, AFullArchiveIsAClearErrorAndKeepsWhatItHas) {
  Archive archive = writer();
  const auto run = archive.begin_run(start_of("full"));
  ASSERT_TRUE(run.ok());
  const Database& db = Archive::Inner::of(archive).database;
  const std::int64_t pages = *db.integer("PRAGMA page_count");
  // SQLite's own limit stands for the disk's: the code it answers with is the one of ENOSPC.
  ASSERT_EQ(*db.integer("PRAGMA max_page_count = " + std::to_string(pages + 20)), pages + 20);
  std::int64_t kept = 0;
  Status failed;
  for (std::int64_t i = 0; failed.ok() && i < 1000; ++i) {
    failed = archive.transaction([&]() -> Status {
      HONE_TRY(const std::int64_t number, archive.add_candidate(*run, candidate_of(i)));
      HONE_TRY(const std::int64_t id, archive.add_verdict(*run, number, verdict_of(i)));
      return id > 0 ? Status() : Status(bug_error("no id"));
    });
    if (failed.ok()) ++kept;
  }
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(exit_code(failed.error()), 3);
  EXPECT_NE(failed.error().message.find("full"), std::string::npos) << failed.error().text();
  EXPECT_NE(failed.error().text().find("Free some space"), std::string::npos);
  EXPECT_EQ(archive.evaluations(*run)->size(), static_cast<std::size_t>(kept));
  ASSERT_GT(*db.integer("PRAGMA max_page_count = 1000000"), 0);
  EXPECT_TRUE(archive.add_candidate(*run, candidate_of(5000)).ok()) << "goes on once there is space";
  EXPECT_TRUE(archive.check().ok());
}

TEST_F(ArchiveFile, AFileSizeLimitIsAClearErrorToo) {
  filled(10);
  const auto size = static_cast<rlim_t>(std::filesystem::file_size(file_));
  EXPECT_EQ(in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{size / 2, size / 2};
    auto archive = Archive::open_writer(file_);
    if (!archive.ok() || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto run = archive->find_run("latest");
    for (std::int64_t i = 0; i < 1000; ++i) {
      const auto added = archive->add_candidate(*run, candidate_of(i + 100));
      if (added.ok()) continue;
      const std::string text = added.error().text();
      return text.find("cannot be read or written") != std::string::npos && text.find("ulimit -f") != std::string::npos &&
             exit_code(added.error()) == 3 ? 0 : 2;
    }
    return 3;
  }), 0);
  EXPECT_TRUE(writer().check().ok());
}

TEST_F(ArchiveFile, AReadOnlyFolderIsAClearErrorToWriteAndCanBeRead) {
  const std::string run = filled(3);
  const std::filesystem::path folder = file_.parent_path();
  ::chmod(folder_->path().c_str(), 0755);
  ::chmod(folder.c_str(), 0555);
  const auto as_stranger = [&](const std::function<int()>& body) {
    return in_child([&] {
      // Modes do not bind root.
      if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 90;
      return body();
    });
  };
  EXPECT_EQ(as_stranger([&] {
    const auto archive = Archive::open_writer(file_);
    if (archive.ok()) return 1;
    const std::string text = archive.error().text();
    if (text.find("read-only") == std::string::npos && text.find("ermission") == std::string::npos) return 2;
    return text.find("HONE_ARCHIVE") != std::string::npos && exit_code(archive.error()) == 3 ? 0 : 3;
  }), 0);
  EXPECT_EQ(as_stranger([&] {
    const auto archive = Archive::open_reader(file_);
    if (!archive.ok()) return 1;
    const auto rows = archive->evaluations(run);
    return rows.ok() && rows->size() == 3 ? 0 : 2;
  }), 0);
  EXPECT_EQ(as_stranger([&] {
    const auto archive = Archive::open_writer(folder / "new" / "archive.db");
    return !archive.ok() && archive.error().text().find("HONE_ARCHIVE") != std::string::npos ? 0 : 1;
  }), 0);
  // While a writer is at work, a reader who may write nothing reads along.
  ::chmod(folder.c_str(), 0755);
  Archive live = writer();
  ASSERT_TRUE(live.add_verdict(run, 1, verdict_of(7)).ok());
  EXPECT_EQ(as_stranger([&] {
    const auto archive = Archive::open_reader(file_);
    if (!archive.ok()) return 1;
    const auto rows = archive->evaluations(run);
    return rows.ok() && rows->size() == 4 ? 0 : 2;
  }), 0);
}

TEST_F(ArchiveFile, ACutOffFileIsToldAsDamaged) {
  filled(200);
  const auto size = std::filesystem::file_size(file_);
  const auto whole = read_file(file_);
  ASSERT_TRUE(whole.ok());
  for (const std::uintmax_t cut : {std::uintmax_t{50}, std::uintmax_t{100}, size / 3, size - 1}) {
    ASSERT_TRUE(write_file(file_, std::string_view(*whole).substr(0, cut)).ok());
    for (const auto& opened : {Archive::open_reader(file_).ok(), Archive::open_writer(file_).ok()})
      EXPECT_FALSE(opened) << cut;
    const auto reader = Archive::open_reader(file_);
    EXPECT_NE(reader.error().message.find("cut off"), std::string::npos) << reader.error().text();
    EXPECT_NE(reader.error().cure.find(".recover"), std::string::npos);
    EXPECT_EQ(exit_code(reader.error()), 3);
    EXPECT_EQ(std::filesystem::file_size(file_), cut) << "it was changed";
  }
}

TEST_F(ArchiveFile, BytesOverwrittenInTheMiddleAreFound) {
  filled(200);
  {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 10; page < 40; ++page) {
      file.seekp(page * 4096);
      file << std::string(600, '\x7f');
    }
  }
  auto archive = Archive::open_writer(file_);
  const Status checked = archive.ok() ? archive->check() : Status(archive.error());
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("damaged"), std::string::npos) << checked.error().text();
}

TEST_F(ArchiveFile, ALogCutOffInFlightLosesOnlyWhatWasNotAcknowledged) {
  // The writer dies with its log beside the file; then the log's last bytes are lost, as when a disk was pulled.
  ASSERT_EQ(in_child([&] {
    auto archive = Archive::open_writer(file_);
    const auto run = archive->begin_run(start_of("log"));
    for (std::int64_t i = 0; i < 20; ++i)
      if (!archive->add_candidate(*run, candidate_of(i)).ok() || !archive->add_verdict(*run, i + 1, verdict_of(i)).ok()) return 1;
    ::raise(SIGKILL);
    return 2;
  }), 128 + SIGKILL);
  const std::filesystem::path log = file_.string() + "-wal";
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 100);
  Archive archive = writer();
  EXPECT_TRUE(archive.check().ok());
  EXPECT_EQ(archive.evaluations(*archive.find_run("latest"))->size(), 19u);
}

TEST_F(ArchiveFile, ForeignFilesAreRefusedAndLeftAsTheyAre) {
  ASSERT_TRUE(make_folder(file_.parent_path()).ok());
  ASSERT_TRUE(write_file(file_, "PK\x03\x04 this is no database, but longer than a header " + std::string(200, 'x')).ok());
  for (const bool write : {false, true}) {
    const auto opened = write ? Archive::open_writer(file_) : Archive::open_reader(file_);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find("not an SQLite file"), std::string::npos) << opened.error().text();
  }
  for (const char* sql : {"CREATE TABLE bookmarks (a); PRAGMA user_version = 2", "PRAGMA application_id = 77; CREATE TABLE t (a)"}) {
    std::filesystem::remove(file_);
    {
      auto other = Database::open(file_, Database::Access::write);
      ASSERT_TRUE(other.ok() && other->script(sql).ok());
    }
    const auto before = read_file(file_);
    for (const bool write : {false, true}) {
      const auto opened = write ? Archive::open_writer(file_) : Archive::open_reader(file_);
      ASSERT_FALSE(opened.ok());
      EXPECT_NE(opened.error().message.find("another program"), std::string::npos) << opened.error().text();
      EXPECT_NE(opened.error().cure.find("HONE_ARCHIVE"), std::string::npos);
    }
    EXPECT_EQ(*read_file(file_), *before);
  }
}

TEST_F(ArchiveFile, ANewerSchemaIsRefused) {
  filled(1);
  {
    auto raw = Database::open(file_, Database::Access::write);
    ASSERT_TRUE(raw->script("PRAGMA user_version = 999").ok());
  }
  for (const bool write : {false, true}) {
    const auto opened = write ? Archive::open_writer(file_) : Archive::open_reader(file_);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find("schema 999"), std::string::npos) << opened.error().text();
    EXPECT_NE(opened.error().cure.find("newer Hone"), std::string::npos);
  }
}

TEST_F(ArchiveFile, AMissingOrEmptyOneSaysHowToBegin) {
  const auto missing = Archive::open_reader(file_);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(exit_code(missing.error()), 2);
  EXPECT_NE(missing.error().text().find("hone optimize"), std::string::npos);
  ASSERT_TRUE(make_folder(file_.parent_path()).ok() && write_file(file_, "").ok());
  EXPECT_FALSE(Archive::open_reader(file_).ok());
  EXPECT_TRUE(Archive::open_writer(file_).ok());
  const auto folder = Archive::open_reader(file_.parent_path());
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find("is not a file"), std::string::npos);
}

// tests/golden/store/v1.sql is a dump of a file of schema 1 with one run, as the first version wrote it.
TEST_F(ArchiveFile, ASchemaOneFileIsBroughtUpToDate) {
  const auto sql = read_file(std::filesystem::path(HONE_SOURCE_DIR) / "tests/golden/store/v1.sql");
  ASSERT_TRUE(sql.ok()) << sql.error().text();
  ASSERT_TRUE(make_folder(file_.parent_path()).ok());
  for (const bool write : {true, false}) {
    std::filesystem::remove(file_);
    {
      auto raw = Database::open(file_, Database::Access::write);
      ASSERT_TRUE(raw.ok());
      ASSERT_TRUE(raw->script(*sql).ok()) << raw->error().text();
    }
    auto archive = write ? Archive::open_writer(file_) : Archive::open_reader(file_);
    ASSERT_TRUE(archive.ok()) << archive.error().text();
    EXPECT_EQ(*Archive::Inner::of(*archive).database.integer("PRAGMA user_version"), newest_schema());
    const auto run = archive->find_run("2026-11-30-softmax-3f2a");
    ASSERT_TRUE(run.ok()) << run.error().text();
    const auto summary = archive->summary(*run);
    ASSERT_TRUE(summary.ok()) << summary.error().text();
    // The dump holds three candidates: one verified faster (lower bound 1.9), one with a wrong value, one slower.
    EXPECT_EQ(summary->tried, 3);
    EXPECT_EQ(summary->failed, 1);
    ASSERT_TRUE(summary->best.has_value());
    EXPECT_DOUBLE_EQ(summary->best->low, 1.9);
    EXPECT_EQ(summary->run.seed, 7u);
    EXPECT_EQ(archive->journal(*run)->size(), 2u);
    const auto verdict = archive->verdict(summary->best->id, true);
    ASSERT_TRUE(verdict.ok()) << verdict.error().text();
    EXPECT_EQ(verdict->speeds[0].samples["slots"].size(), 3u);
    EXPECT_TRUE(archive->check().ok()) << archive->check().error().text();
  }
}

TEST_F(ArchiveFile, AnOlderFileHeldByAWriterSaysWhyItCannotBeRead) {
  ASSERT_TRUE(make_folder(file_.parent_path()).ok());
  {
    auto raw = Database::open(file_, Database::Access::write);
    ASSERT_TRUE(raw->script(*read_file(std::filesystem::path(HONE_SOURCE_DIR) / "tests/golden/store/v1.sql")).ok());
  }
  auto lock = WriterLock::take(file_);
  ASSERT_TRUE(lock.ok());
  const auto reader = Archive::open_reader(file_);
  ASSERT_FALSE(reader.ok());
  EXPECT_NE(reader.error().message.find("older schema 1"), std::string::npos) << reader.error().text();
  EXPECT_NE(reader.error().message.find(std::to_string(::getpid())), std::string::npos);
}

}  // namespace
}  // namespace hone::store
