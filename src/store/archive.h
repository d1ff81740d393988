#pragma once
// store: the archive, one SQLite file that keeps every fact of every run: tasks, sources, candidates,
// verdicts, raw samples, the search's journal, messages. Facts are only ever appended (triggers refuse
// anything else); what is best, how a run stands and what failed why are queries. Values go in, values come
// out; no SQL leaves this room. Read this header, then schema.cc (tables and migrations), then docs/archive.md.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "judge/verdict.h"

namespace hone::store {

/// $HONE_ARCHIVE, else ./hone-runs/archive.db.
std::filesystem::path default_archive();

/// What a run begins with.
struct RunStart {
  std::string task_name, task_identity, task_folder, task_text;
  Json options = Json::object();   // budget, proposers, margin: all a resume needs
  std::uint64_t seed = 0;
  Json device = Json::object();    // host: CPU model, cores, cache, kernel
  Json versions = Json::object();  // hone, compilers
  std::string command;             // as typed, for "do the same again"
};

/// `running` without a living writer is told as interrupted.
enum class RunStatus { running, done, stopped, failed, interrupted };
const char* name_of(RunStatus status);

struct RunRecord : RunStart {
  std::string id;                  // "2026-11-30-softmax-3f2a"
  std::int64_t started_s = 0;      // since 1970
  RunStatus status = RunStatus::running;
  std::string status_note;         // why it stopped or failed
  std::int64_t status_s = 0;       // when that was written
  std::filesystem::path folder;    // beside the archive: where the run's kernel and evidence go
};

struct NewCandidate {
  std::string source;              // text; kept once however many candidates share it
  std::string lane = "cpu";
  std::string path;                // as given by the user, or empty
  candidate::Assignment assignment;
  candidate::Provenance provenance;
  std::string source_identity;     // candidate::source_identity()
};

struct CandidateRecord : NewCandidate {  // `source` is filled by candidate(), not by lists
  std::string run;
  std::int64_t number = 0;         // 1, 2, … within the run; "RUN/17" names it
  std::string source_hash;
  std::int64_t at_s = 0;
};

/// The columns of one committed verdict; the whole of it comes from verdict().
struct EvaluationRow {
  std::int64_t id = 0;             // grows with every commit in this archive
  std::int64_t candidate = 0;      // number within the run
  judge::Depth depth = judge::Depth::screen;
  bool correct = false;
  judge::Class cls = judge::Class::wrong;
  judge::Answer answer = judge::Answer::undecided;
  double ratio = 1, low = 1, high = 1;
  double candidate_ns = 0, baseline_ns = 0;  // geometric means over timed cases, one call
  std::string identity, machine_code_hash;
  std::string gate, reason;        // of the failure; empty when correct
  double total_ms = 0;
  std::int64_t at_s = 0;
};

/// What one proposer's candidates came to. A candidate failed when any verdict on it did; faster is told at its
/// first verdict, before anything is verified.
struct ProposerTally {
  std::string proposer;
  std::int64_t tried = 0, failed = 0, faster = 0;
  double seconds = 0;              // spent on their verdicts
};

/// How many verdicts failed at a gate for a reason.
struct FailureTally {
  std::string gate, reason;
  std::int64_t count = 0;
};

/// One line of `hone runs`.
struct RunLine {
  std::string id, task_name;
  std::int64_t started_s = 0, status_s = 0;
  RunStatus status = RunStatus::running;
  std::int64_t tried = 0, failed = 0;      // candidates with a verdict; with one that failed
  std::optional<EvaluationRow> best;       // see best_of()
};

struct RunSummary {
  RunRecord run;
  std::int64_t tried = 0, failed = 0;
  std::vector<ProposerTally> by_proposer;
  std::vector<FailureTally> by_failure;          // most frequent first
  std::optional<EvaluationRow> best;             // class A or B
  std::optional<EvaluationRow> best_other_class; // C or X, reported apart
  std::vector<EvaluationRow> undecided;          // verified, but something ran out before the answer was known
  std::vector<EvaluationRow> best_history;       // each correct A or B verdict that raised the lower bound
};

struct JournalEntry {
  std::int64_t sequence = 0;       // 1, 2, … within the run, without gaps
  Json entry;
};

struct Message {
  std::int64_t at_s = 0;
  std::string level, text;         // info, warning, error
};

/// What `hone show X` names.
struct Target {
  std::string run;
  std::optional<std::int64_t> candidate;
};

/// Use from one thread. Every failure is an Error with a cure: full disk, read-only folder, cut-off or
/// foreign file, newer schema, a second writer.
class Archive {
 public:
  /// Creates folder and file where missing, migrates an older schema, takes the writer's lock.
  static Result<Archive> open_writer(const std::filesystem::path& file);
  /// Never blocks a writer, never changes the file. An older schema is an error that says how to migrate.
  static Result<Archive> open_reader(const std::filesystem::path& file);
  /// The fake of tests: nothing on disk, no lock.
  static Result<Archive> in_memory();
  Archive(Archive&&) noexcept;
  Archive& operator=(Archive&&) noexcept;
  ~Archive();
  const std::filesystem::path& file() const;

