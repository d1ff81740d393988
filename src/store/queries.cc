#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "judge/reasons.h"
#include "store/archive.h"
#include "store/inner.h"

namespace hone::store {
namespace {

constexpr std::string_view kRow =
    "SELECT id, number, depth, correct, class, answer, ratio, low, high, candidate_ns, baseline_ns, identity, code_hash, "
    "gate, reason, total_ms, at_s FROM evaluations ";
template <typename Enum>
Enum word(const std::string& text, std::initializer_list<Enum> all, Enum otherwise) {
  for (const Enum one : all)
    if (text == name_of(one)) return one;
  return otherwise;
}

EvaluationRow row_of(const Statement& s) {
  using judge::Answer;
  using judge::Class;
  EvaluationRow row;
  row.id = s.integer(0);
  row.candidate = s.integer(1);
  row.depth = word(s.text(2), {judge::Depth::screen, judge::Depth::verify}, judge::Depth::screen);
  row.correct = s.integer(3) != 0;
  row.cls = word(s.text(4), {Class::A, Class::B, Class::C, Class::X, Class::undecided}, Class::wrong);
  row.answer = word(s.text(5), {Answer::faster, Answer::slower, Answer::same, Answer::invalid}, Answer::undecided);
  row.ratio = s.real(6);
  row.low = s.real(7);
  row.high = s.real(8);
  row.candidate_ns = s.real(9);
  row.baseline_ns = s.real(10);
  row.identity = s.text(11);
  row.machine_code_hash = s.text(12);
  row.gate = s.text(13);
  row.reason = s.text(14);
  row.total_ms = s.real(15);
  row.at_s = s.integer(16);
  return row;
}

template <typename... Values>
Result<std::vector<EvaluationRow>> rows(const Database& db, const std::string& where, const Values&... values) {
  std::vector<EvaluationRow> out;
  HONE_TRY(Statement s, db.prepare(std::string(kRow) + where, values...));
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    out.push_back(row_of(s));
  }
}

// Each query walks evaluations_best from the highest lower bound down and stops at the first that qualifies. A
// candidate that failed, or that a verify has seen, does not count by its screen.
constexpr std::array kBestFirst = {
    "e INDEXED BY evaluations_best WHERE run = ? AND depth = 'verify' AND class = ? AND correct = 1 AND answer = 'faster' "
    "AND NOT EXISTS (SELECT 1 FROM evaluations f WHERE f.candidate = e.candidate AND f.correct = 0) "
    "ORDER BY low DESC LIMIT 1",
    "e INDEXED BY evaluations_best WHERE run = ? AND depth = 'screen' AND class = ? AND correct = 1 AND answer = 'faster' "
    "AND NOT EXISTS (SELECT 1 FROM evaluations f WHERE f.candidate = e.candidate AND (f.correct = 0 OR f.depth = 'verify')) "
    "ORDER BY low DESC LIMIT 1"};

Result<std::optional<EvaluationRow>> best_in(const Database& db, std::int64_t run,
                                             std::initializer_list<const char*> classes) {
  std::optional<EvaluationRow> best;
  for (const char* where : kBestFirst) {
    for (const char* cls : classes) {
      HONE_TRY(std::vector<EvaluationRow> found, rows(db, where, run, std::string(cls)));
      if (!found.empty() && (!best || found.front().low > best->low)) best = std::move(found.front());
    }
    if (best) break;
  }
  return best;
}

struct Counts {
  std::int64_t tried = 0, failed = 0;
};

Result<Counts> counts_of(const Database& db, std::int64_t run) {
  HONE_TRY(Statement s, db.prepare("SELECT ifnull(sum(tried), 0), ifnull(sum(failed), 0) FROM proposer_tallies WHERE run = ?", run));
  HONE_TRY(const bool row, s.step());
  (void)row;
  return Counts{s.integer(0), s.integer(1)};
}

Status fill_tallies(const Database& db, std::int64_t run, RunSummary& out) {
  HONE_TRY(Statement p, db.prepare("SELECT proposer, tried, failed, faster, total_ms FROM proposer_tallies WHERE run = ? "
                                   "ORDER BY tried DESC, proposer", run));
  for (;;) {
    HONE_TRY(const bool row, p.step());
    if (!row) break;
    out.by_proposer.push_back({p.text(0), p.integer(1), p.integer(2), p.integer(3), p.real(4) / 1e3});
  }
  HONE_TRY(Statement f, db.prepare("SELECT gate, reason, count FROM failure_tallies WHERE run = ? "
                                   "ORDER BY count DESC, gate, reason", run));
  for (;;) {
    HONE_TRY(const bool row, f.step());
    if (!row) return {};
    out.by_failure.push_back({f.text(0), f.text(1), f.integer(2)});
  }
}

constexpr std::string_view kCandidate =
    "SELECT c.number, t.hash, c.lane, c.path, c.assignment, c.proposer, c.parent, c.note, c.source_identity, c.at_s, {} "
    "FROM candidates c JOIN texts t ON t.key = c.source WHERE c.run = ?";

Result<CandidateRecord> candidate_of(const Statement& s, const std::string& run) {
  CandidateRecord out;
  out.run = run;
  out.number = s.integer(0);
  out.source_hash = s.text(1);
  out.lane = s.text(2);
  out.path = s.text(3);
  HONE_TRY(const Json assignment, parse_json(s.text(4), "a candidate's assignment"));
  for (const auto& [name, value] : assignment.items())
    if (value.is_string()) out.assignment[name] = value.get<std::string>();
  out.provenance = {s.text(5), s.text(6), s.text(7)};
  out.source_identity = s.text(8);
  out.at_s = s.integer(9);
  out.source = s.text(10);
  return out;
}

}  // namespace

