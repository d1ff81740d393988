#pragma once
// A run, the table of runs, and a candidate's page, as text and JSON (docs/schema/run.json, runs.json,
// candidate.json).

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "judge/verdict.h"
#include "report/style.h"
#include "store/archive.h"

namespace hone::report {

struct RunReport {
  store::RunSummary summary;
  std::optional<store::CandidateRecord> best;   ///< of summary.best
  std::optional<judge::Verdict> verdict;        ///< of summary.best
  std::string kernel, evidence;                 ///< where they lie, or empty
  std::string again;                            ///< command that does the same again
  std::string resume;                           ///< command that goes on, when it can be
  std::string note;                             ///< what kept the run from finding more, or empty
  std::string own;                              ///< command that does it for the user's own kernel
};
/// From the archive: everything but kernel, evidence and own.
Result<RunReport> run_report(const store::Archive& archive, const std::string& run);
std::string to_text(const RunReport& report, const Style& style);
Json to_json(const RunReport& report);

std::string runs_text(const std::vector<store::RunLine>& runs, const Style& style);
Json runs_json(const std::vector<store::RunLine>& runs);

struct CandidateReport {
  store::CandidateRecord candidate;
  std::string task;
  std::vector<store::EvaluationRow> evaluations;
  std::optional<judge::Verdict> verdict;        ///< the newest
};
Result<CandidateReport> candidate_report(const store::Archive& archive, const std::string& run, std::int64_t number);
/// The page; the source follows it when asked for.
std::string to_text(const CandidateReport& report, const Style& style, bool with_source = false);
Json to_json(const CandidateReport& report);

}  // namespace hone::report
