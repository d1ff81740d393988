#include "store/archive.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "store/inner.h"

namespace hone::store {
namespace {

constexpr int kIdTries = 64;
constexpr std::size_t kIdNameLength = 24;

// UTF-8 that is not valid would make dump() throw; a candidate's texts are anybody's bytes.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string new_run_id(const std::string& task_name, std::int64_t now_s) {
  const auto now = static_cast<std::time_t>(now_s);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::string name;
  for (const char c : task_name) {
    if (name.size() == kIdNameLength) break;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    name += plain ? c : '_';
  }
  if (name.empty()) name = "run";
  return fmt::format("{:04}-{:02}-{:02}-{}-{:04x}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, name,
                     entropy64() & 0xffff);
}

Status settle(const Database& database, bool writer) {
  // FULL: in WAL mode each commit is synced before it is acknowledged.
  if (writer) HONE_CHECK(database.script("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864"));
  return database.script("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA trusted_schema = OFF");
}

Status use_log(const Database& database) {
  HONE_TRY(Statement mode, database.prepare("PRAGMA journal_mode = WAL"));
  HONE_TRY(const bool row, mode.step());
  if (row && mode.text(0) == "wal") return {};
  return environment_error("the file system of " + database.file().string() + " has no shared memory for SQLite's log",
                           "Name a place on a local disk with HONE_ARCHIVE or --archive");
}

// A geometric mean over the cases that were timed; 0 when none was.
double mean_ns(const judge::Verdict& verdict, double judge::Speed::*field) {
  double sum = 0;
  int count = 0;
  for (const judge::Speed& speed : verdict.speeds)
    if (speed.answer != judge::Answer::invalid && speed.*field > 0) {
      sum += std::log(speed.*field);
      ++count;
    }
  return count == 0 ? 0 : std::exp(sum / count);
}

}  // namespace

const char* name_of(RunStatus status) {
  switch (status) {
    case RunStatus::running: return "running";
    case RunStatus::done: return "done";
    case RunStatus::stopped: return "stopped";
    case RunStatus::failed: return "failed";
    case RunStatus::interrupted: return "interrupted";
  }
  return "?";
}

std::filesystem::path default_archive() {
  if (const char* own = std::getenv("HONE_ARCHIVE"); own && *own) return own;
  return std::filesystem::path("hone-runs") / "archive.db";
}

