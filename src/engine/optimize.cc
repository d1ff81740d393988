#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "device/cpu.h"
#include "engine/bench.h"
#include "engine/command.h"
#include "engine/document.h"
#include "engine/evaluator.h"
#include "engine/evidence.h"
#include "propose/registry.h"
#include "report/run.h"
#include "search/loop.h"
#include "store/archive.h"
#include "task/task_file.h"

namespace hone {
namespace {

using engine::Bench;
using engine::JudgeEvaluator;

constexpr double kVerifyLimit_s = 300;  // as of hone verify

/// Everything that decides a run's course; kept in the archive, so that a resume needs nothing else.
struct Plan {
  std::string task;                        // as the user named it
  search::Budget budget;
  std::string budget_text;
  std::vector<std::string> proposers;
  std::vector<candidate::Candidate> candidates;
  std::uint64_t seed = 1;
  double margin = 0.01;
  judge::Allowed allowed;
};

Json to_json(const Plan& plan) {
  Json candidates = Json::array();
  for (const candidate::Candidate& c : plan.candidates) candidates.push_back({{"path", c.path}, {"source", c.source}});
  return {{"task", plan.task},     {"budget", plan.budget_text}, {"proposers", plan.proposers},
          {"candidates", candidates}, {"margin", plan.margin},
          {"accept_c", plan.allowed.c}, {"accept_x", plan.allowed.x}};
}

Result<Plan> plan_from(const store::RunRecord& run) {
  Plan plan;
  plan.seed = run.seed;
  const Json& o = run.options;
  HONE_TRY(plan.task, get_string(o, "task", "the run's options"));
  HONE_TRY(plan.budget_text, get_string(o, "budget", "the run's options"));
  HONE_TRY(plan.budget, search::parse_budget(plan.budget_text));
  HONE_TRY(plan.margin, get_number(o, "margin", "the run's options"));
  plan.allowed = {o.value("accept_c", false), o.value("accept_x", false)};
  for (const Json& name : o.value("proposers", Json::array()))
    if (name.is_string()) plan.proposers.push_back(name.get<std::string>());
  for (const Json& c : o.value("candidates", Json::array())) {
    HONE_TRY(candidate::Candidate parsed, candidate::parse(c.value("source", ""), c.value("path", "")));
    plan.candidates.push_back(std::move(parsed));
  }
  return plan;
}

Result<Plan> plan_from(const OptimizeRequest& request, const task::Task& task) {
  Plan plan;
  plan.task = request.task;
  plan.budget_text = request.budget;
  HONE_TRY(plan.budget, search::parse_budget(request.budget));
  plan.proposers = request.proposers.empty() ? std::vector<std::string>{"descent"} : request.proposers;
  plan.seed = request.seed != 0 ? request.seed : entropy64() >> 1;
  if (!(request.margin >= 0 && request.margin < 1)) return usage_error("--margin must be at least 0 and less than 1", "Write --margin 0.01 for 1 %");
  plan.margin = request.margin;
  plan.allowed = {request.accept_c, request.accept_x};
  std::vector<std::string> paths = request.candidates;
  if (paths.empty()) {
    HONE_TRY(paths, engine::candidates_of(task));
  }
  for (const std::string& path : paths) {
    HONE_TRY(candidate::Candidate c, candidate::read(path));
    HONE_TRY([[maybe_unused]] const candidate::Assignment first, candidate::default_assignment(c, task));
    plan.candidates.push_back(std::move(c));
  }
  return plan;
}

/// A proposer of one candidate among several: names in journal and reports must tell them apart.
class Named final : public propose::Proposer {
 public:
  Named(std::string name, std::unique_ptr<propose::Proposer> inner) : name_(std::move(name)), inner_(std::move(inner)) {}
  std::string name() const override { return name_; }
  std::vector<propose::Proposal> ask(int n) override { return inner_->ask(n); }
  void tell(std::uint64_t id, const propose::Outcome& outcome) override { inner_->tell(id, outcome); }
  bool done() const override { return inner_->done(); }
  std::string explain() const override { return inner_->explain(); }
  Json save() const override { return inner_->save(); }
  Status restore(const Json& state) override { return inner_->restore(state); }

 private:
  std::string name_;
  std::unique_ptr<propose::Proposer> inner_;
};

Result<std::vector<std::unique_ptr<propose::Proposer>>> make_proposers(const Plan& plan, const task::Task& task) {
  std::vector<std::unique_ptr<propose::Proposer>> out;
  for (const std::string& name : plan.proposers)
    for (const candidate::Candidate& c : plan.candidates) {
      HONE_TRY(std::unique_ptr<propose::Proposer> made, propose::make(name, c, task, {plan.seed}));
      if (plan.candidates.size() > 1)
        made = std::make_unique<Named>(fmt::format("{}:{}", name, fs::path(c.path).stem().string()), std::move(made));
      out.push_back(std::move(made));
    }
  return out;
}

/// The archive as the loop's memory: candidate, verdict and journal entry are one transaction.
class ArchiveJournal final : public search::Journal {
 public:
  ArchiveJournal(store::Archive& archive, std::string run) : archive_(archive), run_(std::move(run)) {}

