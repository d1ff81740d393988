#pragma once
// What the oracle's frames carry, to and from JSON. Both sides include it.

#include "base/json.h"
#include "base/result.h"
#include "runner/oracle.h"

namespace hone::runner {

Json to_json(const task::Dims& dims);
Result<task::Dims> dims_from_json(const Json& json);
Json to_json(const DrawKey& key);
Result<DrawKey> draw_key_from_json(const Json& json);
Json to_json(const Prepared& prepared);
Result<Prepared> prepared_from_json(const Json& json);
Json to_json(const DrawCheck& check);
Result<DrawCheck> draw_check_from_json(const Json& json);

/// Several byte strings as one payload, and their lengths.
std::string join(const std::vector<std::string>& parts, Json* lengths);
Result<std::vector<std::string>> unjoin(const std::string& bytes, const Json& lengths);

}  // namespace hone::runner
