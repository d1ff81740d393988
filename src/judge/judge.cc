#include "judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "judge/case_plan.h"
#include "judge/reasons.h"
#include "judge/trial.h"
#include "task/task_file.h"

namespace hone::judge {
namespace {

using candidate::Failure;

double ms_since(std::int64_t start_ns) { return static_cast<double>(monotonic_ns() - start_ns) * 1e-6; }

// Executed operations would have to be counted outside the candidate's process: virtual machines show no such hardware
// counter, and valgrind knows no AVX-512 (docs/verdict.md).
std::string flops_note(const task::Task& task, const lane::Lane& lane) {
  if (task.work.min_flops.empty()) return "class X not assessed: the task states no min_flops";
  return fmt::format("class X not assessed: the {} lane cannot count executed operations (min_flops = {})", lane.name(),
                     task.work.min_flops);
}

/// Builds a verdict gate by gate; the first failure ends it.
class Docket {
 public:
  Docket(runner::Session& session, const Entry& entry, Depth depth) : start_ns_(monotonic_ns()) {
    verdict_.depth = depth;
    verdict_.assignment = entry.assignment;
    verdict_.source_hash = entry.source_hash;
    verdict_.machine_code_hash = entry.built.machine_code_hash;
    verdict_.task_identity = session.task().identity();
    verdict_.device = session.lane().device();
    verdict_.compile_ms = entry.built.compile_ms;
    if (!entry.failure)
      verdict_.identity = candidate::identity(entry.built.machine_code_hash, entry.program.resolved, session.task(),
                                              verdict_.device);
    verdict_.flops_note = flops_note(session.task(), session.lane());
    for (const std::string& layer : session.sandbox_layers()) verdict_.sandbox.push_back(layer);
    entry_ms_ = entry.ms;
  }
  void open(std::string gate) {
    gate_ = std::move(gate);
    gate_start_ns_ = monotonic_ns();
  }
  void pass(std::string note = "") { close(GateResult::State::pass, std::move(note)); }
  void skip(std::string note) { close(GateResult::State::skipped, std::move(note)); }
  void fail(Failure failure) {
    close(GateResult::State::fail, failure.reason + ": " + failure.message);
    if (!failure.evidence.contains("next"))
      if (const Reason* reason = find_reason(failure.gate, failure.reason)) failure.evidence["next"] = reason->next;
    verdict_.failure = std::move(failure);
  }
  bool failed() const { return verdict_.failure.has_value(); }
  Verdict& verdict() { return verdict_; }
  Verdict finish() {
    verdict_.correct = !failed();
    const Reason* reason = failed() ? find_reason(verdict_.failure->gate, verdict_.failure->reason) : nullptr;
    if (reason && reason->undecided) verdict_.cls = Class::undecided;
    else if (failed() && verdict_.cls != Class::C && verdict_.cls != Class::X) verdict_.cls = Class::wrong;
    verdict_.total_ms = entry_ms_ + ms_since(start_ns_);
    return std::move(verdict_);
  }