  Status append(const search::Record& record, const propose::Proposal& proposal, const Json& verdict) override {
    return archive_.transaction([&]() -> Status {
      if (verdict.contains("correct")) {
        HONE_TRY(const judge::Verdict parsed, judge::verdict_from_json(verdict));
        store::NewCandidate entry;
        entry.source = proposal.source.source;
        entry.lane = proposal.source.lane;
        entry.path = proposal.source.path;
        entry.assignment = proposal.assignment;
        entry.provenance = proposal.source.provenance;
        entry.provenance.proposer = record.proposer;
        entry.source_identity = candidate::source_identity(proposal.source, proposal.assignment);
        HONE_TRY(const std::int64_t number, archive_.add_candidate(run_, entry));
        HONE_TRY([[maybe_unused]] const std::int64_t id, archive_.add_verdict(run_, number, parsed));
      }
      HONE_TRY([[maybe_unused]] const std::int64_t sequence, archive_.append_journal(run_, search::to_json(record)));
      return {};
    });
  }

  Result<std::vector<search::Record>> records() override {
    HONE_TRY(const std::vector<store::JournalEntry> entries, archive_.journal(run_));
    std::vector<search::Record> out;
    for (const store::JournalEntry& e : entries) {
      HONE_TRY(search::Record record, search::record_from_json(e.entry));
      out.push_back(std::move(record));
    }
    return out;
  }

 private:
  store::Archive& archive_;
  std::string run_;
};

ProgressEvent event_of(const search::Progress& p) {
  ProgressEvent event;
  event.tried = p.tried;
  event.failed = p.tried - p.correct;
  if (p.best) {
    const propose::Outcome& o = p.best->fresh ? *p.best->fresh : p.best->outcome;
    event.best = o.speedup;
    event.low = o.low;
    event.high = o.high;
  }
  event.elapsed_s = p.elapsed_s;
  event.left_s = p.left_s.value_or(-1);
  event.doing = p.replaying ? "reading what was done before" : p.explain.empty() ? p.proposer : p.explain;
  return event;
}

std::string stats_text(const engine::EvaluatorStats& s) {
  return fmt::format(
      "time      building {:.1f} s ({} built, waited {:.1f} s), screening {:.1f} s ({}), timing {:.1f} s ({}, {} stopped early), "
      "verifying {:.1f} s\n",
      s.build_ms / 1e3, s.built, s.waiting_ms / 1e3, s.screen_ms / 1e3, s.screened, s.timing_ms / 1e3, s.timed,
      s.stopped_early, s.verify_ms / 1e3);
}

/// One optimisation from its plan to its report.
class Optimization {
 public:
  Optimization(const OptimizeRequest& request, store::Archive& archive) : request_(request), archive_(archive) {}

  Result<OptimizeResult> start() {
    HONE_TRY(task::Task task, task::read_task(request_.task));
    HONE_TRY(plan_, plan_from(request_, task));
    HONE_TRY([[maybe_unused]] const auto known, make_proposers(plan_, task));  // names, before anything is begun
    HONE_CHECK(open(std::move(task)));
    store::RunStart record;
    record.task_name = bench_->task.name;
    record.task_identity = bench_->task.identity();
    record.task_folder = bench_->task.folder.string();
    record.task_text = bench_->task.text;
    record.options = to_json(plan_);
    record.seed = plan_.seed;
    record.device = device::to_json(device::cpu_facts());
    record.versions = engine::versions(*bench_->lane);
    record.command = engine::command_of(request_);
    HONE_TRY(run_, archive_.begin_run(record));
    return search();
  }

  Result<OptimizeResult> resume() {
    HONE_TRY(run_, archive_.find_run(request_.resume));
    HONE_TRY(const store::RunRecord record, archive_.run(run_));
    if (record.status == store::RunStatus::done)
      return usage_error("run " + run_ + " is done", "Start a new one: hone optimize " + record.task_folder);
    HONE_TRY(plan_, plan_from(record));
    HONE_TRY(task::Task task, task::read_task(record.task_folder));
    if (task.identity() != record.task_identity)
      return usage_error(fmt::format("the task in {} has changed since run {} began", record.task_folder, run_),
                         "Start a new run; verdicts on another task cannot be mixed");
    HONE_CHECK(open(std::move(task)));
    HONE_CHECK(archive_.set_status(run_, store::RunStatus::running, "resumed"));
    return search();
  }

 private:
  Status open(task::Task task) {
    if (engine::timed_cases(task).empty())
      return usage_error("the task has no timed case: there is nothing to make faster",
                         "Leave out time = false in one [[case]]");
    HONE_TRY(bench_, engine::open_bench(std::move(task), request_));
    return {};
  }

  Result<OptimizeResult> search() {
    auto result = run_search();
    if (!result.ok() && result.error().code != ErrorCode::cancelled) {
      // The first error is the one to tell; that it could not be noted either changes nothing about it.
      if (const Status noted = archive_.set_status(run_, store::RunStatus::failed, result.error().message); !noted.ok())
        log(LogLevel::warning, noted.error().text());
    }
    return result;
  }

