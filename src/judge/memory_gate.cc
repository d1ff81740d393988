#include "judge/memory_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "judge/case_plan.h"
#include "judge/reasons.h"
#include "judge/trial.h"
#include "lane/cpu/sanitize.h"

namespace hone::judge {
namespace {

using candidate::Argument;
using candidate::Failure;
using lane::SanitizeOutcome;
using lane::Tool;

/// Everything a sanitized run takes for one draw; owns the bytes that `inputs` points to.
struct Stage {
  std::vector<std::string> bytes;
  lane::SanitizeInputs inputs;
};

std::string scalar_bytes(task::DType type, double value) {
  std::string out(task::size_of(type), '\0');
  task::store_element(type, reinterpret_cast<std::byte*>(out.data()), value);
  return out;
}

std::optional<std::size_t> input_named(const task::Task& task, const std::string& name) {
  for (std::size_t i = 0; i < task.inputs.size(); ++i)
    if (task.inputs[i].name == name) return i;
  return std::nullopt;
}

Result<Stage> stage(runner::Session& session, const candidate::Resolved& resolved, const DrawName& draw,
                    const runner::Prepared& prepared) {
  const task::Task& task = session.task();
  HONE_TRY(const std::vector<std::string> drawn, session.oracle().inputs_of(prepared.id));
  HONE_TRY(const std::vector<double> scalars, session.oracle().scalars_of(prepared.id));
  Stage out;
  const auto arguments = candidate::argument_list(task, resolved.scratch);
  out.bytes.reserve(arguments.size());
  std::vector<std::int64_t> dims;
  for (const auto& [name, value] : draw.dims)
    if (task.dims.contains(name)) dims.push_back(value);
  for (const Argument& argument : arguments) {
    lane::SanitizeArgument next;
    std::string bytes;
    switch (argument.kind) {
      case Argument::Kind::input: bytes = drawn.at(argument.index); break;
      case Argument::Kind::output: {
        const task::Tensor& tensor = task.outputs.at(argument.index);
        HONE_TRY(const std::int64_t size, task::bytes_of(tensor, draw.dims));
        next.size = static_cast<std::size_t>(size);
        next.writable = next.output = true;
        if (!tensor.inout.empty())
          if (const auto input = input_named(task, tensor.inout)) bytes = drawn.at(*input);
        break;
      }
      case Argument::Kind::scratch: {
        const candidate::Scratch& scratch = resolved.scratch.at(argument.index);
        HONE_TRY(const std::int64_t size, candidate::scratch_bytes(scratch, resolved, draw.dims));
        next.size = static_cast<std::size_t>(size);
        next.writable = true;
        if (scratch.zero) bytes.assign(next.size, '\0');
        break;
      }
      case Argument::Kind::dim:
        bytes.assign(reinterpret_cast<const char*>(&dims.at(argument.index)), sizeof(std::int64_t));
        break;
      case Argument::Kind::scalar:
        bytes = scalar_bytes(task.scalars.at(argument.index).dtype, scalars.at(argument.index));
        break;
    }
    if (!bytes.empty()) next.size = bytes.size();
    out.bytes.push_back(std::move(bytes));
    next.bytes = std::as_bytes(std::span(out.bytes.back()));
    out.inputs.arguments.push_back(next);
  }
  HONE_TRY(out.inputs.threads, candidate::threads_for(resolved, task, draw.dims));
  return out;
}

Failure finding(const SanitizeOutcome& outcome, Tool tool) {
  const char* reason = tool == Tool::thread ? "race" : tool == Tool::memory ? "uninitialised" : "address";
  if (outcome.kind == "timeout") reason = "timeout";
  if (outcome.kind == "memory") reason = "out_of_memory";
  if (outcome.kind == "crash") reason = "crash";
  Failure out{"memory", reason, fmt::format("{} sanitizer: {}", outcome.tool, outcome.kind), Json::object()};
  if (find_reason("memory", reason)->undecided) out.message = fmt::format("{} sanitizer: {}", outcome.tool, outcome.message);
  if (outcome.line > 0) out.message += fmt::format(" at line {}", outcome.line);
  out.evidence = {{"tool", outcome.tool}, {"kind", outcome.kind}, {"line", outcome.line}, {"report", outcome.message}};
  return out;
}

/// The tools this candidate needs; the address sanitizer first, as its reports are the plainest.
std::vector<Tool> tools_for(const candidate::Resolved& resolved) {
  std::vector<Tool> out = {Tool::address, Tool::memory};
  if (resolved.openmp) out.push_back(Tool::thread);
  return out;
}

class MemoryGate {
 public:
  MemoryGate(runner::Session& session, const candidate::Resolved& resolved, const MemoryOptions& options)
      : session_(session), resolved_(resolved), options_(options) {}

  /// False: the tool is missing and may be.
  Result<bool> usable(Tool tool, MemoryReport* report) {
    HONE_TRY(const SanitizeOutcome self, lane::self_test(tool));
    if (self.state == SanitizeOutcome::State::clean) return true;
    if (!options_.allow_missing_tools)
      return environment_error(fmt::format("the memory gate cannot run its {} tool: {}", lane::name_of(tool), self.message),
                               "Install clang and its runtimes (scripts/setup.sh does), or allow missing tools");
    report->missing.push_back(fmt::format("{}: {}", lane::name_of(tool), self.message));
    return false;
  }

