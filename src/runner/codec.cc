#include "runner/codec.h"

namespace hone::runner {

Json to_json(const task::Dims& dims) {
  Json out = Json::object();
  for (const auto& [name, value] : dims) out[name] = value;
  return out;
}

Result<task::Dims> dims_from_json(const Json& json) {
  task::Dims dims;
  if (!json.is_object()) return usage_error("dims are not an object");
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number_integer()) return usage_error("dim '" + name + "' is not an integer");
    dims[name] = value.get<std::int64_t>();
  }
  return dims;
}

Json to_json(const DrawKey& key) {
  return {{"dims", to_json(key.dims)},
          {"seed", key.spec.seed},
          {"distribution", task::name_of(key.spec.distribution)},
          {"offset", key.spec.offset}};
}

Result<DrawKey> draw_key_from_json(const Json& json) {
  DrawKey key;
  if (!json.is_object()) return usage_error("a draw is not an object");
  HONE_TRY(key.dims, dims_from_json(json.value("dims", Json())));
  const Json seed = json.value("seed", Json()), offset = json.value("offset", Json());
  if (!seed.is_number_unsigned() || !offset.is_number_unsigned()) return usage_error("a draw's seed is not a number");
  key.spec.seed = seed.get<std::uint64_t>();
  key.spec.offset = offset.get<std::uint64_t>();
  HONE_TRY(const std::string name, get_string(json, "distribution", "draw"));
  HONE_TRY(key.spec.distribution, task::distribution_from(name));
  return key;
}

Json to_json(const Prepared& p) {
  return {{"id", p.id},       {"elements", p.elements},
          {"skipped", p.skipped}, {"total", p.total},
          {"reference_exact", p.reference_exact}, {"truth_ms", p.truth_ms}};
}

Result<Prepared> prepared_from_json(const Json& json) {
  Prepared p;
  HONE_TRY(const std::int64_t id, get_int(json, "id", "prepared"));
  p.id = static_cast<std::uint64_t>(id);
  if (!json.contains("elements") || !json["elements"].is_array()) return usage_error("prepared: no elements");
  for (const Json& n : json["elements"]) p.elements.push_back(n.get<std::int64_t>());
  HONE_TRY(p.skipped, get_int(json, "skipped", "prepared"));
  HONE_TRY(p.total, get_int(json, "total", "prepared"));
  HONE_TRY(p.reference_exact, get_bool(json, "reference_exact", "prepared"));
  HONE_TRY(p.truth_ms, get_number(json, "truth_ms", "prepared"));
  return p;
}

Json to_json(const DrawCheck& check) {
  Json outputs = Json::array();
  for (const OutputErrors& o : check.outputs) outputs.push_back(to_json(o));
  return {{"outputs", outputs}, {"inputs_changed", check.inputs_changed}, {"red_zone", check.red_zone}};
}

Result<DrawCheck> draw_check_from_json(const Json& json) {
  DrawCheck check;
  if (!json.is_object() || !json.contains("outputs") || !json["outputs"].is_array())
    return usage_error("a check has no outputs");
  for (const Json& o : json["outputs"]) {
    HONE_TRY(OutputErrors errors, output_errors_from_json(o));
    check.outputs.push_back(std::move(errors));
  }
  HONE_TRY(check.inputs_changed, get_bool(json, "inputs_changed", "check"));
  HONE_TRY(check.red_zone, get_string(json, "red_zone", "check"));
  return check;
}

std::string join(const std::vector<std::string>& parts, Json* lengths) {
  std::string out;
  *lengths = Json::array();
  for (const std::string& part : parts) {
    lengths->push_back(part.size());
    out += part;
  }
  return out;
}

Result<std::vector<std::string>> unjoin(const std::string& bytes, const Json& lengths) {
  std::vector<std::string> out;
  std::size_t at = 0;
  if (!lengths.is_array()) return usage_error("lengths are not a list");
  for (const Json& length : lengths) {
    if (!length.is_number_unsigned() || length.get<std::size_t>() > bytes.size() - at)
      return usage_error("lengths do not fit the payload");
    out.push_back(bytes.substr(at, length.get<std::size_t>()));
    at += out.back().size();
  }
  if (at != bytes.size()) return usage_error("lengths do not fit the payload");
  return out;
}

}  // namespace hone::runner
