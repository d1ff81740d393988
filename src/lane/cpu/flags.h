#pragma once
// Compiler flags a candidate may ask for: a fixed list, because a flag can read files (-include), run
// programs (-fplugin, -wrapper) or change what is linked.

#include <string>
#include <vector>

#include "base/result.h"

namespace hone::lane {

/// Every allowed flag; an entry that ends in '=' takes one of the values listed after it, "=N" an integer.
/// The source of docs and of nearest spellings.
const std::vector<std::string>& allowed_flags();

/// Ok, or an error that names the first flag refused, why, and the nearest allowed one.
Status check_flag(const std::string& flag);
Status check_flags(const std::vector<std::string>& flags);

/// The command's flags: defaults (-O3 -march=native, …) with the candidate's own after them; of two that set
/// the same thing the later is kept. `reference`: no contraction and no fast math, own flags refused upstream.
std::vector<std::string> build_flags(const std::vector<std::string>& own, bool openmp, bool exact);

}  // namespace hone::lane
