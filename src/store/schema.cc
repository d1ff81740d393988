#include "store/schema.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace hone::store {
namespace {

// A migration, once released, is never edited: files written by it exist. A change is a new entry.

// Wide texts (verdicts, samples) lie in tables of their own, so that a scan over evaluations stays small.
constexpr const char* kFirst = R"sql(
CREATE TABLE texts (
  key INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text BLOB NOT NULL
);
CREATE TABLE runs (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  task_name TEXT NOT NULL,
  task_identity TEXT NOT NULL,
  task_folder TEXT NOT NULL,
  task_text INTEGER NOT NULL REFERENCES texts(key),
  options TEXT NOT NULL,
  seed INTEGER NOT NULL,
  device TEXT NOT NULL,
  versions TEXT NOT NULL,
  command TEXT NOT NULL,
  started_s INTEGER NOT NULL
);
CREATE TABLE run_events (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(key),
  at_s INTEGER NOT NULL,
  status TEXT NOT NULL,
  note TEXT NOT NULL,
  writer TEXT NOT NULL
);
CREATE INDEX run_events_by_run ON run_events(run, key);
CREATE TABLE messages (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(key),
  at_s INTEGER NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX messages_by_run ON messages(run, key);
CREATE TABLE candidates (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(key),
  number INTEGER NOT NULL,
  source INTEGER NOT NULL REFERENCES texts(key),
  lane TEXT NOT NULL,
  path TEXT NOT NULL,
  assignment TEXT NOT NULL,
  proposer TEXT NOT NULL,
  parent TEXT NOT NULL,
  note TEXT NOT NULL,
  source_identity TEXT NOT NULL,
  at_s INTEGER NOT NULL,
  UNIQUE (run, number)
);
CREATE UNIQUE INDEX candidates_by_identity ON candidates(run, source_identity) WHERE source_identity <> '';
CREATE INDEX candidates_by_name ON candidates(source_identity) WHERE source_identity <> '';
CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES runs(key),
  candidate INTEGER NOT NULL REFERENCES candidates(key),
  number INTEGER NOT NULL,
  depth TEXT NOT NULL,
  correct INTEGER NOT NULL,
  class TEXT NOT NULL,
  answer TEXT NOT NULL,
  ratio REAL, low REAL, high REAL,
  candidate_ns REAL, baseline_ns REAL,
  identity TEXT NOT NULL,
  code_hash TEXT NOT NULL,
  gate TEXT NOT NULL,
  reason TEXT NOT NULL,
  total_ms REAL,
  at_s INTEGER NOT NULL
);
CREATE INDEX evaluations_by_run ON evaluations(run, id);
CREATE INDEX evaluations_by_candidate ON evaluations(candidate, id);
CREATE INDEX evaluations_by_identity ON evaluations(identity) WHERE identity <> '';
CREATE INDEX evaluations_best ON evaluations(run, depth, class, low DESC) WHERE correct = 1 AND answer = 'faster';
CREATE TABLE verdicts (
  evaluation INTEGER PRIMARY KEY REFERENCES evaluations(id),
  json TEXT NOT NULL
);
CREATE TABLE samples (
  evaluation INTEGER NOT NULL REFERENCES evaluations(id),
  speed INTEGER NOT NULL,
  cbor BLOB NOT NULL,
  PRIMARY KEY (evaluation, speed)
) WITHOUT ROWID;
CREATE TABLE journal (
  run INTEGER NOT NULL REFERENCES runs(key),
  sequence INTEGER NOT NULL,
  entry TEXT NOT NULL,
  PRIMARY KEY (run, sequence)
) WITHOUT ROWID;
CREATE TABLE states (
  run INTEGER NOT NULL REFERENCES runs(key),
  proposer TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (run, proposer)
);
CREATE TRIGGER texts_u BEFORE UPDATE ON texts BEGIN SELECT RAISE(ABORT, 'texts are append-only'); END;
CREATE TRIGGER texts_d BEFORE DELETE ON texts BEGIN SELECT RAISE(ABORT, 'texts are append-only'); END;
CREATE TRIGGER runs_u BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'runs are append-only'); END;
CREATE TRIGGER runs_d BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'runs are append-only'); END;
CREATE TRIGGER run_events_u BEFORE UPDATE ON run_events BEGIN SELECT RAISE(ABORT, 'run_events are append-only'); END;
CREATE TRIGGER run_events_d BEFORE DELETE ON run_events BEGIN SELECT RAISE(ABORT, 'run_events are append-only'); END;
CREATE TRIGGER messages_u BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'messages are append-only'); END;
CREATE TRIGGER messages_d BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'messages are append-only'); END;
CREATE TRIGGER candidates_u BEFORE UPDATE ON candidates BEGIN SELECT RAISE(ABORT, 'candidates are append-only'); END;
CREATE TRIGGER candidates_d BEFORE DELETE ON candidates BEGIN SELECT RAISE(ABORT, 'candidates are append-only'); END;
CREATE TRIGGER evaluations_u BEFORE UPDATE ON evaluations BEGIN SELECT RAISE(ABORT, 'evaluations are append-only'); END;
CREATE TRIGGER evaluations_d BEFORE DELETE ON evaluations BEGIN SELECT RAISE(ABORT, 'evaluations are append-only'); END;
CREATE TRIGGER verdicts_u BEFORE UPDATE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER verdicts_d BEFORE DELETE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER samples_u BEFORE UPDATE ON samples BEGIN SELECT RAISE(ABORT, 'samples are append-only'); END;
CREATE TRIGGER samples_d BEFORE DELETE ON samples BEGIN SELECT RAISE(ABORT, 'samples are append-only'); END;
CREATE TRIGGER journal_u BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;
CREATE TRIGGER journal_d BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;
)sql";

