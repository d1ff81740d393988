#pragma once
// Checks a JSON document against docs/schema/NAME.json. Knows type, required, properties, enum, items,
// additionalProperties, anyOf and $ref to another file of that folder; a schema that uses anything else is refused, so
// that no rule is silently skipped.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace hone::testing {

class JsonSchema {
 public:
  explicit JsonSchema(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// "" when the document holds to the schema, else what is wrong, a line each.
  std::string check(const Json& document, const std::string& name) {
    faults_.clear();
    const Json schema = load(name + ".json");
    if (!schema.is_null()) visit(document, schema, "$");
    std::string out;
    for (const std::string& fault : faults_) out += fault + "\n";
    return out;
  }

 private:
  Json load(const std::string& file) {
    const auto text = read_file(folder_ / file);
    const auto json = text.ok() ? parse_json(*text, file) : Result<Json>(text.error());
    if (json.ok()) return *json;
    faults_.push_back(json.error().text());
    return Json();
  }

  static bool is_a(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "number") return value.is_number();
    if (type == "integer") return value.is_number_integer();
    if (type == "boolean") return value.is_boolean();
    return type == "null" && value.is_null();
  }

  void visit(const Json& value, const Json& schema, const std::string& at) {
    static constexpr std::array kKnown = {"$schema", "$ref", "title", "type", "required", "properties", "enum", "items",
                                          "additionalProperties", "anyOf"};
    for (const auto& [key, rule] : schema.items()) {
      const std::string name = key;
      if (std::none_of(kKnown.begin(), kKnown.end(), [&](const char* known) { return name == known; }))
        faults_.push_back(at + ": the schema uses '" + name + "', which this check does not know");
    }
    if (schema.contains("$ref")) return visit(value, load(schema["$ref"].get<std::string>()), at);
    if (schema.contains("anyOf")) return any_of(value, schema["anyOf"], at);
    if (schema.contains("type") && !type_fits(value, schema["type"]))
      return faults_.push_back(at + ": is " + value.type_name() + ", not " + schema["type"].dump());
    if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      faults_.push_back(at + ": " + value.dump() + " is none of " + schema["enum"].dump());
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i) visit(value[i], schema["items"], at + "[" + std::to_string(i) + "]");
    if (value.is_object()) object(value, schema, at);
  }

  static bool type_fits(const Json& value, const Json& type) {
    if (type.is_string()) return is_a(value, type.get<std::string>());
    return std::any_of(type.begin(), type.end(), [&](const Json& one) { return is_a(value, one.get<std::string>()); });
  }

  void any_of(const Json& value, const Json& choices, const std::string& at) {
    const std::vector<std::string> before = faults_;
    std::vector<std::string> last;
    for (const Json& choice : choices) {
      faults_.clear();
      visit(value, choice, at);
      last = faults_;
      faults_ = before;
      if (last.empty()) return;
    }
    faults_.insert(faults_.end(), last.begin(), last.end());
  }

  void object(const Json& value, const Json& schema, const std::string& at) {
    if (schema.contains("required"))
      for (const Json& key : schema["required"])
        if (!value.contains(key.get<std::string>())) faults_.push_back(at + ": '" + key.get<std::string>() + "' is missing");
    for (const auto& [key, part] : value.items()) {
      const std::string name = key, where = at + "." + name;
      if (schema.contains("properties") && schema["properties"].contains(name))
        visit(part, schema["properties"][name], where);
      else if (schema.contains("additionalProperties") && schema["additionalProperties"].is_boolean() &&
               !schema["additionalProperties"].get<bool>())
        faults_.push_back(where + " is not in the schema");
      else if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
        visit(part, schema["additionalProperties"], where);
    }
  }

  std::filesystem::path folder_;
  std::vector<std::string> faults_;
};

}  // namespace hone::testing
