#include "audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "judge/case_plan.h"
#include "judge/trial.h"
#include "task/task_file.h"

namespace hone::audit {
namespace {

using judge::Entry;
using State = MutantReport::State;

// Bit for bit equal on this many draws of all distributions: then a mutant is called equivalent.
constexpr int kEquivalenceDraws = 200;

const char* hint_of(const std::string& op) {
  for (const MutationOperator& o : mutation_operators())
    if (op == o.name) return o.hint;
  return "";
}

/// Mistakes that only another shape may show.
bool needs_other_shapes(const std::string& op) {
  return op == "off_by_one" || op == "less_equal" || op == "missing_tail" || op == "wrong_index";
}

/// The baseline build of a source in the reference's place.
Result<Entry> enter_reference(runner::Session& session, const std::string& source, const std::string& path) {
  const task::Task& task = session.task();
  auto candidate = candidate::parse(source, path);
  Entry refused;
  if (!candidate.ok()) {
    refused.failure = candidate::Failure{"static", "bind_error", candidate.error().text(), Json::object()};
    return refused;
  }
  HONE_TRY(const candidate::Assignment assignment, candidate::default_assignment(*candidate, task));
  return judge::enter(session.lane(), task, *candidate, assignment, {}, candidate::Build::baseline);
}

/// Builds all, a few at a time, in the order given; empty entries once the time is over.
std::vector<Result<Entry>> build_all(runner::Session& session, const std::vector<Mutant>& mutants,
                                     const std::string& path, int builders, const judge::Watch& watch) {
  std::vector<std::optional<Result<Entry>>> built(mutants.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < std::max(1, builders); ++t)
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < mutants.size(); i = next++)
        built[i] = watch.over() || watch.cancelled() ? Result<Entry>(Entry()) : enter_reference(session, mutants[i].source, path);
    });
  for (std::thread& t : threads) t.join();
  std::vector<Result<Entry>> out;
  for (auto& one : built) out.push_back(std::move(*one));
  return out;
}

/// What the original measures on many draws; a mutant that measures the same everywhere is equivalent.
class Twin {
 public:
  Twin(runner::Session& session, const Entry& original, std::uint64_t seed, const judge::Watch& watch)
      : session_(session), original_(original), seed_(seed), watch_(watch) {}

  /// nullopt: the same on every draw (looked at before the time was over); else where it first differed.
  Result<std::optional<std::string>> difference(const Entry& mutant) {
    HONE_CHECK(prepare());
    judge::Trial ours(session_, original_.program), theirs(session_, mutant.program);
    for (std::size_t i = 0; i < draws_.size() && !watch_.over() && !watch_.cancelled(); ++i) {
      if (i >= expected_.size()) {
        HONE_TRY(const std::string seen, measure(ours, draws_[i]));
        expected_.push_back(seen);
      }
      HONE_TRY(const std::string seen, measure(theirs, draws_[i]));
      if (seen != expected_[i])
        return std::optional(fmt::format("case {}, distribution {}", draws_[i].name.case_label,
                                         task::name_of(draws_[i].name.spec.distribution)));
    }
    return std::optional<std::string>();
  }

 private:
  // The cheapest cases that have elements and small hidden shapes, every distribution in turn.
  Status prepare() {
    if (!draws_.empty()) return {};
    auto sized = judge::by_size(session_.task(), session_.task().cases);
    if (!sized.ok()) return std::move(sized).error();
    std::vector<judge::SizedCase> cheap;
    for (const judge::SizedCase& one : *sized)
      if (one.bytes > 0 && cheap.size() < kOwnCases) cheap.push_back(one);
    if (session_.task().hidden.draws > 0) {
      // A range that begins above the limit has no small shape; the task's own cases must do then.
      const auto hidden = task::draw_hidden_cases(session_.task(), judge::derived_seed(seed_, 0x5459), kHiddenBytes);
      auto small = judge::by_size(session_.task(), hidden.ok() ? *hidden : std::vector<task::Case>());
      if (!small.ok()) return std::move(small).error();
      for (judge::SizedCase& one : *small)
        if (one.bytes > 0) cheap.push_back(std::move(one));
    }
    const auto distributions = task::distributions_for(session_.task());
    for (const judge::SizedCase& one : cheap) {
      auto arenas = judge::CaseArenas::make(session_, one.task_case.dims);
      if (!arenas.ok()) return std::move(arenas).error();
      const int share = (kEquivalenceDraws + static_cast<int>(cheap.size()) - 1) / static_cast<int>(cheap.size());
      for (int i = 0; i < share && !watch_.over(); ++i) {
        const task::Distribution d = distributions[static_cast<std::size_t>(i) % distributions.size()];
        auto ready = judge::make_ready(session_,
                                       {one.task_case.label, one.task_case.dims,
                                        {judge::derived_seed(seed_, draws_.size() + 0x5457), d, 0}},
                                       (*arenas)->side(i), false);
        if (!ready.ok()) return std::move(ready).error();
        draws_.push_back(std::move(*ready));
      }
      arenas_.push_back(std::move(*arenas));
    }
    return {};
  }