// `hone runs` and `hone show` must not scan every evaluation of a run (with 100,000 it took 0.4 s). The tallies and
// the history of the best are no facts: they follow from the evaluations, a trigger keeps them in the same
// transaction, and Archive::check() recounts them. In the history the lower bound decides, as it does in the
// search: a lucky estimate with a wide interval raises nothing.
constexpr const char* kTallies = R"sql(
CREATE TABLE proposer_tallies (
  run INTEGER NOT NULL REFERENCES runs(key),
  proposer TEXT NOT NULL,
  tried INTEGER NOT NULL, failed INTEGER NOT NULL, faster INTEGER NOT NULL,
  total_ms REAL NOT NULL,
  PRIMARY KEY (run, proposer)
) WITHOUT ROWID;
CREATE TABLE failure_tallies (
  run INTEGER NOT NULL REFERENCES runs(key),
  gate TEXT NOT NULL, reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (run, gate, reason)
) WITHOUT ROWID;
CREATE VIEW recount_proposers AS
  SELECT e.run AS run, c.proposer AS proposer,
    sum(NOT EXISTS (SELECT 1 FROM evaluations f WHERE f.candidate = e.candidate AND f.id < e.id)) AS tried,
    sum(e.correct = 0 AND NOT EXISTS (SELECT 1 FROM evaluations f
      WHERE f.candidate = e.candidate AND f.id < e.id AND f.correct = 0)) AS failed,
    sum(e.correct = 1 AND e.answer = 'faster' AND NOT EXISTS (SELECT 1 FROM evaluations f
      WHERE f.candidate = e.candidate AND f.id < e.id)) AS faster,
    total(e.total_ms) AS total_ms
  FROM evaluations e JOIN candidates c ON c.key = e.candidate GROUP BY e.run, c.proposer;
CREATE VIEW recount_failures AS
  SELECT run, gate, reason, count(*) AS count FROM evaluations WHERE correct = 0 GROUP BY run, gate, reason;