Archive::Archive(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
Archive::Archive(Archive&&) noexcept = default;
Archive& Archive::operator=(Archive&&) noexcept = default;
Archive::~Archive() = default;
const std::filesystem::path& Archive::file() const { return inner_->file; }

Result<Archive> Archive::open_writer(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (const Status made = make_folder(folder); !made.ok()) {
    Error error = made.error();
    error.cure = "Name another place for the archive with HONE_ARCHIVE or --archive";
    return error;
  }
  HONE_CHECK(inspect_file(file));
  auto inner = std::make_unique<Inner>();
  inner->file = file;
  HONE_TRY(inner->lock, WriterLock::take(file));
  inner->token = inner->lock->token();
  HONE_TRY(inner->database, Database::open(file, Database::Access::write));
  // Before anything is written: a foreign file must stay as it is.
  HONE_TRY(const std::int64_t version, schema_version(inner->database));
  (void)version;
  if (inner->database.is_read_only())
    return environment_error("the archive " + file.string() + " is read-only",
                             "Make it writable, or name another with HONE_ARCHIVE or --archive");
  HONE_CHECK(use_log(inner->database));
  HONE_CHECK(settle(inner->database, true));
  HONE_CHECK(migrate(inner->database));
  return Archive(std::move(inner));
}

Result<Archive> Archive::open_reader(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return usage_error(fmt::format("there is no archive at {}{}", file.string(), error ? ": " + error.message() : ""),
                       "`hone optimize` starts one there; HONE_ARCHIVE or --archive names another");
  HONE_CHECK(inspect_file(file));
  auto inner = std::make_unique<Inner>();
  inner->file = file;
  HONE_TRY(inner->database, Database::open(file, Database::Access::read));
  HONE_TRY(const std::int64_t version, schema_version(inner->database));
  if (version == 0)
    return usage_error(fmt::format("the archive {} is empty", file.string()), "`hone optimize` fills it");
  if (version < newest_schema()) {
    // Reading an older file would need older queries; a writer's opening makes it new.
    inner.reset();
    const auto writer = open_writer(file);
    if (!writer.ok()) {
      Error wrapped = writer.error();
      wrapped.message = fmt::format("the archive {} has the older schema {} and cannot be brought up to {}: {}",
                                    file.string(), version, newest_schema(), wrapped.message);
      return wrapped;
    }
    inner = std::make_unique<Inner>();
    inner->file = file;
    HONE_TRY(inner->database, Database::open(file, Database::Access::read));
  }
  HONE_CHECK(settle(inner->database, false));
  return Archive(std::move(inner));
}

Result<Archive> Archive::in_memory() {
  auto inner = std::make_unique<Inner>();
  inner->file = ":memory:";
  inner->token = fmt::format("{:016x}", entropy64());
  HONE_TRY(inner->database, Database::open(inner->file, Database::Access::memory));
  HONE_CHECK(settle(inner->database, true));
  HONE_CHECK(migrate(inner->database));
  return Archive(std::move(inner));
}

Status Archive::Inner::atomically(bool synced, const std::function<Status()>& body) {
  if (token.empty()) return bug_error("a reader of the archive tried to write");
  const bool outer = depth == 0;
  if (outer && !synced) HONE_CHECK(database.script("PRAGMA synchronous = NORMAL"));
  Status done = database.script(outer ? "BEGIN IMMEDIATE" : "SAVEPOINT part");
  if (done.ok()) {
    ++depth;
    done = body();
    --depth;
    if (done.ok()) done = database.script(outer ? "COMMIT" : "RELEASE part");
    // A full disk makes SQLite roll back by itself; then there is nothing to take back.
    if (!done.ok() && database.in_transaction()) {
      const Status back = database.script(outer ? "ROLLBACK" : "ROLLBACK TO part; RELEASE part");
      if (!back.ok()) done = std::move(done).error().with("rollback", back.error().message);
    }
  }
  if (outer && !synced)
    if (Status full = database.script("PRAGMA synchronous = FULL"); done.ok()) done = std::move(full);
  return done;
}

Result<std::int64_t> Archive::Inner::run_key(const std::string& id) const {
  HONE_TRY(Statement statement, database.prepare("SELECT key FROM runs WHERE id = ?", id));
  HONE_TRY(const bool found, statement.step());
  if (!found) return usage_error("the archive " + file.string() + " holds no run '" + id + "'", "`hone runs` lists them");
  return statement.integer(0);
}

Result<std::int64_t> Archive::Inner::candidate_key(std::int64_t run, std::int64_t number) const {
  HONE_TRY(Statement statement,
           database.prepare("SELECT key FROM candidates WHERE run = ? AND number = ?", run, number));
  HONE_TRY(const bool found, statement.step());
  if (!found) return usage_error(fmt::format("the run holds no candidate {}", number), "`hone show RUN` lists them");
  return statement.integer(0);
}

Result<std::int64_t> Archive::Inner::text_key(std::string_view text) {
  const std::string hash = identity_hash(text);
  HONE_TRY(Statement known, database.prepare("SELECT key FROM texts WHERE hash = ?", hash));
  HONE_TRY(const bool found, known.step());
  if (found) return known.integer(0);
  HONE_CHECK(database.execute("INSERT INTO texts (hash, text) VALUES (?, ?)", hash, Blob{text}));
  return database.last_id();
}

Status Archive::transaction(const std::function<Status()>& body) { return inner_->atomically(true, body); }

Result<std::string> Archive::begin_run(const RunStart& start) {
  std::string id;
  const Status done = inner_->atomically(true, [&]() -> Status {
    const Database& db = inner_->database;
    const std::int64_t now = wall_clock_s();
    HONE_TRY(const std::int64_t text, inner_->text_key(start.task_text));
    for (int tries = 0;; ++tries) {
      id = new_run_id(start.task_name, now);
      HONE_TRY(Statement taken, db.prepare("SELECT 1 FROM runs WHERE id = ?", id));
      HONE_TRY(const bool found, taken.step());
      if (!found) break;
      if (tries == kIdTries) return environment_error("no free run id for today", "Begin another archive with HONE_ARCHIVE");
    }
    HONE_CHECK(db.execute("INSERT INTO runs (id, task_name, task_identity, task_folder, task_text, options, seed, device, "
                          "versions, command, started_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                          id, start.task_name, start.task_identity, start.task_folder, text, dump(start.options),
                          static_cast<std::int64_t>(start.seed), dump(start.device), dump(start.versions), start.command, now));
    return set_status(id, RunStatus::running);
  });
  if (!done.ok()) return done.error();
  return id;
}

Status Archive::set_status(const std::string& run, RunStatus status, const std::string& note) {
  if (status == RunStatus::interrupted) return bug_error("'interrupted' is concluded, never written");
  return inner_->atomically(true, [&]() -> Status {
    HONE_TRY(const std::int64_t key, inner_->run_key(run));
    return inner_->database.execute("INSERT INTO run_events (run, at_s, status, note, writer) VALUES (?, ?, ?, ?, ?)", key,
                                    wall_clock_s(), std::string(name_of(status)), note, inner_->token);
  });
}

Result<std::int64_t> Archive::add_candidate(const std::string& run, const NewCandidate& c) {
  std::int64_t number = 0;
  const Status done = inner_->atomically(false, [&]() -> Status {
    const Database& db = inner_->database;
    HONE_TRY(const std::int64_t key, inner_->run_key(run));
    if (!c.source_identity.empty()) {
      HONE_TRY(Statement known, db.prepare("SELECT number FROM candidates WHERE run = ? AND source_identity = ? "
                                           "AND source_identity <> ''", key, c.source_identity));
      HONE_TRY(const bool found, known.step());
      if (found) {
        number = known.integer(0);
        return {};
      }
    }
    HONE_TRY(const std::int64_t source, inner_->text_key(c.source));
    HONE_TRY(Statement last, db.prepare("SELECT ifnull(max(number), 0) + 1 FROM candidates WHERE run = ?", key));
    HONE_TRY(const bool row, last.step());
    (void)row;
    number = last.integer(0);
    return db.execute("INSERT INTO candidates (run, number, source, lane, path, assignment, proposer, parent, note, "
                      "source_identity, at_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      key, number, source, c.lane, c.path, dump(Json(c.assignment)), c.provenance.proposer,
                      c.provenance.parent, c.provenance.note, c.source_identity, wall_clock_s());
  });
  if (!done.ok()) return done.error();
  return number;
}

Result<std::int64_t> Archive::add_verdict(const std::string& run, std::int64_t candidate, const judge::Verdict& v) {
  std::int64_t id = 0;
  const Status done = inner_->atomically(true, [&]() -> Status {
    const Database& db = inner_->database;
    HONE_TRY(const std::int64_t key, inner_->run_key(run));
    HONE_TRY(const std::int64_t candidate_key, inner_->candidate_key(key, candidate));
    HONE_CHECK(db.execute(
        "INSERT INTO evaluations (run, candidate, number, depth, correct, class, answer, ratio, low, high, candidate_ns, "
        "baseline_ns, identity, code_hash, gate, reason, total_ms, at_s) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        key, candidate_key, candidate, std::string(judge::name_of(v.depth)), std::int64_t{v.correct},
        std::string(judge::name_of(v.cls)), std::string(judge::name_of(v.answer)), v.geomean, v.geomean_low,
        v.geomean_high, mean_ns(v, &judge::Speed::candidate_ns), mean_ns(v, &judge::Speed::baseline_ns), v.identity,
        v.machine_code_hash, v.failure ? v.failure->gate : std::string(), v.failure ? v.failure->reason : std::string(),
        v.total_ms, wall_clock_s()));
    id = db.last_id();
    HONE_CHECK(db.execute("INSERT INTO verdicts (evaluation, json) VALUES (?, ?)", id, dump(judge::to_json(v))));
    for (std::size_t i = 0; i < v.speeds.size(); ++i) {
      if (v.speeds[i].samples.empty()) continue;
      const std::vector<std::uint8_t> bytes = Json::to_cbor(v.speeds[i].samples);
      HONE_CHECK(db.execute("INSERT INTO samples (evaluation, speed, cbor) VALUES (?, ?, ?)", id,
                            static_cast<std::int64_t>(i),
                            Blob{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}}));
    }
    return {};
  });
  if (!done.ok()) return done.error();
  return id;
}