  // ---- facts (writers) ----
  /// Runs `body` as one transaction: all of it or nothing is kept; durable (synced to the disk) on return.
  /// The adds below may be called inside or alone; alone each is its own transaction.
  Status transaction(const std::function<Status()>& body);
  Result<std::string> begin_run(const RunStart& start);
  Status set_status(const std::string& run, RunStatus status, const std::string& note = "");
  /// Gives the candidate's number; one whose source_identity the run already holds keeps the number it has.
  /// Alone it is not synced: the verdict that follows is.
  Result<std::int64_t> add_candidate(const std::string& run, const NewCandidate& candidate);
  /// Commits a verdict with its raw samples; gives the evaluation's id once it is durable.
  Result<std::int64_t> add_verdict(const std::string& run, std::int64_t candidate, const judge::Verdict& verdict);
  /// Gives the sequence number. Durable on return.
  Result<std::int64_t> append_journal(const std::string& run, const Json& entry);
  /// State of a proposer as of journal entry `sequence`. Derived from the journal, so only the newest is kept.
  Status save_state(const std::string& run, const std::string& proposer, std::int64_t sequence, const Json& state);
  Status add_message(const std::string& run, const std::string& level, const std::string& text);

  // ---- queries ----
  /// Newest first.
  Result<std::vector<RunLine>> runs(std::size_t limit = 50) const;
  Result<RunRecord> run(const std::string& id) const;
  Result<RunSummary> summary(const std::string& id) const;
  Result<CandidateRecord> candidate(const std::string& run, std::int64_t number) const;
  Result<std::vector<CandidateRecord>> candidates(const std::string& run) const;
  /// In the order committed.
  Result<std::vector<EvaluationRow>> evaluations(const std::string& run) const;
  Result<std::vector<EvaluationRow>> evaluations(const std::string& run, std::int64_t candidate) const;
  Result<judge::Verdict> verdict(std::int64_t evaluation, bool with_samples = false) const;
  /// Class A or B, faster: of the verified ones that with the highest lower bound; without any, of those only
  /// screened (then depth is screen: say so). A candidate that failed or was not faster at its verify is none.
  Result<std::optional<EvaluationRow>> best_of(const std::string& run) const;
  Result<std::vector<JournalEntry>> journal(const std::string& run, std::int64_t after = 0) const;
  struct State {
    std::string proposer;
    std::int64_t sequence = 0;
    Json state;
  };
  Result<std::vector<State>> states(const std::string& run) const;
  Result<std::vector<Message>> messages(const std::string& run) const;

  /// "latest", an id, its beginning, or its last four characters. Unknown names get the nearest spelling,
  /// ambiguous ones a list.
  Result<std::string> find_run(std::string_view name) const;
  /// Also "RUN/17", "RUN/best", or six or more characters of a candidate's source or machine-code identity.
  Result<Target> find(std::string_view name) const;

  /// Whole-file check by SQLite; slow, for doctor and tests.
  Status check() const;

  struct Inner;  // store/inner.h

 private:
  explicit Archive(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace hone::store