  static constexpr std::size_t kOwnCases = 3;
  static constexpr std::int64_t kHiddenBytes = std::int64_t{1} << 20;
  /// Everything the oracle measured of the outputs, as text; or the failure.
  Result<std::string> measure(judge::Trial& trial, const judge::ReadyDraw& draw) {
    HONE_TRY(const auto seen, trial.look(draw));
    if (const auto* failure = std::get_if<candidate::Failure>(&seen)) return failure->reason;
    std::string out;
    for (const runner::OutputErrors& e : std::get<runner::DrawCheck>(seen).outputs) out += runner::to_json(e).dump();
    return out;
  }

  runner::Session& session_;
  const Entry& original_;
  std::uint64_t seed_;
  const judge::Watch& watch_;
  std::vector<std::unique_ptr<judge::CaseArenas>> arenas_;
  std::vector<judge::ReadyDraw> draws_;
  std::vector<std::string> expected_;
};

class Audit {
 public:
  Audit(runner::Session& session, const AuditOptions& options)
      : session_(session), options_(options), watch_(options.watch ? *options.watch : unlimited_),
        seed_(options.seed != 0 ? options.seed : entropy64()) {}

  Result<AuditReport> run() {
    const std::int64_t start = monotonic_ns();
    const task::Task& task = session_.task();
    report_.task_name = task.name;
    report_.seed = seed_;
    HONE_CHECK(watch_.next("null answers"));
    HONE_TRY(report_.admission, judge::admit(session_, seed_, judge::Budget{}, &watch_));
    const auto named = task.reference.find(session_.lane().name());
    if (named == task.reference.end())
      return usage_error(fmt::format("task '{}' has no reference for lane {}", task.name, session_.lane().name()));
    path_ = (task.folder / named->second).string();
    HONE_TRY(const std::string source, read_file(path_));
    HONE_TRY(const std::vector<Mutant> mutants, mutants_of(source, path_, options_.most_mutants));
    HONE_TRY(original_, enter_reference(session_, source, path_));
    if (original_.failure)
      return usage_error("the reference does not build as a candidate: " + original_.failure->message);
    HONE_CHECK(watch_.next(fmt::format("building {} mutants", mutants.size())));
    const std::vector<Result<Entry>> built = build_all(session_, mutants, path_, options_.builders, watch_);
    judge::ScreenOptions screen;
    screen.seed = judge::derived_seed(seed_, 0x53);
    screen.statics.instructions = false;  // a rounded factor is to be found by its error
    screen.watch = &watch_;
    auto context = judge::ScreenContext::prepare(session_, screen);
    if (context.ok()) context_ = std::move(context).value();
    else if (!watch_.over()) return std::move(context).error();
    twin_ = std::make_unique<Twin>(session_, original_, seed_, watch_);
    for (std::size_t i = 0; i < mutants.size(); ++i) {
      if (!built[i].ok()) return Error(built[i].error());
      HONE_CHECK(watch_.next(fmt::format("mutant {} of {}", i + 1, mutants.size())));
      MutantReport one;
      one.mutant = mutants[i];
      if (!watch_.over()) {
        HONE_TRY(one, judge_one(mutants[i], *built[i]));
      }
      // What was cut short is neither killed nor alive.
      if (watch_.over()) one = {mutants[i], State::left_out, "", "", "the time limit was over", false};
      count(one);
      one.mutant.source.clear();
      report_.mutants.push_back(std::move(one));
    }
    watch_.tell(fmt::format("mutant {} of {}", report_.mutants.size(), mutants.size()));
    const int decided = report_.killed + report_.survived;
    report_.score = decided > 0 ? static_cast<double>(report_.killed) / decided : 1;
    report_.ms = static_cast<double>(monotonic_ns() - start) * 1e-6;
    return std::move(report_);
  }