CREATE TABLE best_history (
  run INTEGER NOT NULL REFERENCES runs(key),
  evaluation INTEGER NOT NULL REFERENCES evaluations(id),
  low REAL NOT NULL,
  PRIMARY KEY (run, evaluation)
) WITHOUT ROWID;
CREATE VIEW recount_history AS
  SELECT run, id AS evaluation, low FROM (
    SELECT run, id, low, max(low) OVER (PARTITION BY run ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM evaluations WHERE correct = 1 AND answer <> 'invalid' AND class IN ('A', 'B'))
  WHERE low > ifnull(before, 0);
INSERT INTO best_history SELECT * FROM recount_history;
INSERT INTO proposer_tallies SELECT * FROM recount_proposers;
INSERT INTO failure_tallies SELECT * FROM recount_failures;
CREATE TRIGGER evaluations_tally AFTER INSERT ON evaluations BEGIN
  INSERT INTO proposer_tallies
    SELECT NEW.run, c.proposer,
      NOT EXISTS (SELECT 1 FROM evaluations f WHERE f.candidate = NEW.candidate AND f.id < NEW.id),
      NEW.correct = 0 AND NOT EXISTS (SELECT 1 FROM evaluations f
        WHERE f.candidate = NEW.candidate AND f.id < NEW.id AND f.correct = 0),
      NEW.correct = 1 AND NEW.answer = 'faster' AND NOT EXISTS (SELECT 1 FROM evaluations f
        WHERE f.candidate = NEW.candidate AND f.id < NEW.id),
      ifnull(NEW.total_ms, 0)
    FROM candidates c WHERE c.key = NEW.candidate
    ON CONFLICT (run, proposer) DO UPDATE SET tried = tried + excluded.tried, failed = failed + excluded.failed,
      faster = faster + excluded.faster, total_ms = total_ms + excluded.total_ms;
  INSERT INTO failure_tallies SELECT NEW.run, NEW.gate, NEW.reason, 1 WHERE NEW.correct = 0
    ON CONFLICT (run, gate, reason) DO UPDATE SET count = count + 1;
  INSERT INTO best_history SELECT NEW.run, NEW.id, NEW.low
    WHERE NEW.correct = 1 AND NEW.answer <> 'invalid' AND NEW.class IN ('A', 'B') AND NEW.low >
      ifnull((SELECT low FROM best_history WHERE run = NEW.run ORDER BY evaluation DESC LIMIT 1), 0);
END;
)sql";

constexpr std::array kMigrations = {kFirst, kTallies};

}  // namespace

std::int64_t newest_schema() { return static_cast<std::int64_t>(kMigrations.size()); }
std::string_view migration(std::int64_t from) { return kMigrations.at(static_cast<std::size_t>(from)); }

Result<std::int64_t> schema_version(const Database& database) {
  const std::string name = database.file().string();
  HONE_TRY(const std::int64_t application, database.integer("PRAGMA application_id"));
  HONE_TRY(const std::int64_t version, database.integer("PRAGMA user_version"));
  HONE_TRY(const std::int64_t tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && version == 0 && tables == 0) return std::int64_t{0};
  if (application != kApplicationId)
    return environment_error(fmt::format("{} is an SQLite file of another program", name),
                             "Name another place with HONE_ARCHIVE or --archive");
  if (version > newest_schema())
    return environment_error(fmt::format("the archive {} has schema {}, this program knows up to {}", name, version,
                                         newest_schema()),
                             "A newer Hone wrote it: use that one, or name another archive with HONE_ARCHIVE");
  if (version < 1) return sqlite_error(11 /* SQLITE_CORRUPT */, 0, "its schema version is missing", database.file());
  return version;
}

Status migrate(const Database& database) {
  HONE_TRY(const std::int64_t version, schema_version(database));
  if (version == newest_schema()) return {};
  HONE_CHECK(database.script("BEGIN IMMEDIATE"));
  Status done;
  for (std::int64_t from = version; done.ok() && from < newest_schema(); ++from)
    done = database.script(migration(from));
  if (done.ok())
    done = database.script(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", kApplicationId,
                                       newest_schema()));
  if (!done.ok() && database.in_transaction() && !database.script("ROLLBACK").ok())
    return done;  // the connection is closed next, which rolls back too
  return done;
}

}  // namespace hone::store
