#include "engine/performance.h"

#include <fmt/format.h>

#include <cmath>

#include "base/clock.h"
#include "base/text.h"

namespace hone::engine {
namespace {

judge::Answer to_judge(measure::Answer answer) {
  switch (answer) {
    case measure::Answer::faster: return judge::Answer::faster;
    case measure::Answer::slower: return judge::Answer::slower;
    case measure::Answer::same: return judge::Answer::same;
    case measure::Answer::undecided: return judge::Answer::undecided;
    case measure::Answer::invalid: return judge::Answer::invalid;
  }
  return judge::Answer::invalid;
}

}  // namespace

std::vector<task::Case> timed_cases(const task::Task& task) {
  std::vector<task::Case> out;
  for (const task::Case& c : task.cases)
    if (c.time) out.push_back(c);
  return out;
}

judge::Speed to_speed(const measure::Comparison& c, const task::Case& on) {
  judge::Speed speed;
  speed.case_label = on.label;
  speed.answer = to_judge(c.answer);
  speed.ratio = c.ratio.mid;
  speed.low = c.ratio.low;
  speed.high = c.ratio.high;
  speed.confidence = c.ratio.confidence;
  speed.candidate_ns = c.b_ns;
  speed.baseline_ns = c.a_ns;
  speed.pairs = static_cast<int>(c.pairs.size());
  speed.rounds = c.rounds;
  speed.cache = c.cold ? "cold" : "warm";
  speed.reason = c.reason;
  speed.samples = measure::samples_to_json(c);
  return speed;
}

void combine_speeds(judge::Verdict& v) {
  if (v.speeds.empty()) return;
  double mid = 0, variance = 0;
  bool invalid = false;
  for (const judge::Speed& s : v.speeds) {
    invalid |= s.answer == judge::Answer::invalid;
    mid += std::log(s.ratio);
    const double half = (std::log(s.high) - std::log(s.low)) / 2;
    variance += half * half;
  }
  const double n = static_cast<double>(v.speeds.size());
  const double half = std::sqrt(variance) / n;
  v.geomean = std::exp(mid / n);
  v.geomean_low = std::exp(mid / n - half);
  v.geomean_high = std::exp(mid / n + half);
  if (v.speeds.size() == 1) {
    v.geomean_low = v.speeds[0].low;
    v.geomean_high = v.speeds[0].high;
  }
  if (invalid) v.answer = judge::Answer::invalid;
}

Status judge_performance(runner::Session& session, const runner::Program& program, const PerformanceOptions& options,
                         judge::Verdict& verdict) {
  const std::int64_t start = monotonic_ns();
  const std::vector<task::Case> cases = timed_cases(session.task());
  measure::CompareOptions compare;
  compare.slots_s = options.slots_s / static_cast<double>(std::max<std::size_t>(1, cases.size()));
  compare.pairs = options.pairs;
  compare.cold = options.cold;
  compare.margin = options.margin;
  compare.check_linearity = true;
  compare.cancel = options.cancel;
  judge::GateResult gate{"performance", judge::GateResult::State::pass, "", 0};
  for (const task::Case& c : cases) {
    HONE_TRY(const measure::Comparison seen,
             measure::compare_sequential(session, session.baseline(), program, c, compare, options.most_pairs));
    verdict.speeds.push_back(to_speed(seen, c));
    if (!seen.failure) continue;
    verdict.correct = false;
    verdict.cls = judge::Class::wrong;
    verdict.failure = seen.failure;
    verdict.failure->evidence["case"] = c.label;
    gate.state = judge::GateResult::State::fail;
    gate.note = seen.failure->message;
    break;
  }
  if (!verdict.failure) {
    combine_speeds(verdict);
    const double edge = 1 + options.margin;
    if (verdict.answer != judge::Answer::invalid)
      verdict.answer = verdict.geomean_low > edge        ? judge::Answer::faster
                       : verdict.geomean_high < 1 / edge ? judge::Answer::slower
                       : verdict.geomean_low > 1 / edge && verdict.geomean_high < edge ? judge::Answer::same
                                                                                       : judge::Answer::undecided;
    gate.note = fmt::format("{} {} [{}, {}] over the baseline", judge::name_of(verdict.answer),
                            format_ratio(verdict.geomean), format_ratio(verdict.geomean_low),
                            format_ratio(verdict.geomean_high));
    if (verdict.answer == judge::Answer::invalid) {
      gate.state = judge::GateResult::State::fail;
      for (const judge::Speed& s : verdict.speeds)
        if (!s.reason.empty()) gate.note = "invalid: " + s.reason;
    } else if (options.faster_than > 0 && verdict.geomean_low <= options.faster_than) {
      gate.state = judge::GateResult::State::fail;
      gate.note += fmt::format(": not above the {} asked for", format_ratio(options.faster_than));
    }
  }
  gate.ms = static_cast<double>(monotonic_ns() - start) * 1e-6;
  verdict.timing_ms += gate.ms;
  verdict.gates.push_back(gate);
  return {};
}

}  // namespace hone::engine
