#include "report/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/verdict.h"

namespace hone::report {
namespace {

using store::EvaluationRow;
using store::RunStatus;
using Align = Table::Align;

constexpr std::size_t kHistoryShown = 10;

Paint paint_of(RunStatus status) {
  switch (status) {
    case RunStatus::done: return Paint::good;
    case RunStatus::failed: return Paint::bad;
    default: return Paint::warn;
  }
}

const char* trust_of(const EvaluationRow& row) {
  return row.depth == judge::Depth::verify ? "verified" : "screened only";
}

Json row_json(const EvaluationRow& row) {
  return {{"evaluation", row.id},
          {"candidate", row.candidate},
          {"depth", judge::name_of(row.depth)},
          {"correct", row.correct},
          {"class", judge::name_of(row.cls)},
          {"answer", judge::name_of(row.answer)},
          {"ratio", number(row.ratio)},
          {"low", number(row.low)},
          {"high", number(row.high)},
          {"candidate_ns", number(row.candidate_ns)},
          {"baseline_ns", number(row.baseline_ns)},
          {"identity", row.identity},
          {"gate", row.gate},
          {"reason", row.reason},
          {"total_ms", number(row.total_ms)},
          {"at_s", row.at_s}};
}

Json optional_row(const std::optional<EvaluationRow>& row) { return row ? row_json(*row) : Json(); }

std::string seconds_text(double seconds) { return format_duration_ns(seconds * 1e9); }

std::string best_text(const RunReport& r, const Style& style) {
  const auto& best = r.summary.best;
  if (!best) return paint(style, Paint::warn, "none: no candidate of class A or B was faster than the baseline");
  std::string out = paint(style, Paint::good, ratio_text(best->ratio, best->low, best->high));
  out += fmt::format(", class {}, {}\ncandidate {}", judge::name_of(best->cls), trust_of(*best), best->candidate);
  if (r.best) {
    out += " by " + r.best->provenance.proposer;
    if (!r.best->assignment.empty()) out += ": " + assignment_text(r.best->assignment);
  }
  if (best->candidate_ns > 0)
    out += fmt::format("\n{} instead of {} a call", format_duration_ns(best->candidate_ns), format_duration_ns(best->baseline_ns));
  return out;
}

std::string other_class_text(const std::optional<EvaluationRow>& row) {
  if (!row) return "";
  return fmt::format("{}, class {}, {}, candidate {}", ratio_text(row->ratio, row->low, row->high), judge::name_of(row->cls),
                     trust_of(*row), row->candidate);
}

std::string undecided_text(const RunReport& r) {
  std::string out;
  for (const EvaluationRow& row : r.summary.undecided)
    out += fmt::format("{}candidate {}: {} gate, {}; see hone show {}/{}", out.empty() ? "" : "\n", row.candidate, row.gate, row.reason,
                       r.summary.run.id, row.candidate);
  return out;
}

std::string tried_text(const store::RunSummary& s) {
  std::string out = fmt::format("\n{} candidates tried, {} failed\n", s.tried, s.failed);
  if (!s.by_proposer.empty()) {
    Table table({{"proposer", Align::left}, {"tried", Align::right}, {"failed", Align::right}, {"faster", Align::right},
                 {"time", Align::right}});
    for (const auto& t : s.by_proposer)
      table.add({t.proposer, std::to_string(t.tried), std::to_string(t.failed), std::to_string(t.faster), seconds_text(t.seconds)});
    out += table.text({}, "  ");
  }
  if (!s.by_failure.empty()) {
    Table table({{"failed at", Align::left}, {"because", Align::left}, {"times", Align::right}});
    for (const auto& f : s.by_failure) table.add({f.gate, f.reason, std::to_string(f.count)});
    out += table.text({}, "  ");
  }
  return out;
}

std::string history_text(const store::RunSummary& s) {
  const auto& all = s.best_history;
  if (all.empty()) return "";
  std::string out = "\nhow the best came\n";
  const std::size_t first = all.size() > kHistoryShown ? all.size() - kHistoryShown : 0;
  if (first > 0) out += fmt::format("  ({} earlier steps left out)\n", first);
  Table table({{"after", Align::right}, {"candidate", Align::right}, {"speed-up", Align::left}, {"class", Align::left},
               {"depth", Align::left}});
  for (std::size_t i = first; i < all.size(); ++i)
    table.add({seconds_text(static_cast<double>(all[i].at_s - s.run.started_s)), std::to_string(all[i].candidate),
               ratio_text(all[i].ratio, all[i].low, all[i].high), judge::name_of(all[i].cls), judge::name_of(all[i].depth)});
  return out + table.text({}, "  ");
}

std::string resume_of(const store::RunRecord& run) {
  const bool over = run.status == RunStatus::done || run.status == RunStatus::running;
  return over || run.task_folder.empty() ? "" : fmt::format("hone optimize {} --resume {}", shell_word(run.task_folder), run.id);
}

}  // namespace

Result<RunReport> run_report(const store::Archive& archive, const std::string& run) {
  RunReport out;
  HONE_TRY(out.summary, archive.summary(run));
  if (out.summary.best) {
    HONE_TRY(out.best, archive.candidate(run, out.summary.best->candidate));
    HONE_TRY(out.verdict, archive.verdict(out.summary.best->id));
  }
  out.again = out.summary.run.command;
  out.resume = resume_of(out.summary.run);
  return out;
}

std::string to_text(const RunReport& r, const Style& style) {
  const store::RunSummary& s = r.summary;
  std::string status = paint(style, paint_of(s.run.status), store::name_of(s.run.status));
  if (!s.run.status_note.empty()) status += ": " + scrub(s.run.status_note, 400);
  std::string out = paint(style, Paint::strong, "run " + s.run.id) + "\n";
  out += fields(style, {{"task", s.run.task_name + (s.run.task_folder.empty() ? "" : " (" + s.run.task_folder + ")")},
                        {"status", status},
                        {"started", time_text(s.run.started_s)},
                        {"speed-up", best_text(r, style)},
                        {"other class", other_class_text(s.best_other_class)},
                        {"undecided", undecided_text(r)},
                        {"note", r.note},
                        {"sandbox", r.verdict ? layers_text(r.verdict->sandbox) : ""},
                        {"device", r.verdict ? r.verdict->device : ""}});
  out += tried_text(s) + history_text(s);
  const std::string where = fields(style, {{"kernel", r.kernel}, {"evidence", r.evidence}, {"again", r.again},
                                           {"go on", r.resume}, {"your own", r.own}});
  return where.empty() ? out : out + "\n" + where;
}

Json to_json(const RunReport& r) {
  const store::RunSummary& s = r.summary;
  Json out = {{"document", "run"}, {"version", 1}, {"id", s.run.id}, {"task", s.run.task_name},
              {"task_identity", s.run.task_identity}, {"task_folder", s.run.task_folder},
              {"status", store::name_of(s.run.status)}, {"status_note", s.run.status_note},
              {"started_s", s.run.started_s}, {"status_s", s.run.status_s}, {"seed", fmt::format("0x{:016x}", s.run.seed)},
              {"options", s.run.options}, {"device", s.run.device}, {"versions", s.run.versions},
              {"tried", s.tried}, {"failed", s.failed}};
  out["best"] = optional_row(s.best);
  out["best_assignment"] = r.best ? Json(r.best->assignment) : Json();
  out["best_other_class"] = optional_row(s.best_other_class);
  out["undecided"] = Json::array();
  for (const EvaluationRow& row : s.undecided) out["undecided"].push_back(row_json(row));
  out["verdict"] = r.verdict ? judge::to_json(*r.verdict) : Json();
  out["by_proposer"] = Json::array();
  for (const auto& t : s.by_proposer)
    out["by_proposer"].push_back({{"proposer", t.proposer}, {"tried", t.tried}, {"failed", t.failed}, {"faster", t.faster},
                                  {"seconds", number(t.seconds)}});
  out["by_failure"] = Json::array();
  for (const auto& f : s.by_failure)
    out["by_failure"].push_back({{"gate", f.gate}, {"reason", f.reason}, {"count", f.count}});
  out["best_history"] = Json::array();
  for (const EvaluationRow& row : s.best_history) out["best_history"].push_back(row_json(row));
  out["note"] = r.note;
  out["kernel"] = r.kernel;
  out["evidence"] = r.evidence;
  out["again"] = r.again;
  out["resume"] = r.resume;
  out["own"] = r.own;
  return out;
}

std::string runs_text(const std::vector<store::RunLine>& runs, const Style& style) {
  if (runs.empty()) return "no runs yet: `hone optimize TASK` makes the first\n";
  Table table({{"run", Align::left}, {"when", Align::left}, {"status", Align::left}, {"speed-up", Align::left},
               {"class", Align::left}, {"tried", Align::right}, {"failed", Align::right}});
  for (const store::RunLine& run : runs) {
    const std::string best = !run.best ? "no gain" : ratio_text(run.best->ratio, run.best->low, run.best->high) +
                             (run.best->depth == judge::Depth::verify ? "" : " screened only");
    table.add({run.id, time_text(run.started_s), store::name_of(run.status), best,
               run.best ? judge::name_of(run.best->cls) : "-", std::to_string(run.tried), std::to_string(run.failed)});
  }
  return table.text(style);
}

Json runs_json(const std::vector<store::RunLine>& runs) {
  Json out = {{"document", "runs"}, {"version", 1}, {"runs", Json::array()}};
  for (const store::RunLine& run : runs)
    out["runs"].push_back({{"id", run.id}, {"task", run.task_name}, {"started_s", run.started_s}, {"status_s", run.status_s},
                           {"status", store::name_of(run.status)}, {"tried", run.tried}, {"failed", run.failed},
                           {"best", optional_row(run.best)}});
  return out;
}

Result<CandidateReport> candidate_report(const store::Archive& archive, const std::string& run, std::int64_t number) {
  CandidateReport out;
  HONE_TRY(out.candidate, archive.candidate(run, number));
  HONE_TRY(const store::RunRecord record, archive.run(run));
  out.task = record.task_name;
  HONE_TRY(out.evaluations, archive.evaluations(run, number));
  if (!out.evaluations.empty()) {
    HONE_TRY(out.verdict, archive.verdict(out.evaluations.back().id));
  }
  return out;
}

std::string to_text(const CandidateReport& r, const Style& style, bool with_source) {
  const store::CandidateRecord& c = r.candidate;
  const auto lines = std::count(c.source.begin(), c.source.end(), '\n');
  std::string out = paint(style, Paint::strong, fmt::format("candidate {}/{}", c.run, c.number)) + "\n";
  out += fields(style, {{"by", c.provenance.proposer + (c.provenance.note.empty() ? "" : ": " + scrub(c.provenance.note, 400))},
                        {"parent", c.provenance.parent},
                        {"made", time_text(c.at_s)},
                        {"tunables", assignment_text(c.assignment)},
                        {"source", fmt::format("{}{} lines, {}", c.path.empty() ? "" : c.path + ", ", lines, c.source_hash)}});
  if (r.evaluations.empty()) out += "\nnot judged yet\n";
  if (!r.evaluations.empty()) {
    Table table({{"evaluation", Align::right}, {"when", Align::left}, {"depth", Align::left}, {"result", Align::left},
                 {"speed-up", Align::left}});
    for (const EvaluationRow& row : r.evaluations) {
      const bool timed = row.correct && row.candidate_ns > 0 && row.answer != judge::Answer::invalid;
      table.add({std::to_string(row.id), time_text(row.at_s), judge::name_of(row.depth),
                 row.correct ? fmt::format("class {}, {}", judge::name_of(row.cls), judge::name_of(row.answer))
                             : fmt::format("{}: {}", row.gate, row.reason),
                 timed ? ratio_text(row.ratio, row.low, row.high) : "-"});
    }
    out += "\n" + table.text(style, "  ");
  }
  if (r.verdict) out += "\nthe newest verdict\n" + to_text(VerdictReport{r.task, fmt::format("{}/{}", c.run, c.number), *r.verdict, {}, ""}, style);
  if (with_source) out += "\n" + c.source + (c.source.ends_with('\n') ? "" : "\n");
  return out;
}

Json to_json(const CandidateReport& r) {
  const store::CandidateRecord& c = r.candidate;
  Json out = {{"document", "candidate"}, {"version", 1}, {"run", c.run}, {"number", c.number}, {"task", r.task},
              {"lane", c.lane}, {"path", c.path}, {"proposer", c.provenance.proposer}, {"parent", c.provenance.parent},
              {"note", c.provenance.note}, {"source_hash", c.source_hash}, {"source_identity", c.source_identity},
              {"at_s", c.at_s}, {"assignment", Json(c.assignment)}, {"source", c.source}};
  out["evaluations"] = Json::array();
  for (const EvaluationRow& row : r.evaluations) out["evaluations"].push_back(row_json(row));
  out["verdict"] = r.verdict ? judge::to_json(*r.verdict) : Json();
  return out;
}

}  // namespace hone::report
