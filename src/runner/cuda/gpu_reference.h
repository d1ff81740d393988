#pragma once
// References of the cuda lane, run in the oracle's own context.

#include "runner/cuda/launch_plan.h"
#include "runner/reference.h"

namespace hone::runner {

/// `real_bytes` is HONE_REAL of this build. Task and context must outlive it.
Result<std::unique_ptr<Reference>> load_gpu_reference(const device::GpuContext& context, const task::Task& task,
                                                      GpuProgram program, std::size_t real_bytes);

}  // namespace hone::runner
