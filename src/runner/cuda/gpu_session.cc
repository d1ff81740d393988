#include "runner/cuda/gpu_session.h"

#include <fmt/format.h>

#include "base/files.h"
#include "device/cuda/driver.h"
#include "runner/cuda/gpu_runner_client.h"
#include "runner/cuda/launch_plan.h"
#include "runner/session_builds.h"
#include "wire/sandbox.h"

namespace hone::runner {
namespace {

using candidate::Failure;

/// What a process in the jail needs to use one GPU; those that are not there are left out.
std::vector<std::string> gpu_devices(int gpu) {
  return {"/dev/nvidiactl", "/dev/nvidia-uvm", fmt::format("/dev/nvidia{}", gpu)};
}

class GpuSession final : public Session {
 public:
  GpuSession(const task::Task& task, const SessionOptions& options) : task_(task), options_(options) {}

  Status start() {
    HONE_TRY(const SessionBuilds builds, build_references(task_, *options_.lane));
    baseline_ = builds.baseline;
    OracleOptions oracle;
    oracle.truth_object = builds.truth.object;
    oracle.rounded_object = builds.rounded.object;
    oracle.lower_object = builds.lower.object;
    oracle.gpu = options_.gpu;
    oracle.plans = Json::array();
    for (const Program* program : {&builds.truth, &builds.rounded, &builds.lower})
      oracle.plans.push_back(plan_to_json(program->resolved));
    HONE_TRY(oracle_, Oracle::start(task_, oracle));
    wire::JailSpec spec;
    spec.unsafe = options_.unsafe;
    spec.devices = gpu_devices(options_.gpu);
    // The driver's folder is often found by LD_LIBRARY_PATH alone, which no jail inherits.
    HONE_TRY(const device::Driver* const driver, device::Driver::get());
    driver_folder_ = fs::path(driver->path).parent_path().string();
    if (!driver_folder_.empty() && !driver_folder_.starts_with("/usr/") && !driver_folder_.starts_with("/lib"))
      spec.read_only.push_back({driver_folder_, driver_folder_});
    HONE_TRY(jail_, wire::Jail::start(spec));
    return {};
  }

  const task::Task& task() const override { return task_; }
  lane::Lane& lane() override { return *options_.lane; }
  Oracle& oracle() override { return *oracle_; }
  const Program& baseline() override { return baseline_; }

  Result<RunnerOutcome> start_runner(Who, const Program& program, int) override {
    return start_gpu_runner({&task_, &*jail_, &program, options_.gpu, driver_folder_});
  }

  Result<std::variant<DrawCheck, Failure>> run_draw(Runner& runner, const Arenas& arenas, const Prepared& prepared) override {
    return run_staged_draw(*this, runner, arenas, prepared);
  }

  std::vector<std::string> sandbox_layers() const override { return jail_->layers(); }
  std::vector<int> runner_cpus(int) const override { return {}; }

 private:
  task::Task task_;
  SessionOptions options_;
  Program baseline_;
  std::unique_ptr<Oracle> oracle_;
  std::optional<wire::Jail> jail_;
  std::string driver_folder_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_gpu_session(const task::Task& task, const SessionOptions& options) {
  auto session = std::make_unique<GpuSession>(task, options);
  HONE_CHECK(session->start());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace hone::runner