 private:
  void count(const MutantReport& one) {
    switch (one.state) {
      case State::killed: ++report_.killed; break;
      case State::survived: ++report_.survived; break;
      case State::equivalent: ++report_.equivalent; break;
      case State::not_built: ++report_.not_built; break;
      case State::left_out: ++report_.left_out; break;
    }
  }

  Result<MutantReport> judge_one(const Mutant& mutant, const Entry& entry) {
    MutantReport out;
    out.mutant = mutant;
    if (entry.failure) {
      out.state = State::not_built;
      out.gate = entry.failure->gate;
      out.reason = entry.failure->reason;
      return out;
    }
    if (entry.built.machine_code_hash == original_.built.machine_code_hash) {
      out.state = State::equivalent;
      out.why = "the machine code is the reference's own";
      return out;
    }
    HONE_TRY(const judge::Verdict verdict, judge::screen(session_, entry, *context_));
    if (!verdict.correct) {
      out.gate = verdict.failure->gate;
      out.reason = verdict.failure->reason;
      return out;
    }
    return judge_survivor(std::move(out), entry);
  }

  Result<MutantReport> judge_survivor(MutantReport out, const Entry& entry) {
    if (options_.verify_survivors) {
      judge::VerifyOptions verify;
      verify.seed = judge::derived_seed(seed_, 0x56);
      verify.statics.instructions = false;
      verify.watch = &watch_;
      verify.memory_options.allow_missing_tools = true;
      HONE_TRY(const judge::Verdict verdict, judge::verify(session_, entry, verify));
      if (!verdict.correct) {
        const Json& evidence = verdict.failure->evidence;
        out.by_verify_only = true;
        out.gate = verdict.failure->gate;
        out.reason = verdict.failure->reason;
        out.why = fmt::format("a verify kills it ({}): case {}, distribution {}; as a [[case]] a screen would too",
                              out.reason, evidence.value("case", "?"), evidence.value("distribution", "?"));
        return out;
      }
    }
    HONE_TRY(const std::optional<std::string> differs, twin_->difference(entry));
    if (!differs && needs_other_shapes(out.mutant.op) && session_.task().hidden.draws == 0) {
      out.state = State::survived;
      out.why = fmt::format("equal on every draw, but the task has no hidden shapes to tell; try {}, or [hidden]",
                            hint_of(out.mutant.op));
      return out;
    }
    if (!differs) {
      out.state = State::equivalent;
      out.why = fmt::format("equal in every measured error on {} draws of all distributions", kEquivalenceDraws);
      return out;
    }
    out.state = State::survived;
    out.why = fmt::format("its answers differ ({}), but within the error budget; try {}", *differs, hint_of(out.mutant.op));
    return out;
  }

  runner::Session& session_;
  const AuditOptions& options_;
  const judge::Watch unlimited_;
  const judge::Watch& watch_;
  std::uint64_t seed_;
  std::string path_;
  Entry original_;
  std::unique_ptr<judge::ScreenContext> context_;
  std::unique_ptr<Twin> twin_;
  AuditReport report_;
};

}  // namespace

const char* name_of(State state) {
  switch (state) {
    case State::killed: return "killed";
    case State::survived: return "survived";
    case State::equivalent: return "equivalent";
    case State::not_built: return "not built";
    case State::left_out: return "left out";
  }
  return "";
}

Result<AuditReport> audit(runner::Session& session, const AuditOptions& options) {
  return Audit(session, options).run();
}

bool is_strong(const AuditReport& report) {
  // A null answer that passes makes a task weak at once; of mutants some change what no budget can see.
  constexpr double kStrong = 0.95;
  return report.admission.admitted && report.left_out == 0 && report.score >= kStrong;
}

}  // namespace hone::audit
