#pragma once
// How much a run may spend: "60s", "2m", "1h", "200evals", "target=2.0x", or several joined by commas, in
// which case the first one reached ends the run.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone::search {

struct Budget {
  std::optional<double> seconds;
  std::optional<std::int64_t> evaluations;  ///< screens and comparisons; what a finalist costs is not counted
  std::optional<double> target;             ///< speed-up: the run ends when the best's lower bound reaches it
};

/// Usage errors say what was found and what is understood.
Result<Budget> parse_budget(std::string_view text);
/// The inverse: "60s,200evals,target=2x".
std::string to_text(const Budget& budget);

}  // namespace hone::search
