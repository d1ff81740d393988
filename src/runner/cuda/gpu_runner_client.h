#pragma once
// The coordinator's side of one GPU runner process.

#include <memory>

#include "runner/session.h"
#include "wire/sandbox.h"

namespace hone::runner {

struct GpuRunnerStart {
  const task::Task* task = nullptr;
  wire::Jail* jail = nullptr;
  const Program* program = nullptr;
  int gpu = 0;
  std::string driver_folder;  ///< where libcuda lies, as the jail sees it
};

/// Spawns, opens a context (0.15 s) and loads the cubin. Errors of the environment are errors; what the cubin does not
/// stand is a Failure.
Result<RunnerOutcome> start_gpu_runner(const GpuRunnerStart& start);

}  // namespace hone::runner
