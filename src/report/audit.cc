#include "report/audit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "judge/trial.h"

namespace hone::report {
namespace {

using audit::MutantReport;
using judge::AdmissionFinding;

std::string finding_text(const AdmissionFinding& f, const Style& style) {
  const char* word = f.ok ? "ok     " : f.strong ? "FAILED " : "weak   ";
  const Paint color = f.ok ? Paint::good : f.strong ? Paint::bad : Paint::warn;
  std::string out = fmt::format("  {} {}{}\n", paint(style, color, word), f.check,
                                f.detail.empty() ? "" : ": " + scrub(f.detail, 400));
  if (!f.ok && !f.next.empty()) out += fmt::format("          {}\n", f.next);
  return out;
}

std::string indented(std::string_view text, std::string_view indent) {
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += fmt::format("{}{}\n", indent, scrub(line, 400));
  return out;
}

/// Only what a reader can act on: survivors, and what the run's own draws would have let pass.
std::string mutant_text(const MutantReport& m, const Style& style) {
  const bool survived = m.state == MutantReport::State::survived;
  if (!survived && !m.by_verify_only) return "";
  std::string out = fmt::format("  {} {}, line {}: {}\n",
                                survived ? paint(style, Paint::bad, "survived") : paint(style, Paint::warn, "only a verify kills"),
                                m.mutant.op, m.mutant.line, scrub(m.mutant.what, 400));
  if (survived) out += indented(m.mutant.diff, "    ");
  return out + indented(m.why, "    ");
}

}  // namespace

std::string to_text(const audit::AuditReport& report, const Style& style, bool all) {
  const judge::AdmissionReport& a = report.admission;
  const auto failed = std::count_if(a.findings.begin(), a.findings.end(), [](const auto& f) { return !f.ok; });
  std::string out = fmt::format("{}\n", paint(style, Paint::strong, report.task_name));
  const bool undecided = a.admitted && report.left_out > 0;
  out += audit::is_strong(report) ? paint(style, Paint::good, "strong: this task can tell right from wrong")
         : undecided              ? paint(style, Paint::warn, fmt::format("UNDECIDED: the time limit was over before {} of {} mutants were "
                                                                          "judged; give more (--time-limit) or fewer (--mutants)",
                                                                          report.left_out, report.mutants.size()))
         : a.admitted             ? paint(style, Paint::bad, "WEAK: too many small mistakes pass")
                                  : paint(style, Paint::bad, "NOT admitted: this task cannot tell right from wrong");
  out += fmt::format(" ({} checks, {} failed, {})\n\n", a.findings.size(), failed, format_duration_ns(report.ms * 1e6));
  for (const AdmissionFinding& f : a.findings)
    if (all || !f.ok) out += finding_text(f, style);
  if (all || failed > 0) out += "\n";
  out += fmt::format("mutants: {} of {} killed ({:.0f} %), {} equivalent, {} did not build\n", report.killed,
                     report.killed + report.survived, 100 * report.score, report.equivalent, report.not_built);
  if (report.left_out > 0) out += fmt::format("left out: {}\n", report.left_out);
  for (const MutantReport& m : report.mutants) out += mutant_text(m, style);
  return out;
}

Json to_json(const audit::AuditReport& report) {
  Json out = {{"document", "audit"},
              {"version", 1},
              {"task", report.task_name},
              {"strong", audit::is_strong(report)},
              {"admitted", report.admission.admitted},
              {"findings", judge::to_json(report.admission)["findings"]},
              {"score", number(report.score)},
              {"killed", report.killed},
              {"survived", report.survived},
              {"equivalent", report.equivalent},
              {"not_built", report.not_built},
              {"left_out", report.left_out},
              {"seed", judge::seed_text(report.seed)},
              {"ms", number(report.ms)},
              {"mutants", Json::array()}};
  for (const MutantReport& m : report.mutants) {
    Json one = {{"operator", m.mutant.op}, {"line", m.mutant.line}, {"what", m.mutant.what}, {"state", audit::name_of(m.state)},
                {"why", m.why}, {"diff", m.state == MutantReport::State::survived ? m.mutant.diff : ""}};
    one["killed_by"] = m.gate.empty() ? Json()
                                      : Json{{"gate", m.gate}, {"reason", m.reason}, {"by_verify_only", m.by_verify_only}};
    out["mutants"].push_back(std::move(one));
  }
  return out;
}

}  // namespace hone::report
