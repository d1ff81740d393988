#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "judge/reasons.h"

namespace hone::report {
namespace {

using judge::Answer;
using judge::GateResult;

constexpr std::size_t kLongestFact = 200;

struct Label {
  const char* key;
  const char* label;
};
// In the order a reader wants them.
constexpr std::array kFacts = {
    Label{"output", "output"},
    Label{"case", "case"},
    Label{"index", "first bad index"},
    Label{"value", "candidate's value"},
    Label{"truth", "true value"},
    Label{"reference", "reference's value"},
    Label{"error_candidate", "candidate's error"},
    Label{"error_reference", "reference's error"},
    Label{"distribution", "distribution"},
    Label{"seed", "seed"},
    Label{"next", ""},    // said by advice()
    Label{"pooled", ""},  // for programs: the message has the error and its limit
};

std::string fact_text(const Json& value) {
  if (value.is_string()) return scrub(value.get<std::string>(), kLongestFact);
  if (value.is_number_float()) return number_text(value.get<double>());
  // {"N": 3, "D": 127} as a case is written: N=3 D=127
  if (value.is_object() && std::none_of(value.begin(), value.end(), [](const Json& v) { return v.is_structured(); })) {
    std::string out;
    for (const auto& [key, one] : value.items()) out += fmt::format("{}{}={}", out.empty() ? "" : " ", key, fact_text(one));
    return scrub(out, kLongestFact);
  }
  return scrub(value.dump(-1, ' ', false, Json::error_handler_t::replace), kLongestFact);
}

Paint paint_of(Answer answer) {
  switch (answer) {
    case Answer::faster: return Paint::good;
    case Answer::slower:
    case Answer::invalid: return Paint::bad;
    default: return Paint::warn;
  }
}

std::string gates_text(const std::vector<GateResult>& gates) {
  std::string out;
  for (const GateResult& gate : gates) {
    if (!out.empty()) out += ", ";
    out += gate.gate;
    if (gate.state == GateResult::State::fail) out += " FAILED";
    if (gate.state == GateResult::State::skipped) out += " skipped";
    // The note of a failed gate is the failure's message, which stands above.
    if (gate.state == GateResult::State::skipped && !gate.note.empty()) out += " (" + gate.note + ")";
    if (gate.ms > 0) out += " " + format_duration_ns(gate.ms * 1e6);
  }
  return out;
}

// A share of the budget; hundreds of millions of per cent tell nobody anything.
std::string share_text(double share) {
  if (share < 9.995) return fmt::format("{:.3g} % of the budget", share * 100);
  if (share > 1e9) return "more than a billion times the budget";
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(share)) - 2));  // three digits
  return fmt::format("{:.0f} times the budget", std::round(share / unit) * unit);
}

// {output: {distribution: {share, …}}}: for each output, where it came nearest to its limits.
std::string errors_text(const Json& errors) {
  std::string out;
  if (!errors.is_object()) return out;
  for (const auto& [name, pools] : errors.items()) {
    std::string where;
    double most = -1;
    if (pools.is_object())
      for (const auto& [distribution, pool] : pools.items()) {
        const double share = pool.is_object() && pool.contains("share") ? as_double(pool["share"]) : -1;
        if (share > most) {
          most = share;
          where = distribution;
        }
      }
    if (most >= 0)
      out += fmt::format("{}{}: at most {}, under {}", out.empty() ? "" : "\n", name, share_text(most), where);
  }
  return out;
}

std::string time_spent(const judge::Verdict& v) {
  std::string parts;
  if (v.compile_ms > 0) parts += ", compile " + format_duration_ns(v.compile_ms * 1e6);
  if (v.timing_ms > 0) parts += ", timing " + format_duration_ns(v.timing_ms * 1e6);
  return format_duration_ns(v.total_ms * 1e6) + parts;
}