std::string Archive::Inner::living() const {
  return token.empty() ? living_writer(file) : token;
}

RunStatus Archive::Inner::status_of(const std::string& written, const std::string& writer,
                                    const std::string& living_token) const {
  const RunStatus status = word(written, {RunStatus::running, RunStatus::done, RunStatus::stopped}, RunStatus::failed);
  return status == RunStatus::running && writer != living_token ? RunStatus::interrupted : status;
}

Result<std::vector<RunLine>> Archive::runs(std::size_t limit) const {
  const Database& db = inner_->database;
  const std::string living = inner_->living();
  std::vector<RunLine> out;
  HONE_TRY(Statement s, db.prepare("SELECT r.key, r.id, r.task_name, r.started_s, v.status, v.at_s, v.writer FROM runs r JOIN "
                                   "run_events v ON v.key = (SELECT max(key) FROM run_events WHERE run = r.key) "
                                   "ORDER BY r.key DESC LIMIT ?", static_cast<std::int64_t>(limit)));
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    RunLine line;
    line.id = s.text(1);
    line.task_name = s.text(2);
    line.started_s = s.integer(3);
    line.status = inner_->status_of(s.text(4), s.text(6), living);
    line.status_s = s.integer(5);
    HONE_TRY(const Counts counts, counts_of(db, s.integer(0)));
    line.tried = counts.tried;
    line.failed = counts.failed;
    HONE_TRY(line.best, best_in(db, s.integer(0), {"A", "B"}));
    out.push_back(std::move(line));
  }
}

Result<RunRecord> Archive::run(const std::string& id) const {
  const Database& db = inner_->database;
  HONE_TRY(const std::int64_t key, inner_->run_key(id));
  HONE_TRY(Statement s, db.prepare("SELECT task_name, task_identity, task_folder, t.text, options, seed, device, versions, command, "
                                   "started_s FROM runs r JOIN texts t ON t.key = r.task_text WHERE r.key = ?", key));
  HONE_TRY(const bool row, s.step());
  if (!row) return sqlite_error(11 /* SQLITE_CORRUPT */, 0, "a run without its task", inner_->file);
  RunRecord out;
  out.id = id;
  out.task_name = s.text(0);
  out.task_identity = s.text(1);
  out.task_folder = s.text(2);
  out.task_text = s.text(3);
  HONE_TRY(out.options, parse_json(s.text(4), "a run's options"));
  out.seed = static_cast<std::uint64_t>(s.integer(5));
  HONE_TRY(out.device, parse_json(s.text(6), "a run's device"));
  HONE_TRY(out.versions, parse_json(s.text(7), "a run's versions"));
  out.command = s.text(8);
  out.started_s = s.integer(9);
  out.folder = std::filesystem::absolute(inner_->file).parent_path() / id;
  HONE_TRY(Statement v, db.prepare("SELECT status, note, at_s, writer FROM run_events WHERE run = ? ORDER BY key DESC LIMIT 1", key));
  HONE_TRY(const bool event, v.step());
  if (!event) return sqlite_error(11 /* SQLITE_CORRUPT */, 0, "a run without a status", inner_->file);
  out.status = inner_->status_of(v.text(0), v.text(3), inner_->living());
  out.status_note = v.text(1);
  out.status_s = v.integer(2);
  return out;
}

