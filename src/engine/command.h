#pragma once
// The command line that asks the same again.

#include <string>

#include "hone/hone.h"

namespace hone::engine {

/// Task, candidates and every option that decides the run, with shell quotes where they are needed; how it was shown
/// (--json, --explain …) is left out. A seed that was not asked for is not repeated.
std::string command_of(const OptimizeRequest& request);

}  // namespace hone::engine