Result<std::int64_t> Archive::append_journal(const std::string& run, const Json& entry) {
  std::int64_t sequence = 0;
  const Status done = inner_->atomically(true, [&]() -> Status {
    HONE_TRY(const std::int64_t key, inner_->run_key(run));
    HONE_TRY(Statement last,
             inner_->database.prepare("SELECT ifnull(max(sequence), 0) + 1 FROM journal WHERE run = ?", key));
    HONE_TRY(const bool row, last.step());
    (void)row;
    sequence = last.integer(0);
    return inner_->database.execute("INSERT INTO journal (run, sequence, entry) VALUES (?, ?, ?)", key, sequence,
                                    dump(entry));
  });
  if (!done.ok()) return done.error();
  return sequence;
}

Status Archive::save_state(const std::string& run, const std::string& proposer, std::int64_t sequence,
                           const Json& state) {
  return inner_->atomically(false, [&]() -> Status {
    HONE_TRY(const std::int64_t key, inner_->run_key(run));
    return inner_->database.execute(
        "INSERT INTO states (run, proposer, sequence, state) VALUES (?, ?, ?, ?) ON CONFLICT (run, proposer) DO UPDATE "
        "SET sequence = excluded.sequence, state = excluded.state",
        key, proposer, sequence, dump(state));
  });
}

Status Archive::add_message(const std::string& run, const std::string& level, const std::string& text) {
  return inner_->atomically(false, [&]() -> Status {
    HONE_TRY(const std::int64_t key, inner_->run_key(run));
    return inner_->database.execute("INSERT INTO messages (run, at_s, level, text) VALUES (?, ?, ?, ?)", key,
                                    wall_clock_s(), level, text);
  });
}

}  // namespace hone::store