std::string head_line(const VerdictReport& report, const Style& style) {
  const judge::Verdict& v = report.verdict;
  if (v.cls == judge::Class::undecided && v.failure)
    return paint(style, Paint::warn, fmt::format("UNDECIDED at the {} gate: {}", v.failure->gate, v.failure->reason));
  if (v.failure && !v.correct)
    return paint(style, Paint::bad, fmt::format("FAILED at the {} gate: {}", v.failure->gate, v.failure->reason));
  if (!v.correct) return paint(style, Paint::bad, "WRONG");
  return paint(style, Paint::good, fmt::format("correct, class {}", judge::name_of(v.cls))) +
         fmt::format(" ({})", v.depth == judge::Depth::verify ? "verified" : "screened only");
}

Json speeds_json(const std::vector<judge::Speed>& speeds) {
  judge::Verdict carrier;
  carrier.speeds = speeds;
  return judge::to_json(carrier)["speeds"];
}

Json interval_json(double ratio, double low, double high) {
  return {{"ratio", number(ratio)}, {"low", number(low)}, {"high", number(high)}};
}

}  // namespace

std::string assignment_text(const candidate::Assignment& assignment) {
  std::string out;
  for (const auto& [name, value] : assignment) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out;
}

std::string layers_text(const Json& sandbox) {
  std::string out;
  for (const Json& layer : sandbox) out += (out.empty() ? "" : ", ") + fact_text(layer);
  return out.empty() ? "none" : out;
}

std::string advice(const candidate::Failure& failure) {
  if (failure.evidence.is_object())
    if (const auto it = failure.evidence.find("next"); it != failure.evidence.end() && it->is_string())
      return it->get<std::string>();
  const judge::Reason* reason = judge::find_reason(failure.gate, failure.reason);
  return reason ? reason->next : "";
}

std::string evidence_text(const candidate::Failure& failure, const Style& style, std::string_view indent) {
  std::vector<std::pair<std::string, std::string>> all;
  const Json& evidence = failure.evidence;
  if (!evidence.is_object()) return "";
  for (const Label& fact : kFacts)
    if (const auto it = evidence.find(fact.key); *fact.label != '\0' && it != evidence.end()) all.emplace_back(fact.label, fact_text(*it));
  for (const auto& [key, value] : evidence.items()) {
    const std::string name = key;
    if (std::none_of(kFacts.begin(), kFacts.end(), [&](const Label& fact) { return name == fact.key; }))
      all.emplace_back(name, fact_text(value));
  }
  return fields(style, all, indent);
}

std::string speeds_text(const std::vector<judge::Speed>& speeds, const Style& style, std::string_view indent) {
  using Align = Table::Align;
  Table table({{"case", Align::left}, {"speed-up", Align::left}, {"candidate", Align::right}, {"baseline", Align::right},
               {"pairs", Align::right}, {"inputs", Align::left}, {"answer", Align::left}});
  for (const judge::Speed& s : speeds) {
    const bool invalid = s.answer == Answer::invalid;
    table.add({s.case_label, invalid ? "-" : ratio_text(s.ratio, s.low, s.high),
               invalid ? "-" : format_duration_ns(s.candidate_ns), invalid ? "-" : format_duration_ns(s.baseline_ns),
               std::to_string(s.pairs), s.inputs.empty() ? s.cache : s.cache + ", " + s.inputs,
               std::string(judge::name_of(s.answer)) + (s.reason.empty() ? "" : ": " + scrub(s.reason, kLongestFact))},
              paint_of(s.answer));
  }
  return table.text(style, indent);
}

bool accepted(const VerdictReport& report) {
  const judge::Verdict& v = report.verdict;
  if (!v.correct) return false;
  return !report.faster_than ||
         (!v.speeds.empty() && v.answer != Answer::invalid && v.geomean_low > *report.faster_than);
}