  Result<OptimizeResult> run_search() {
    HONE_TRY(auto proposers, make_proposers(plan_, bench_->task));
    engine::announce(request_, "computing the true values");
    engine::EvaluatorOptions options;
    options.margin = plan_.margin;
    options.allowed = plan_.allowed;
    options.cancel = request_.cancel;
    options.verify_limit_s =
        request_.verify_limit_s >= 0 ? request_.verify_limit_s : std::max(kVerifyLimit_s, plan_.budget.seconds.value_or(0));
    options.allow_missing_tools = true;  // said in the verdict; `hone verify` insists
    HONE_TRY(const std::unique_ptr<JudgeEvaluator> evaluator, JudgeEvaluator::make(*bench_, options));
    ArchiveJournal journal(archive_, run_);
    search::LoopOptions loop;
    loop.budget = plan_.budget;
    loop.cancel = request_.cancel;
    // Verifying a finalist takes some ten seconds however long the search was.
    if (plan_.budget.seconds) loop.final_share = std::clamp(10.0 / *plan_.budget.seconds, 0.1, 0.35);
    if (request_.progress) loop.progress = [&](const search::Progress& p) { request_.progress(event_of(p)); };
    HONE_TRY(const search::LoopResult found, search::run_loop(std::move(proposers), *evaluator, journal, loop));
    if (found.ended == search::Ended::cancelled) {
      HONE_CHECK(archive_.set_status(run_, store::RunStatus::stopped, "interrupted"));
      return Error{ErrorCode::cancelled,
                   fmt::format("interrupted after {} candidates; nothing is lost", found.tried),
                   "Go on with: hone optimize --resume " + run_, {}};
    }
    HONE_CHECK(archive_.set_status(run_, store::RunStatus::done, search::name_of(found.ended)));
    return finish(found, *evaluator);
  }

  Result<OptimizeResult> finish(const search::LoopResult& found, const JudgeEvaluator& evaluator) {
    HONE_TRY(report::RunReport report, report::run_report(archive_, run_));
    OptimizeResult result;
    result.run = run_;
    result.tried = found.tried;
    const auto& best = report.summary.best ? report.summary.best : report.summary.best_other_class;
    if (best && best->depth == judge::Depth::verify && best->answer == judge::Answer::faster) {
      HONE_CHECK(write_kernel(*best, report));
      result.gain = true;
      result.speedup = {best->low, best->ratio, best->high, 0.95};
      result.kernel_class = judge::name_of(best->cls);
      result.kernel = report.kernel;
      result.evidence = report.evidence;
      if (report.best) result.tunables = report.best->assignment;
    }
    const bool tunable = std::any_of(plan_.candidates.begin(), plan_.candidates.end(),
                                     [](const candidate::Candidate& c) { return !c.tunables.empty(); });
    if (!tunable)
      report.note = "no candidate has a hone:tune line, so there was nothing to search; docs/candidate.md says how to write one";
    report.own = "hone init my_kernel.cpp && hone optimize my_kernel";
    static_cast<Document&>(result) = engine::document_of(report, request_, result.gain ? 0 : 1);
    if (request_.explain)
      for (const search::Contender& c : found.elites)
        result.text += fmt::format("elite     {} {} {}\n", c.proposer, candidate::to_json(c.proposal.assignment).dump(),
                                   report::ratio_text(c.outcome.speedup, c.outcome.low, c.outcome.high));
    if (request_.stats) result.text += stats_text(evaluator.stats());
    return result;
  }

  Status write_kernel(const store::EvaluationRow& best, report::RunReport& report) {
    HONE_TRY(const store::CandidateRecord record, archive_.candidate(run_, best.candidate));
    engine::Evidence evidence;
    evidence.task = bench_->task;
    HONE_TRY(evidence.candidate, candidate::parse(record.source, record.path));
    evidence.assignment = record.assignment;
    HONE_TRY(evidence.verdict, archive_.verdict(best.id, true));
    evidence.device = report.summary.run.device;
    evidence.versions = report.summary.run.versions;
    evidence.run = run_;
    const fs::path folder = report.summary.run.folder / "evidence";
    HONE_CHECK(engine::write_evidence(evidence, folder, true));
    report.evidence = folder.string();
    report.kernel = (folder / "kernel.cpp").string();
    report.best = record;
    report.verdict = evidence.verdict;
    return {};
  }

  const OptimizeRequest& request_;
  store::Archive& archive_;
  Plan plan_;
  std::optional<Bench> bench_;
  std::string run_;
};

}  // namespace

Result<OptimizeResult> optimize(const OptimizeRequest& request) {
  if (request.resume.empty() && request.task.empty())
    return usage_error("no task given", "hone optimize TASK, or hone optimize --resume RUN");
  HONE_TRY(store::Archive archive, store::Archive::open_writer(request.archive.empty() ? store::default_archive()
                                                                                       : fs::path(request.archive)));
  Optimization optimization(request, archive);
  return request.resume.empty() ? optimization.start() : optimization.resume();
}

}  // namespace hone
