#pragma once
// Saved states of proposers: what they all need to become JSON and come back.

#include <fmt/format.h>

#include "base/json.h"
#include "stats/random.h"

namespace hone::propose {

inline Json save_random(const stats::Random& random) { return Json(random.state()); }
/// Throws as nlohmann-json does; call it inside read_state().
inline stats::Random restore_random(const Json& json) {
  return stats::Random(json.get<stats::Random::State>());
}

/// Runs `read`, which takes a state apart by throwing accessors, and turns a throw into an error.
template <typename Read>
Status read_state(const char* proposer, Read read) {
  try {
    read();
    return {};
  } catch (const Json::exception& error) {
    return usage_error(fmt::format("the saved state of proposer {} cannot be read: {}", proposer, error.what()),
                       "It was written by another version; start a new run.");
  }
}

}  // namespace hone::propose