std::string to_text(const VerdictReport& report, const Style& style) {
  const judge::Verdict& v = report.verdict;
  std::string out = fmt::format("{}  {}\n{}\n", paint(style, Paint::strong, report.task), report.candidate,
                                head_line(report, style));
  if (v.failure) {
    out += fmt::format("{}\n\n", scrub(v.failure->message, 4096));
    out += evidence_text(*v.failure, style, "  ");
    if (const std::string next = advice(*v.failure); !next.empty()) out += fmt::format("  next: {}\n", next);
  }
  if (!v.speeds.empty()) {
    if (v.answer != Answer::invalid)
      out += fmt::format("speed-up {} ({:.3g} % interval): {}\n", ratio_text(v.geomean, v.geomean_low, v.geomean_high),
                         v.speeds.front().confidence * 100,
                         paint(style, paint_of(v.answer), judge::name_of(v.answer)));
    if (report.faster_than && v.correct)
      out += accepted(report) ? fmt::format("the lower bound is above {}\n", format_ratio(*report.faster_than))
                              : fmt::format("{}\n", paint(style, Paint::bad,
                                                          fmt::format("not proven faster than {}: the lower bound is not above it",
                                                                      format_ratio(*report.faster_than))));
    out += "\n" + speeds_text(v.speeds, style, "  ");
  } else if (report.faster_than && v.correct) {
    out += "nothing was timed, so it is not proven faster\n";
  }
  out += "\n" + fields(style, {{"gates", gates_text(v.gates)},
                               {"errors", errors_text(v.errors)},
                               {"sandbox", layers_text(v.sandbox)},
                               {"work", v.flops_note},
                               {"tunables", assignment_text(v.assignment)},
                               {"device", v.device},
                               {"evidence", report.evidence},
                               {"time", time_spent(v)}});
  return out;
}

Json to_json(const VerdictReport& report) {
  Json out = {{"document", "verdict"}, {"version", 1}, {"task", report.task}, {"candidate", report.candidate},
              {"accepted", accepted(report)}};
  out["faster_than"] = report.faster_than ? number(*report.faster_than) : Json();
  out["verdict"] = judge::to_json(report.verdict);
  out["next"] = report.verdict.failure ? advice(*report.verdict.failure) : "";
  out["evidence"] = report.evidence;
  return out;
}

bool all_measured(const CompareReport& report) {
  return std::all_of(report.comparisons.begin(), report.comparisons.end(),
                     [](const Comparison& c) { return !c.failure && c.answer != Answer::invalid; });
}

std::string to_text(const CompareReport& report, const Style& style) {
  std::string out = paint(style, Paint::strong, report.task) + "\n";
  for (const Comparison& c : report.comparisons) {
    out += fmt::format("\n{} over {}: ", c.a, c.b);
    if (c.failure) {
      out += paint(style, Paint::bad, fmt::format("FAILED at the {} gate: {}", c.failure->gate, c.failure->reason)) + "\n";
      out += fmt::format("{}\n", scrub(c.failure->message, 4096)) + evidence_text(*c.failure, style, "  ");
      continue;
    }
    if (c.answer != Answer::invalid) out += ratio_text(c.geomean, c.geomean_low, c.geomean_high) + " ";
    out += paint(style, paint_of(c.answer), judge::name_of(c.answer)) + "\n" + speeds_text(c.speeds, style, "  ");
  }
  Json layers = Json::array();
  for (const std::string& layer : report.sandbox) layers.push_back(layer);
  return out + "\n" + fields(style, {{"sandbox", layers_text(layers)}, {"device", report.device},
                                     {"time", format_duration_ns(report.total_ms * 1e6)}});
}

Json to_json(const CompareReport& report) {
  Json out = {{"document", "compare"}, {"version", 1}, {"task", report.task}, {"measured", all_measured(report)}};
  out["comparisons"] = Json::array();
  for (const Comparison& c : report.comparisons) {
    Json one = {{"a", c.a}, {"b", c.b}, {"answer", judge::name_of(c.answer)}};
    one["speedup"] = c.failure || c.answer == Answer::invalid || c.speeds.empty() ? Json() : interval_json(c.geomean, c.geomean_low, c.geomean_high);
    one["failure"] = !c.failure ? Json()
                                : Json{{"gate", c.failure->gate}, {"reason", c.failure->reason},
                                       {"message", c.failure->message}, {"evidence", c.failure->evidence}};
    one["speeds"] = speeds_json(c.speeds);
    out["comparisons"].push_back(std::move(one));
  }
  out["sandbox"] = report.sandbox;
  out["device"] = report.device;
  out["total_ms"] = number(report.total_ms);
  return out;
}

}  // namespace hone::report
