#pragma once
// The coordinator's side of one runner process.

#include <memory>

#include "runner/session.h"
#include "wire/sandbox.h"

namespace hone::runner {

struct RunnerStart {
  const task::Task* task = nullptr;
  wire::Jail* jail = nullptr;
  const Program* program = nullptr;
  std::vector<int> cpus;
  int threads = 1;                      ///< the most any function of it uses
  std::uint64_t memory_limit_bytes = 0; ///< of its address space, beside the tensors it maps
};

/// Spawns, loads (out of process: load-time code of the candidate runs there) and freezes.
Result<RunnerOutcome> start_runner_process(const RunnerStart& start);

}  // namespace hone::runner
