#include "runner/session.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "runner/runner_client.h"
#include "wire/sandbox.h"

namespace hone::runner {
namespace {

using candidate::Build;
using candidate::Failure;

/// The class whose r tells "right, but less precise" (class C); none below f16, bf16, fp8, int.
std::optional<task::Precision> next_lower(task::Precision p) {
  switch (p) {
    case task::Precision::f64: return task::Precision::f32;
    case task::Precision::f32: return task::Precision::tf32;
    case task::Precision::tf32: return task::Precision::bf16;
    default: return std::nullopt;
  }
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  if (out.empty()) out.push_back(0);
  return out;
}

struct Job {
  candidate::Resolved resolved;
  std::string what;
};

Result<std::string> build_object(lane::Lane& lane, const Job& job) {
  lane::BuildOptions options;
  HONE_TRY(lane::BuildOutcome outcome, lane.build(job.resolved, options));
  if (const auto* failure = std::get_if<Failure>(&outcome)) {
    Error error = usage_error(fmt::format("{} does not build: {}", job.what, failure->message));
    if (failure->evidence.contains("log") && failure->evidence["log"].is_string())
      return std::move(error).with("log", failure->evidence["log"].get<std::string>());
    return error;
  }
  return std::get<lane::Built>(std::move(outcome)).object;
}

/// All at once, each in a thread; the first error of them in order.
Result<std::vector<std::string>> build_all(lane::Lane& lane, const std::vector<Job>& jobs) {
  std::vector<std::optional<Result<std::string>>> built(jobs.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    threads.emplace_back([&, i] { built[i] = build_object(lane, jobs[i]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> objects;
  for (auto& object : built) {
    if (!object->ok()) return std::move(*object).error();
    objects.push_back(std::move(*object).value());
  }
  return objects;
}

class SessionImpl final : public Session {
 public:
  SessionImpl(const task::Task& task, const SessionOptions& options)
      : task_(task), options_(options), cpus_(options.runner_cpus.empty() ? usable_cpus() : options.runner_cpus) {}

  Status start() {
    if (!task_.reference.contains(options_.lane->name()))
      return usage_error(fmt::format("task '{}' has no reference for lane {}", task_.name, options_.lane->name()),
                         "Add reference.source." + options_.lane->name() + " to " + task_.file.string());
    const std::string path = (task_.folder / task_.reference.at(options_.lane->name())).string();
    HONE_TRY(const candidate::Candidate reference, candidate::read(path));
    std::vector<Job> jobs;
    const auto add = [&](const candidate::Candidate& source, const task::Task& task, Build build,
                         std::string what) -> Status {
      HONE_TRY(const candidate::Assignment assignment, candidate::default_assignment(source, task));
      HONE_TRY(candidate::Resolved resolved, candidate::resolve(source, assignment, task, build));
      jobs.push_back({std::move(resolved), std::move(what)});
      return {};
    };
    HONE_CHECK(add(reference, task_, Build::oracle, "the reference in its wider type"));
    HONE_CHECK(add(reference, task_, Build::rounded, "the reference in the task's precision"));
    if (task_.baseline == "reference") {
      HONE_CHECK(add(reference, task_, Build::baseline, "the baseline"));
    } else {
      HONE_TRY(const candidate::Candidate own, candidate::read((task_.folder / task_.baseline).string()));
      HONE_CHECK(add(own, task_, Build::candidate, "the baseline " + task_.baseline));
    }
    const auto lower = next_lower(task_.precision);
    if (lower) {
      task::Task less_precise = task_;
      less_precise.precision = *lower;
      HONE_CHECK(add(reference, less_precise, Build::rounded, "the reference one class less precise"));
    }
    HONE_TRY(const std::vector<std::string> objects, build_all(*options_.lane, jobs));
    baseline_ = {objects[2], jobs[2].resolved};
    OracleOptions oracle_options;
    oracle_options.truth_object = objects[0];
    oracle_options.rounded_object = objects[1];
    if (lower) oracle_options.lower_object = objects[3];
    HONE_TRY(oracle_, Oracle::start(task_, oracle_options));
    wire::JailSpec spec;
    spec.unsafe = options_.unsafe;
    HONE_TRY(candidate_jail_, wire::Jail::start(spec));
    HONE_TRY(baseline_jail_, wire::Jail::start(spec));
    return {};
  }

  const task::Task& task() const override { return task_; }
  lane::Lane& lane() override { return *options_.lane; }
  Oracle& oracle() override { return *oracle_; }
  const Program& baseline() override { return baseline_; }

  Result<RunnerOutcome> start_runner(Who who, const Program& program, int threads_hint) override {
    RunnerStart start;
    start.task = &task_;
    start.jail = who == Who::candidate ? &*candidate_jail_ : &*baseline_jail_;
    start.program = &program;
    start.threads = std::clamp(threads_hint, 1, std::max(1, task_.limits.threads));
    start.cpus = runner_cpus(start.threads);
    start.memory_limit_bytes = options_.memory_limit_bytes + static_cast<std::uint64_t>(task_.limits.memory_gb * 1e9);
    auto outcome = start_runner_process(start);
    if (outcome.ok()) return outcome;
    // A jail that died (killed from outside, out of memory) is replaced once; then it is the machine's fault.
    wire::JailSpec spec;
    spec.unsafe = options_.unsafe;
    HONE_TRY(*(who == Who::candidate ? &candidate_jail_ : &baseline_jail_), wire::Jail::start(spec));
    start.jail = who == Who::candidate ? &*candidate_jail_ : &*baseline_jail_;
    return start_runner_process(start);
  }

  Result<std::variant<DrawCheck, Failure>> run_draw(Runner& runner, const Arenas& arenas,
                                                    const Prepared& prepared) override {
    HONE_CHECK(oracle_->stage(prepared.id, arenas.id));
    HONE_TRY(ReleaseOutcome outcome, runner.release(1, task_.limits.call_s));
    if (auto* failure = std::get_if<Failure>(&outcome)) return std::variant<DrawCheck, Failure>(std::move(*failure));
    HONE_TRY(DrawCheck check, oracle_->check(prepared.id, arenas.id));
    return std::variant<DrawCheck, Failure>(std::move(check));
  }

  std::vector<std::string> sandbox_layers() const override { return candidate_jail_->layers(); }

  std::vector<int> runner_cpus(int threads) const override {
    // The last ones: the first is left to the coordinator, where interrupts mostly go as well.
    const auto n = std::min<std::size_t>(cpus_.size(), static_cast<std::size_t>(std::max(1, threads)));
    return {cpus_.end() - static_cast<std::ptrdiff_t>(n), cpus_.end()};
  }

 private:
  task::Task task_;
  SessionOptions options_;
  std::vector<int> cpus_;
  Program baseline_;
  std::unique_ptr<Oracle> oracle_;
  std::optional<wire::Jail> candidate_jail_, baseline_jail_;
};

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const task::Task& task, const SessionOptions& options) {
  auto session = std::make_unique<SessionImpl>(task, options);
  HONE_CHECK(session->start());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace hone::runner
