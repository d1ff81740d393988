#pragma once

#include <memory>

#include "runner/session.h"

namespace hone::runner {

/// A session of the cuda lane: oracle and runners are processes with contexts of their own on options.gpu.
Result<std::unique_ptr<Session>> open_gpu_session(const task::Task& task, const SessionOptions& options);

}  // namespace hone::runner