Result<RunSummary> Archive::summary(const std::string& id) const {
  const Database& db = inner_->database;
  RunSummary out;
  HONE_TRY(out.run, run(id));
  HONE_TRY(const std::int64_t key, inner_->run_key(id));
  HONE_TRY(const Counts counts, counts_of(db, key));
  out.tried = counts.tried;
  out.failed = counts.failed;
  HONE_CHECK(fill_tallies(db, key, out));
  HONE_TRY(out.best, best_in(db, key, {"A", "B"}));
  HONE_TRY(out.best_other_class, best_in(db, key, {"C", "X"}));
  // No index leads to them, so the run is walked through only when there are some.
  const auto ran_out = [](const FailureTally& f) {
    const judge::Reason* reason = judge::find_reason(f.gate, f.reason);
    return reason && reason->undecided;
  };
  if (std::any_of(out.by_failure.begin(), out.by_failure.end(), ran_out)) {
    HONE_TRY(out.undecided, rows(db, "WHERE run = ? AND depth = 'verify' AND class = 'undecided' ORDER BY id", key));
  }
  HONE_TRY(out.best_history, rows(db, "WHERE id IN (SELECT evaluation FROM best_history WHERE run = ?) ORDER BY id", key));
  return out;
}

Result<CandidateRecord> Archive::candidate(const std::string& run_id, std::int64_t number) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  HONE_TRY(const std::int64_t known, inner_->candidate_key(key, number));
  (void)known;
  HONE_TRY(Statement s, inner_->database.prepare(fmt::format(fmt::runtime(kCandidate), "t.text") + " AND c.number = ?", key, number));
  HONE_TRY(const bool row, s.step());
  if (!row) return sqlite_error(11 /* SQLITE_CORRUPT */, 0, "a candidate without its source", inner_->file);
  return candidate_of(s, run_id);
}

Result<std::vector<CandidateRecord>> Archive::candidates(const std::string& run_id) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  HONE_TRY(Statement s, inner_->database.prepare(fmt::format(fmt::runtime(kCandidate), "''") + " ORDER BY c.number", key));
  std::vector<CandidateRecord> out;
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    HONE_TRY(CandidateRecord one, candidate_of(s, run_id));
    out.push_back(std::move(one));
  }
}

Result<std::vector<EvaluationRow>> Archive::evaluations(const std::string& run_id) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  return rows(inner_->database, "WHERE run = ? ORDER BY id", key);
}

Result<std::vector<EvaluationRow>> Archive::evaluations(const std::string& run_id, std::int64_t number) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  HONE_TRY(const std::int64_t candidate_key, inner_->candidate_key(key, number));
  return rows(inner_->database, "WHERE candidate = ? ORDER BY id", candidate_key);
}

