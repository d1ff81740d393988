#pragma once
// Compiler flags a candidate may ask for: a fixed list, because a flag can read files (-include), run
// programs (-fplugin, -wrapper) or change what is linked.

#include <string>
#include <vector>

#include "base/result.h"

namespace hone::lane {

/// Every allowed flag as docs list them: "-O3", "-march=native", "-falign-loops=N", "-DNAME=INTEGER". A flag
/// "-f[no-]unroll-loops" stands for both.
const std::vector<std::string>& allowed_flags();

/// Ok, or an error that names the first flag refused, why, and the nearest allowed one.
Status check_flags(const std::vector<std::string>& flags);

/// What a build is for: candidates and baselines are compiled as a user would; an exact build (oracle, r)
/// has no contraction and no relaxed arithmetic whatever its source asks for.
enum class Arithmetic { plain, exact };

/// The compile command's flags: the defaults, then `own`, which win by coming later.
std::vector<std::string> build_flags(const std::vector<std::string>& own, bool openmp, Arithmetic arithmetic);

}  // namespace hone::lane
