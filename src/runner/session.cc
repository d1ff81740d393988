#include "runner/session.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <optional>

#include "runner/cuda/gpu_session.h"
#include "runner/runner_client.h"
#include "runner/session_builds.h"
#include "wire/sandbox.h"

namespace hone::runner {
namespace {

using candidate::Failure;

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

class SessionImpl final : public Session {
 public:
  SessionImpl(const task::Task& task, const SessionOptions& options)
      : task_(task), options_(options), cpus_(options.runner_cpus.empty() ? usable_cpus() : options.runner_cpus) {}

  Status start() {
    HONE_TRY(const SessionBuilds builds, build_references(task_, *options_.lane));
    baseline_ = builds.baseline;
    OracleOptions oracle_options;
    oracle_options.truth_object = builds.truth.object;
    oracle_options.rounded_object = builds.rounded.object;
    oracle_options.lower_object = builds.lower.object;
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
    return run_staged_draw(*this, runner, arenas, prepared);
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
  if (options.lane->name() == "cuda") return open_gpu_session(task, options);
  auto session = std::make_unique<SessionImpl>(task, options);
  HONE_CHECK(session->start());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace hone::runner