Result<judge::Verdict> Archive::verdict(std::int64_t evaluation, bool with_samples) const {
  const Database& db = inner_->database;
  HONE_TRY(Statement s, db.prepare("SELECT json FROM verdicts WHERE evaluation = ?", evaluation));
  HONE_TRY(const bool found, s.step());
  if (!found) return usage_error(fmt::format("the archive {} holds no evaluation {}", inner_->file.string(), evaluation));
  HONE_TRY(const Json json, parse_json(s.text(0), "a stored verdict"));
  HONE_TRY(judge::Verdict out, judge::verdict_from_json(json));
  if (!with_samples) return out;
  HONE_TRY(Statement b, db.prepare("SELECT speed, cbor FROM samples WHERE evaluation = ? ORDER BY speed", evaluation));
  for (;;) {
    HONE_TRY(const bool row, b.step());
    if (!row) return out;
    const std::string_view bytes = b.blob(1);
    Json samples = Json::from_cbor(bytes.begin(), bytes.end(), true, false);
    const auto speed = static_cast<std::size_t>(b.integer(0));
    if (samples.is_discarded() || speed >= out.speeds.size())
      return sqlite_error(11 /* SQLITE_CORRUPT */, 0, fmt::format("the samples of evaluation {} cannot be read", evaluation),
                          inner_->file);
    out.speeds[speed].samples = std::move(samples);
  }
}

Result<std::optional<EvaluationRow>> Archive::best_of(const std::string& run_id) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  return best_in(inner_->database, key, {"A", "B"});
}

Result<std::vector<JournalEntry>> Archive::journal(const std::string& run_id, std::int64_t after) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  HONE_TRY(Statement s, inner_->database.prepare("SELECT sequence, entry FROM journal WHERE run = ? AND sequence > ? ORDER BY sequence", key, after));
  std::vector<JournalEntry> out;
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    HONE_TRY(Json entry, parse_json(s.text(1), "a journal entry"));
    out.push_back({s.integer(0), std::move(entry)});
  }
}

Result<std::vector<Archive::State>> Archive::states(const std::string& run_id) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  HONE_TRY(Statement s, inner_->database.prepare("SELECT proposer, sequence, state FROM states WHERE run = ? ORDER BY proposer", key));
  std::vector<State> out;
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    HONE_TRY(Json state, parse_json(s.text(2), "a proposer's state"));
    out.push_back({s.text(0), s.integer(1), std::move(state)});
  }
}

Result<std::vector<Message>> Archive::messages(const std::string& run_id) const {
  HONE_TRY(const std::int64_t key, inner_->run_key(run_id));
  HONE_TRY(Statement s, inner_->database.prepare("SELECT at_s, level, text FROM messages WHERE run = ? ORDER BY key", key));
  std::vector<Message> out;
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    out.push_back({s.integer(0), s.text(1), s.text(2)});
  }
}

Status Archive::check() const {
  const Database& db = inner_->database;
  const auto damaged = [&](const std::string& what) { return sqlite_error(11 /* SQLITE_CORRUPT */, 0, what, inner_->file); };
  HONE_TRY(Statement s, db.prepare("PRAGMA integrity_check(1)"));
  HONE_TRY(const bool row, s.step());
  if (!row || s.text(0) != "ok") return damaged(row ? s.text(0) : "no answer");
  HONE_TRY(Statement foreign, db.prepare("PRAGMA foreign_key_check"));
  HONE_TRY(const bool orphan, foreign.step());
  if (orphan) return damaged("a row of " + foreign.text(0) + " points at nothing");
  static constexpr std::array kSame = {
      "SELECT count(*) FROM (SELECT run, proposer, tried, failed, faster FROM proposer_tallies EXCEPT "
      "SELECT run, proposer, tried, failed, faster FROM recount_proposers)",
      "SELECT count(*) FROM (SELECT run, proposer, tried, failed, faster FROM recount_proposers EXCEPT "
      "SELECT run, proposer, tried, failed, faster FROM proposer_tallies)",
      "SELECT count(*) FROM (SELECT * FROM best_history EXCEPT SELECT * FROM recount_history)",
      "SELECT count(*) FROM (SELECT * FROM recount_history EXCEPT SELECT * FROM best_history)",
      "SELECT count(*) FROM (SELECT * FROM failure_tallies EXCEPT SELECT * FROM recount_failures)",
      "SELECT count(*) FROM (SELECT * FROM recount_failures EXCEPT SELECT * FROM failure_tallies)"};
  for (const char* sql : kSame) {
    HONE_TRY(const std::int64_t differences, db.integer(sql));
    if (differences != 0) return damaged("the tallies do not agree with the evaluations");
  }
  return {};
}

}  // namespace hone::store
