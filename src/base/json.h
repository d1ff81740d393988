#pragma once
// One JSON type for the whole project, and readers that answer with an Error instead of throwing.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

/// Insertion-ordered, so that reports and golden files read as they were written.
using Json = nlohmann::ordered_json;

/// Parses a whole text; depth-limited; the error names the byte. `what` says what the text is.
Result<Json> parse_json(std::string_view text, std::string_view what);

Json to_json(const Error& error);
/// The inverse, for what another process of ours said; of what is no error it makes a bug.
Error error_from_json(const Json& json);

/// Typed look-ups that fail with "what: key 'k' …" rather than throw.
Result<std::string> get_string(const Json& object, const char* key, std::string_view what);
Result<std::int64_t> get_int(const Json& object, const char* key, std::string_view what);
Result<double> get_number(const Json& object, const char* key, std::string_view what);
Result<bool> get_bool(const Json& object, const char* key, std::string_view what);

/// NaN and infinities have no JSON number: they become the strings "nan", "inf", "-inf".
Json number(double value);
/// The inverse of number(); NaN when it is neither a number nor one of the three strings.
double as_double(const Json& value);

}  // namespace hone