  Result<std::optional<Failure>> run(Tool tool, const DrawName& draw, const runner::Prepared& prepared,
                                     MemoryReport* report) {
    HONE_TRY(Stage staged, stage(session_, resolved_, draw, prepared));
    // The memory tool knows nothing of OpenMP's own synchronisation: one thread.
    if (tool == Tool::memory) std::fill(staged.inputs.threads.begin(), staged.inputs.threads.end(), 1);
    // Twice: what a first call leaves behind in scratch shows in the second.
    staged.inputs.calls = 2;
    for (const task::Tensor& output : session_.task().outputs)
      if (!output.inout.empty()) staged.inputs.calls = 1;
    HONE_TRY(const SanitizeOutcome outcome, lane::run_sanitized(tool, resolved_, staged.inputs, {.run_s = options_.run_s}));
    ++report->runs;
    if (outcome.state == SanitizeOutcome::State::finding) return std::optional(at_draw(finding(outcome, tool), draw));
    if (outcome.state == SanitizeOutcome::State::unavailable) {
      // The tool works on this machine but not on this source.
      report->missing.push_back(fmt::format("{}: {}", lane::name_of(tool), outcome.message));
      return std::optional<Failure>();
    }
    if (!checked_outputs(outcome)) return std::optional<Failure>();
    HONE_TRY(const runner::DrawCheck check, session_.oracle().check_bytes(prepared.id, outcome.outputs));
    Ledger ledger(Budget{}.scaled(kSanitizedSlack));
    ledger.add(draw, check);
    if (const auto wrong = ledger.close(draw.case_label, draw.spec.distribution)) {
      Failure failure = failure_of(*wrong);
      failure.gate = "memory";
      failure.reason = "differs";
      failure.evidence["tool"] = outcome.tool;
      return std::optional(at_draw(std::move(failure), draw));
    }
    return std::optional<Failure>();
  }

 private:
  // One draw is no pool: only what is plainly wrong counts here, precision was judged before.
  static constexpr double kSanitizedSlack = 16;
  bool checked_outputs(const SanitizeOutcome& outcome) const {
    return outcome.outputs.size() == session_.task().outputs.size();
  }
  runner::Session& session_;
  const candidate::Resolved& resolved_;
  const MemoryOptions& options_;
};

}  // namespace

Result<MemoryReport> memory_gate(runner::Session& session, const candidate::Resolved& resolved,
                                 const std::vector<task::Case>& cases, std::uint64_t seed,
                                 const MemoryOptions& options) {
  MemoryReport report;
  std::vector<SizedCase> chosen;
  HONE_TRY(std::vector<SizedCase> sized, by_size(session.task(), cases));
  // `cases` come in order of preference, the smallest stands in when all are too large.
  for (const task::Case& wanted : cases)
    for (const SizedCase& one : sized)
      if (one.task_case.dims == wanted.dims && one.bytes <= options.largest_bytes &&
          chosen.size() < static_cast<std::size_t>(options.most_cases) &&
          std::none_of(chosen.begin(), chosen.end(),
                       [&](const SizedCase& c) { return c.task_case.dims == wanted.dims; }))
        chosen.push_back(one);
  if (chosen.empty() && !sized.empty()) chosen.push_back(sized.front());

  struct Drawn {
    DrawName name;
    runner::Prepared prepared;
  };
  std::vector<Drawn> draws;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const task::Case& c = chosen[i].task_case;
    DrawName name{c.label, c.dims, {derived_seed(seed, i), task::Distribution::nominal, 0}};
    HONE_TRY(const runner::Prepared prepared, session.oracle().prepare({name.dims, name.spec}));
    if (prepared.truth_ms > options.largest_truth_ms && !draws.empty()) {
      HONE_CHECK(session.oracle().forget(prepared.id));
      continue;
    }
    draws.push_back({std::move(name), prepared});
  }

  MemoryGate gate(session, resolved, options);
  const Watch unlimited;
  const Watch& watch = options.watch ? *options.watch : unlimited;
  const std::vector<Tool> tools = tools_for(resolved);
  std::optional<Failure> undecided;  // what another tool finds says more
  for (const Tool tool : tools) {
    HONE_TRY(const bool usable, gate.usable(tool, &report));
    if (!usable) continue;
    const std::size_t missing_before = report.missing.size();
    for (const Drawn& draw : draws) {
      HONE_CHECK(watch.next(fmt::format("memory: {} sanitizer, case {}", lane::name_of(tool), draw.name.case_label)));
      if (watch.over()) {
        report.failure = out_of_time(watch, "memory",
                                     fmt::format("{} of {} sanitized runs were done", report.runs, tools.size() * draws.size()), {});
        break;
      }
      HONE_TRY(report.failure, gate.run(tool, draw.name, draw.prepared, &report));
      if (report.failure && find_reason("memory", report.failure->reason)->undecided) {
        if (!undecided) undecided = std::move(report.failure);
        report.failure.reset();
        break;  // this tool's other draws may take as long
      }
      if (report.failure) break;
      if (report.missing.size() > missing_before) break;
    }
    if (report.missing.size() == missing_before) report.tools.emplace_back(lane::name_of(tool));
    if (report.failure) break;
  }
  if (undecided && (!report.failure || report.failure->reason == "out_of_time")) report.failure = std::move(undecided);
  for (const Drawn& draw : draws) HONE_CHECK(session.oracle().forget(draw.prepared.id));
  return report;
}

}  // namespace hone::judge
