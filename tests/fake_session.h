#pragma once
// A session without processes for tests of what asks one: whatever a test does not script is an Error, so that nothing
// passes by an answer that nobody thought of.

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runner/session.h"

namespace hone::testing {

inline Error not_scripted(const char* what) { return bug_error(std::string("not scripted: ") + what); }

/// Every operation is an Error; tests override those they need.
class FakeOracle : public runner::Oracle {
 public:
  Result<runner::Arenas> make_arenas(const task::Dims&, runner::Side) override { return not_scripted("make_arenas"); }
  Result<runner::Arenas> make_timing_arenas(const task::Dims&, std::int64_t) override {
    return not_scripted("make_timing_arenas");
  }
  Status drop_arenas(std::uint64_t) override { return not_scripted("drop_arenas"); }
  Result<runner::Prepared> prepare(const runner::DrawKey&) override { return not_scripted("prepare"); }
  Status forget(std::uint64_t) override { return not_scripted("forget"); }
  Status stage(std::uint64_t, std::uint64_t) override { return not_scripted("stage"); }
  Result<runner::DrawCheck> check(std::uint64_t, std::uint64_t) override { return not_scripted("check"); }
  Result<runner::DrawCheck> check_bytes(std::uint64_t, const std::vector<std::string>&) override {
    return not_scripted("check_bytes");
  }
  Result<std::vector<std::string>> inputs_of(std::uint64_t) override { return not_scripted("inputs_of"); }
  Result<std::vector<std::string>> truth_of(std::uint64_t, bool) override { return not_scripted("truth_of"); }
  Result<std::vector<double>> scalars_of(std::uint64_t) override { return not_scripted("scalars_of"); }
  Status fill(std::uint64_t, std::uint64_t, std::int64_t, bool) override { return not_scripted("fill"); }
  Status collect(std::uint64_t, std::uint64_t, const std::vector<std::int64_t>&, const std::string&) override {
    return not_scripted("collect");
  }
  Result<std::vector<Settled>> settle(double, int) override { return not_scripted("settle"); }
  Result<std::string> freshness(std::uint64_t) override { return not_scripted("freshness"); }
  std::int64_t resident_bytes() const override { return 0; }
};

/// Binds anything; its releases take no time.
class FakeRunner : public runner::Runner {
 public:
  Result<std::optional<candidate::Failure>> bind(const runner::Arenas&, const task::Dims&,
                                                 const std::vector<double>&) override {
    return std::optional<candidate::Failure>();
  }
  Result<runner::ReleaseOutcome> release(std::int64_t, double) override {
    return runner::ReleaseOutcome(runner::Release{});
  }
  std::int64_t peak_memory_bytes() const override { return 0; }
};

/// Counts the runners it starts; tests give the task, the oracle, and where needed runners and draws.
class FakeSession : public runner::Session {
 public:
  explicit FakeSession(std::unique_ptr<FakeOracle> oracle = std::make_unique<FakeOracle>(), task::Task task = {})
      : task_(std::move(task)), oracle_(std::move(oracle)) {}
  const task::Task& task() const override { return task_; }
  lane::Lane& lane() override { std::abort(); }
  runner::Oracle& oracle() override { return *oracle_; }
  const runner::Program& baseline() override { return program_; }
  Result<runner::RunnerOutcome> start_runner(Who who, const runner::Program&, int) override {
    const std::lock_guard lock(mutex_);  // both sides of a pair start at once
    ++started;
    return runner::RunnerOutcome(make_runner(who));
  }
  Result<std::variant<runner::DrawCheck, candidate::Failure>> run_draw(runner::Runner&, const runner::Arenas&,
                                                                       const runner::Prepared&) override {
    return not_scripted("run_draw");
  }
  std::vector<std::string> sandbox_layers() const override { return {}; }
  std::vector<int> runner_cpus(int) const override { return {}; }

  int started = 0;

 protected:
  virtual std::unique_ptr<runner::Runner> make_runner(Who) { return std::make_unique<FakeRunner>(); }
  runner::Program program_;

 private:
  task::Task task_;
  std::unique_ptr<FakeOracle> oracle_;
  std::mutex mutex_;
};

}  // namespace hone::testing
