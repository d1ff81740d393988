#pragma once
// NVRTC options a candidate may ask for: a fixed list, because an option can read files or change what a build means.

#include <string>
#include <vector>

#include "base/result.h"

namespace hone::lane {

/// Every allowed flag as docs list them: "--use_fast_math", "--maxrregcount=N", "-DNAME=INTEGER".
const std::vector<std::string>& allowed_cuda_flags();

/// Ok, or an error that names the first flag refused, why, and the nearest allowed one.
Status check_cuda_flags(const std::vector<std::string>& flags);

}  // namespace hone::lane
