#pragma once
// Arenas in GPU memory: each tensor its own allocation with its own protection, and a mirror on the host.

#include "device/cuda/context.h"
#include "runner/shared_arena.h"

namespace hone::runner {

/// `context` must outlive the arenas. Every place must begin and end on whole granules (guarded layouts).
ArenaMaker gpu_arenas(const device::GpuContext& context);

}  // namespace hone::runner
