#include "judge/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/clock.h"
#include "judge/reasons.h"

namespace hone::judge {
namespace {

Answer answer_of(measure::Answer answer) {
  switch (answer) {
    case measure::Answer::faster: return Answer::faster;
    case measure::Answer::slower: return Answer::slower;
    case measure::Answer::same: return Answer::same;
    case measure::Answer::undecided: return Answer::undecided;
    case measure::Answer::invalid: return Answer::invalid;
  }
  return Answer::invalid;
}

// Every byte in and out crosses the memory bus once, but for what the caches may have held.
std::optional<candidate::Failure> beyond_physics(const task::Task& task, const Speed& speed, const task::Case& on,
                                                 const PerformanceOptions& options) {
  if (options.physics_bytes_per_s <= 0 || !options.compare.cold || speed.candidate_ns <= 0) return std::nullopt;
  const auto bytes = task::total_bytes(task, on.dims);
  if (!bytes.ok()) return std::nullopt;
  const double floor_ns =
      (static_cast<double>(*bytes) - options.cache_bytes) / options.physics_bytes_per_s * 1e9;
  if (speed.candidate_ns >= floor_ns) return std::nullopt;
  candidate::Failure failure{
      "performance", "impossible",
      fmt::format("case {}: a call took {:.0f} ns, but moving {} bytes takes {:.0f} ns at the memory's theoretical "
                  "bandwidth",
                  on.label, speed.candidate_ns, *bytes, floor_ns),
      {{"case", on.label}, {"candidate_ns", speed.candidate_ns}, {"floor_ns", floor_ns}, {"bytes", *bytes}}};
  return failure;
}

candidate::Failure while_timed(candidate::Failure failure, const task::Case& on) {
  // The runner speaks of correctness; here the call was right before and failed on the clock.
  if (failure.gate == "correctness") {
    failure.gate = "performance";
    if (!find_reason(failure.gate, failure.reason)) failure.reason = "wrong_when_timed";
  }
  failure.evidence["case"] = on.label;
  if (const Reason* reason = find_reason(failure.gate, failure.reason)) failure.evidence["next"] = reason->next;
  return failure;
}

candidate::Failure timing_cut(const Watch& watch, const task::Task& task, std::size_t done) {
  std::vector<std::string> timed;
  for (const task::Case& on : task.cases)
    if (on.time) timed.push_back("case " + on.label);
  const std::string said = fmt::format("{} of {} cases were timed", done, timed.size());
  timed.erase(timed.begin(), timed.begin() + static_cast<std::ptrdiff_t>(done));
  return out_of_time(watch, "performance", said, timed);
}

}  // namespace

Speed speed_of(const measure::Comparison& comparison, const task::Case& on, double confidence) {
  Speed speed;
  speed.case_label = on.label;
  speed.answer = answer_of(comparison.answer);
  speed.ratio = comparison.ratio.mid;
  speed.low = comparison.ratio.low;
  speed.high = comparison.ratio.high;
  speed.confidence = confidence;
  speed.candidate_ns = comparison.b_ns;
  speed.baseline_ns = comparison.a_ns;
  speed.pairs = static_cast<int>(comparison.pairs.size());
  speed.rounds = comparison.rounds;
  speed.cache = comparison.cold ? "cold" : "warm";
  speed.inputs = comparison.freshness;
  speed.reason = comparison.reason;
  speed.samples = measure::samples_to_json(comparison);
  return speed;
}

void conclude_speeds(Verdict& verdict, double margin) {
  if (verdict.speeds.empty()) return;
  double sum = 0, below = 0, above = 0;
  for (const Speed& speed : verdict.speeds) {
    if (speed.answer == Answer::invalid) {
      verdict.answer = Answer::invalid;
      return;
    }
    const double mid = std::log(speed.ratio);
    sum += mid;
    // The cases' errors are independent: their squares add.
    below += std::pow(mid - std::log(std::max(speed.low, 1e-300)), 2);
    above += std::pow(std::log(speed.high) - mid, 2);
  }
  const double n = static_cast<double>(verdict.speeds.size());
  verdict.geomean = std::exp(sum / n);
  verdict.geomean_low = std::exp((sum - std::sqrt(below)) / n);
  verdict.geomean_high = std::exp((sum + std::sqrt(above)) / n);
  const double edge = 1 + margin;
  verdict.answer = verdict.geomean_low > edge        ? Answer::faster
                   : verdict.geomean_high < 1 / edge ? Answer::slower
                   : verdict.geomean_low > 1 / edge && verdict.geomean_high < edge ? Answer::same
                                                                                   : Answer::undecided;
}

Status time_cases(runner::Session& session, const Entry& entry, const PerformanceOptions& options, Verdict& verdict) {
  const std::int64_t start = monotonic_ns();
  const task::Task& task = session.task();
  measure::CompareOptions compare = options.compare;
  const auto timed = std::count_if(task.cases.begin(), task.cases.end(), [](const task::Case& c) { return c.time; });
  if (options.slots_s_all > 0 && timed > 0) compare.slots_s = options.slots_s_all / static_cast<double>(timed);
  const Watch unlimited;
  const Watch& watch = options.watch ? *options.watch : unlimited;
  const auto cancelled = [&] {
    return watch.cancelled() || (options.compare.cancel && options.compare.cancel->load());
  };
  // What measure asks between pairs cannot end a sequence of looks; cancelling does, without a half-made comparison.
  std::atomic<bool> cut{false};
  std::string doing;
  compare.cancel = &cut;
  compare.stop = [&](const std::vector<double>& ratios) {
    watch.tell(fmt::format("{}, {} pairs of processes", doing, ratios.size()));
    cut = watch.over() || cancelled();
    return options.compare.stop && options.compare.stop(ratios);
  };
  verdict.speeds.clear();
  for (const task::Case& on : task.cases) {
    if (!on.time) continue;
    doing = "performance: case " + on.label;
    HONE_CHECK(watch.next(doing));
    cut = watch.over() || cancelled();
    auto seen = options.sequential
                    ? measure::compare_sequential(session, session.baseline(), entry.program, on, compare,
                                                  options.most_pairs)
                    : measure::compare(session, session.baseline(), entry.program, on, compare);
    if (!seen.ok() && seen.error().code == ErrorCode::cancelled && !cancelled()) {
      verdict.failure = timing_cut(watch, task, verdict.speeds.size());
      break;
    }
    if (!seen.ok()) return std::move(seen).error();
    if (seen->failure) {
      verdict.failure = while_timed(std::move(*seen->failure), on);
      break;
    }
    verdict.speeds.push_back(speed_of(*seen, on, compare.confidence));
    if (auto failure = beyond_physics(task, verdict.speeds.back(), on, options)) {
      verdict.speeds.back().answer = Answer::invalid;
      verdict.speeds.back().reason = failure->message;
      verdict.failure = while_timed(std::move(*failure), on);
      break;
    }
  }
  if (verdict.failure) verdict.answer = Answer::invalid;  // no mean over some of the cases
  else conclude_speeds(verdict, compare.margin);
  verdict.timing_ms += static_cast<double>(monotonic_ns() - start) * 1e-6;
  return {};
}

}  // namespace hone::judge
