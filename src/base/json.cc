#include "base/json.h"

#include <cmath>
#include <limits>

namespace hone {
namespace {

// Deep nesting would overflow the stack of whoever walks the value, so it is refused while parsing.
constexpr int kMaxDepth = 64;

Error missing(const char* key, std::string_view what, const char* expected, const Json& object) {
  std::string text = std::string(what) + ": key '" + key + "' ";
  text += object.is_object() && object.contains(key)
              ? "is not " + std::string(expected)
              : "is missing (expected " + std::string(expected) + ")";
  return usage_error(std::move(text));
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  bool too_deep = false;
  try {
    Json value = Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) {
        too_deep = true;
        throw std::length_error("nested too deeply");
      }
      return true;
    });
    return value;
  } catch (const Json::parse_error& e) {
    return usage_error(std::string(what) + " is not JSON: wrong at byte " + std::to_string(e.byte));
  } catch (const std::exception& e) {
    return usage_error(std::string(what) + " is not JSON we read: " +
                       (too_deep ? "nested too deeply" : e.what()));
  }
}

Json to_json(const Error& error) {
  Json out = {{"error", name_of(error.code)}, {"message", error.message}};
  if (!error.cure.empty()) out["cure"] = error.cure;
  for (const auto& [key, value] : error.details) out["details"][key] = value;
  return out;
}

Error error_from_json(const Json& json) {
  const auto text = [&](const char* key) {
    const auto value = get_string(json, key, "error");
    return value.ok() ? *value : std::string();
  };
  Error error;
  error.code = ErrorCode::bug;
  for (const ErrorCode code : {ErrorCode::usage, ErrorCode::environment, ErrorCode::cancelled})
    if (text("error") == name_of(code)) error.code = code;
  error.message = text("message");
  if (error.message.empty()) error.message = "an error without a message";
  error.cure = text("cure");
  return error;
}

Result<std::string> get_string(const Json& object, const char* key, std::string_view what) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string())
    return missing(key, what, "a string", object);
  return object[key].get<std::string>();
}
Result<std::int64_t> get_int(const Json& object, const char* key, std::string_view what) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer())
    return missing(key, what, "an integer", object);
  const Json& v = object[key];
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return missing(key, what, "an integer below 2^63", object);
  return v.get<std::int64_t>();
}
Result<double> get_number(const Json& object, const char* key, std::string_view what) {
  if (!object.is_object() || !object.contains(key)) return missing(key, what, "a number", object);
  const Json& v = object[key];
  if (v.is_number()) return v.get<double>();
  if (v == "nan" || v == "inf" || v == "-inf") return as_double(v);
  return missing(key, what, "a number", object);
}
Result<bool> get_bool(const Json& object, const char* key, std::string_view what) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_boolean())
    return missing(key, what, "true or false", object);
  return object[key].get<bool>();
}

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
double as_double(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace hone