 private:
  void close(GateResult::State state, std::string note) {
    verdict_.gates.push_back({gate_, state, std::move(note), ms_since(gate_start_ns_)});
  }
  std::int64_t start_ns_, gate_start_ns_ = 0;
  double entry_ms_ = 0;
  std::string gate_;
  Verdict verdict_;
};

Status run_static(runner::Session& session, const Entry& entry, const StaticOptions& options, Docket* docket,
                  StaticReport* report) {
  docket->open("static");
  if (entry.failure) {
    docket->fail(*entry.failure);
    return {};
  }
  if (entry.statics) {
    *report = *entry.statics;
  } else {
    HONE_TRY(*report, static_gate(session.task(), entry.built, entry.program.object, options));
  }
  if (report->failure) {
    docket->fail(*report->failure);
    return {};
  }
  std::string note = fmt::format("{} findings told", report->findings.size());
  if (!report->lower_precision.empty()) note += ", lower-precision instructions: class C";
  if (!report->skipped.empty()) note += "; instructions not read: " + report->skipped;
  docket->pass(note);
  return {};
}

std::string correctness_note(const Trial& trial, const Ledger& ledger) {
  std::string note = fmt::format("{} runs", trial.runs());
  if (!trial.deterministic()) note += "; two runs of one draw differ in bits, each within the budget";
  for (const std::string& n : trial.notes()) note += "; " + n;
  for (const std::string& n : ledger.notes()) note += "; " + n;
  return note;
}

Failure less_precise(const StaticReport& report, const Ledger& ledger) {
  if (const auto decision = ledger.first_c()) return failure_of(*decision);
  const code::Census::Instruction& first = report.lower_precision.front();
  return {"static", "less_precise",
          fmt::format("{} of {} lower-precision instructions: '{}' in {}", code::name_of(first.kind),
                      report.lower_precision.size(), first.text, first.symbol),
          {{"instruction", first.text}, {"function", first.symbol}, {"kind", code::name_of(first.kind)}}};
}

/// The correctness gate's end: what all draws together say.
void conclude(const StaticReport& report, const Allowed& allowed, Trial& trial, Ledger& ledger,
              std::optional<Failure> failure, Docket* docket) {
  Verdict& verdict = docket->verdict();
  if (!failure)
    if (const auto wrong = ledger.close_all()) failure = failure_of(*wrong);
  verdict.errors = ledger.errors();
  if (failure) {
    docket->fail(std::move(*failure));
    return;
  }
  verdict.cls = ledger.cls();
  if (!report.lower_precision.empty()) verdict.cls = Class::C;
  // Bitwise equality is claimed for a whole verify only.
  if (verdict.cls == Class::A && verdict.depth == Depth::screen) verdict.cls = Class::B;
  if (verdict.cls == Class::C && !allowed.c) {
    docket->fail(less_precise(report, ledger));
    return;
  }
  docket->pass(correctness_note(trial, ledger));
}

Error no_time_for_truth(const Watch& watch, std::ptrdiff_t done, std::size_t all) {
  return usage_error(fmt::format("the time limit of {} was over when the true values of {} of {} cases were known",
                                 format_duration_ns(watch.limit_s() * 1e9), done, all),
                     "Give more time (--time-limit 20min), or the task fewer or smaller cases");
}

Error no_valid_draw(const task::Task& task) {
  return usage_error(
      fmt::format("task '{}': the reference in the task's precision is not finite where the truth is, on every "
                  "nominal draw",
                  task.name),
      "Make the reference stable (subtract the maximum, scale before squaring), or draw smaller values");
}

}  // namespace

Result<Entry> enter(lane::Lane& lane, const task::Task& task, const candidate::Candidate& candidate,
                    const candidate::Assignment& assignment, const lane::BuildOptions& build, candidate::Build as) {
  const std::int64_t start = monotonic_ns();
  Entry entry;
  entry.assignment = assignment;
  entry.source_hash = candidate::source_identity(candidate, assignment);
  auto resolved = candidate::resolve(candidate, assignment, task, as);
  if (!resolved.ok()) {
    // Only a usage error is the candidate's own: a parameter that does not bind.
    if (resolved.error().code != ErrorCode::usage) return std::move(resolved).error();
    entry.failure = Failure{"static", "bind_error", resolved.error().text(), Json::object()};
    entry.ms = ms_since(start);
    return entry;
  }
  entry.program.resolved = std::move(*resolved);
  HONE_TRY(lane::BuildOutcome outcome, lane.build(entry.program.resolved, build));
  if (auto* failure = std::get_if<Failure>(&outcome)) {
    entry.failure = std::move(*failure);
  } else {
    entry.built = std::get<lane::Built>(std::move(outcome));
    entry.program.object = std::move(entry.built.object);
    entry.built.object.clear();
    // Here rather than in the gate: builds run ahead in threads of their own. What fails is asked again there.
    if (auto statics = static_gate(task, entry.built, entry.program.object, StaticOptions{}); statics.ok())
      entry.statics = std::move(statics).value();
  }
  entry.ms = ms_since(start);
  return entry;
}

namespace {

/// 0, 2, 4, …, 1, 3, 5, …: all draws of one side of the guards, then the others. Changing sides means binding anew.
std::vector<int> side_by_side(int n) {
  std::vector<int> order;
  for (int start = 0; start < 2; ++start)
    for (int i = start; i < n; i += 2) order.push_back(i);
  return order;
}

}  // namespace

struct ScreenContext::Inner {
  ScreenOptions options;
  std::uint64_t seed = 0;
  double oracle_ms = 0;
  struct Part {
    std::string label;
    task::Distribution distribution;
    std::vector<ReadyDraw> draws;
  };
  std::vector<std::unique_ptr<CaseArenas>> arenas;
  std::vector<Part> parts;  // cheapest first
};

ScreenContext::ScreenContext(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
ScreenContext::~ScreenContext() = default;
std::uint64_t ScreenContext::seed() const { return inner_->seed; }
double ScreenContext::oracle_ms() const { return inner_->oracle_ms; }

Result<std::unique_ptr<ScreenContext>> ScreenContext::prepare(runner::Session& session, const ScreenOptions& options) {
  const std::int64_t start = monotonic_ns();
  auto inner = std::make_unique<Inner>();
  inner->options = options;
  inner->seed = options.seed != 0 ? options.seed : entropy64();
  const task::Task& task = session.task();
  HONE_TRY(const std::vector<SizedCase> cases, by_size(task, task.cases));
  std::uint64_t index = 0;
  bool usable = false;
  const Watch unlimited;
  const Watch& watch = options.watch ? *options.watch : unlimited;
  for (const SizedCase& one : cases) {
    HONE_TRY(std::unique_ptr<CaseArenas> arenas, CaseArenas::make(session, one.task_case.dims));
    // The cheapest case meets every distribution; the others only the declared one.
    std::vector<task::Distribution> distributions = {task::Distribution::nominal};
    if (&one == &cases.front()) distributions = task::distributions_for(task);
    for (const task::Distribution d : distributions) {
      Inner::Part part{one.task_case.label, d, {}};
      const int n = draws_for(one, options.effort, d);
      for (const int i : side_by_side(n)) {
        HONE_CHECK(watch.next(fmt::format("true values: case {}, {}", one.task_case.label, task::name_of(d))));
        if (watch.over()) return no_time_for_truth(watch, &one - cases.data(), cases.size());
        DrawName name{one.task_case.label, one.task_case.dims, {derived_seed(inner->seed, index++), d, 0}};
        HONE_TRY(ReadyDraw ready, make_ready(session, std::move(name), arenas->side(i),
                                             i == 0 && d == task::Distribution::nominal));
        usable |= static_cast<double>(ready.prepared.skipped) <=
                  kSkippedShare * static_cast<double>(ready.prepared.total);
        part.draws.push_back(std::move(ready));
      }
      inner->parts.push_back(std::move(part));
    }
    inner->arenas.push_back(std::move(arenas));
  }
  if (!usable) return no_valid_draw(task);
  inner->oracle_ms = ms_since(start);
  return std::unique_ptr<ScreenContext>(new ScreenContext(std::move(inner)));
}

Result<Verdict> screen(runner::Session& session, const Entry& entry, ScreenContext& context) {
  const ScreenContext::Inner& inner = context.inner();
  Docket docket(session, entry, Depth::screen);
  docket.verdict().seeds = {inner.seed};
  StaticReport report;
  HONE_CHECK(run_static(session, entry, inner.options.statics, &docket, &report));
  if (docket.failed()) return docket.finish();
  docket.open("correctness");
  Ledger ledger(inner.options.budget);
  Trial trial(session, entry.program);
  std::optional<Failure> failure;
  for (const ScreenContext::Inner::Part& part : inner.parts) {
    for (const ReadyDraw& draw : part.draws) {
      if (inner.options.watch) {
        if (inner.options.watch->cancelled()) HONE_CHECK(inner.options.watch->next(""));
        if (inner.options.watch->over())
          failure = out_of_time(*inner.options.watch, "correctness", fmt::format("{} runs were done", trial.runs()), {});
      }
      if (!failure) {
        HONE_TRY(failure, trial.run(draw, &ledger));
      }
      if (failure) break;
    }
    if (failure) break;
    if (const auto wrong = ledger.close(part.label, part.distribution)) {
      failure = failure_of(*wrong);
      break;
    }
  }
  conclude(report, inner.options.allowed, trial, ledger, std::move(failure), &docket);
  return docket.finish();
}

namespace {

/// Every draw of a verify, made, run and forgotten in turn.
class Verification {
 public:
  Verification(runner::Session& session, const Entry& entry, const VerifyOptions& options, const Watch& watch,
               std::uint64_t seed)
      : session_(session), options_(options), watch_(watch), seed_(seed), ledger_(options.budget),
        trial_(session, entry.program) {}

  Result<std::optional<Failure>> run() {
    const task::Task& task = session_.task();
    HONE_TRY(std::vector<SizedCase> cases, by_size(task, task.cases));
    const bool hidden = options_.hidden && task.hidden.draws > 0;
    expect(cases);
    if (hidden) left_out_.push_back("hidden shapes");
    for (const SizedCase& one : cases) {
      HONE_TRY(std::optional<Failure> failure, run_case(one, &one == &cases.front()));
      if (failure) return failure;
    }
    if (!hidden) return std::optional<Failure>();
    HONE_TRY(hidden_, hidden_cases(task, derived_seed(seed_, 0x48494444), clocked_, options_.oracle_s));
    left_out_.clear();
    expect(hidden_);
    for (const SizedCase& one : hidden_) {
      HONE_TRY(std::optional<Failure> failure, run_case(one, false));
      if (failure) return failure;
    }
    return std::optional<Failure>();
  }
  Ledger& ledger() { return ledger_; }
  Trial& trial() { return trial_; }
  const std::vector<SizedCase>& hidden() const { return hidden_; }

 private:
  /// Cases that are to come: what is left out when the time is over.
  void expect(const std::vector<SizedCase>& cases) {
    for (const SizedCase& one : cases) {
      left_out_.push_back("case " + one.task_case.label);
      for (const task::Distribution d : task::distributions_for(session_.task()))
        most_draws_ += draws_for(one, options_.effort, d);
    }
  }
  /// Before each draw: whether there is time for it.
  Result<std::optional<Failure>> in_time(const SizedCase& one, task::Distribution d) {
    HONE_CHECK(watch_.next(fmt::format("correctness: case {}, {}, draw {}", one.task_case.label, task::name_of(d), draws_ + 1)));
    if (!watch_.over()) return std::optional<Failure>();
    return std::optional(out_of_time(watch_, "correctness",
                                     fmt::format("{} of at most {} draws were done", draws_, most_draws_), left_out_));
  }

  Result<std::optional<Failure>> run_case(const SizedCase& one, bool first) {
    HONE_TRY(const std::unique_ptr<CaseArenas> arenas, CaseArenas::make(session_, one.task_case.dims));
    double truth_ms = 0;
    std::optional<Failure> failure;
    for (const task::Distribution d : shuffled(task::distributions_for(session_.task()), derived_seed(seed_, 0x4F52444552))) {
      int n = draws_for(one, options_.effort, d);
      if (d != task::Distribution::nominal && !first) {
        // Timed cases may be dear to evaluate: beside the declared distribution they meet as many others as time allows.
        const double cost_ms = truth_ms * kEvaluations * n;
        if (one.task_case.time && spent_ms_ + cost_ms > options_.other_distributions_s * 1e3) continue;
        spent_ms_ += one.task_case.time ? cost_ms : 0;
      }
      for (const int i : side_by_side(n)) {
        HONE_TRY(failure, in_time(one, d));
        if (failure) break;
        DrawName name{one.task_case.label, one.task_case.dims, {draw_seed(one.task_case.label, d, i), d, 0}};
        HONE_TRY(const ReadyDraw draw, make_ready(session_, std::move(name), arenas->side(i),
                                                  i == 0 && d == task::Distribution::nominal));
        truth_ms = std::max(truth_ms, draw.prepared.truth_ms);
        HONE_TRY(failure, trial_.run(draw, &ledger_));
        ++draws_;
        if (!options_.keep_draws) HONE_CHECK(session_.oracle().forget(draw.prepared.id));
        // One dear draw is enough where a second would take seconds.
        if (failure || (one.size == SizedCase::Size::large && truth_ms * kEvaluations > kDearDraw_ms)) break;
      }
      if (failure) break;
      if (const auto wrong = ledger_.close(one.task_case.label, d)) {
        failure = failure_of(*wrong);
        break;
      }
    }
    trial_.release();
    clocked_.push_back({one, truth_ms});
    if (!failure) std::erase(left_out_, "case " + one.task_case.label);
    return failure;
  }

  // By name, not by number: how many draws there was time for must not change the others.
  std::uint64_t draw_seed(const std::string& label, task::Distribution d, int i) const {
    const std::uint64_t name = fingerprint(std::as_bytes(std::span(label)), static_cast<std::uint64_t>(d));
    return derived_seed(derived_seed(seed_, name), static_cast<std::uint64_t>(i));
  }

  static constexpr double kDearDraw_ms = 1500;
  runner::Session& session_;
  const VerifyOptions& options_;
  const Watch& watch_;
  std::uint64_t seed_;
  double spent_ms_ = 0;
  int draws_ = 0, most_draws_ = 0;
  std::vector<std::string> left_out_;
  Ledger ledger_;
  Trial trial_;
  std::vector<ClockedCase> clocked_;
  std::vector<SizedCase> hidden_;
};

std::vector<task::Case> memory_cases(const task::Task& task, const std::vector<SizedCase>& hidden, std::uint64_t seed,
                                     const MemoryOptions& options) {
  std::vector<task::Case> out;
  for (const task::Case& c : task.cases)
    if (!c.time) out.push_back(c);
  // Hidden shapes scaled down, where the task has a range for them.
  if (task.hidden.draws > 0)
    if (auto small = task::draw_hidden_cases(task, seed, options.largest_bytes / 16); small.ok())
      out.insert(out.end(), small->begin(), small->end());
  for (const SizedCase& one : hidden) out.push_back(one.task_case);
  for (const task::Case& c : task.cases)
    if (c.time) out.push_back(c);
  return out;
}

Status run_memory(runner::Session& session, const Entry& entry, const VerifyOptions& options, const Watch& watch,
                  const Verification& verification, std::uint64_t seed, Docket* docket) {
  docket->open("memory");
  if (!options.memory) {
    docket->skip("not asked for");
    return {};
  }
  const std::uint64_t own = derived_seed(seed, 0x4D454D);
  MemoryOptions memory = options.memory_options;
  memory.watch = &watch;
  HONE_TRY(const MemoryReport report,
           memory_gate(session, entry.program.resolved, memory_cases(session.task(), verification.hidden(), own, memory),
                       own, memory));
  if (report.failure) {
    docket->fail(*report.failure);
    return {};
  }
  const std::string note = fmt::format("{} runs under {}{}", report.runs, fmt::join(report.tools, ", "),
                                       report.missing.empty() ? ""
                                                              : "; missing: " + fmt::format("{}", fmt::join(report.missing, "; ")));
  if (report.tools.empty()) docket->skip(note);
  else docket->pass(note);
  return {};
}

}  // namespace

Result<Verdict> verify(runner::Session& session, const Entry& entry, const VerifyOptions& options) {
  const std::uint64_t seed = options.seed != 0 ? options.seed : entropy64();
  Docket docket(session, entry, Depth::verify);
  docket.verdict().seeds = {seed};
  StaticReport report;
  HONE_CHECK(run_static(session, entry, options.statics, &docket, &report));
  if (docket.failed()) return docket.finish();

  const Watch unlimited;
  const Watch& watch = options.watch ? *options.watch : unlimited;
  docket.open("correctness");
  Verification verification(session, entry, options, watch, seed);
  HONE_TRY(std::optional<Failure> failure, verification.run());
  if (!failure && !verification.ledger().any_nominal()) return no_valid_draw(session.task());
  conclude(report, options.allowed, verification.trial(), verification.ledger(), std::move(failure), &docket);
  if (docket.failed()) return docket.finish();

  HONE_CHECK(run_memory(session, entry, options, watch, verification, seed, &docket));
  if (docket.failed()) return docket.finish();

  docket.open("performance");
  if (!options.performance) {
    docket.skip("not asked for");
    return docket.finish();
  }
  Verdict& verdict = docket.verdict();
  const std::size_t gates = verdict.gates.size();
  HONE_CHECK(options.performance(entry, verdict));
  // Who times may close the gate itself, and then says more than can be said here.
  if (verdict.gates.size() > gates) {
    if (verdict.failure && !verdict.failure->evidence.contains("next"))
      if (const Reason* reason = find_reason(verdict.failure->gate, verdict.failure->reason))
        verdict.failure->evidence["next"] = reason->next;
    return docket.finish();
  }
  if (verdict.failure) {
    docket.fail(*verdict.failure);
    return docket.finish();
  }
  docket.pass(fmt::format("{}: {:.3f} ({:.3f} to {:.3f})", name_of(verdict.answer), verdict.geomean,
                          verdict.geomean_low, verdict.geomean_high));
  return docket.finish();
}

}  // namespace hone::judge
