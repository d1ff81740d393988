#include "search/evaluator.h"

#include <algorithm>

namespace hone::search {
namespace {

constexpr Kind kKinds[] = {Kind::screen, Kind::compare, Kind::retime, Kind::verify};

/// Values as text, whatever they look like, so that they come back as they were.
Json as_text(const candidate::Assignment& assignment) {
  Json json = Json::object();
  for (const auto& [name, value] : assignment) json[name] = value;
  return json;
}

Result<candidate::Assignment> assignment_from(const Json& json, const char* key) {
  candidate::Assignment assignment;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return usage_error(std::string("record: key '") + key + "' is no object");
  for (const auto& [name, value] : found->items()) {
    if (!value.is_string()) return usage_error("record: the value of tunable " + name + " is no text");
    assignment[name] = value.get<std::string>();
  }
  return assignment;
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::screen: return "screen";
    case Kind::compare: return "compare";
    case Kind::retime: return "retime";
    case Kind::verify: return "verify";
  }
  return "?";
}

Json to_json(const Record& record) {
  Json json = {{"kind", name_of(record.kind)},
               {"sequence", record.sequence},
               {"proposer", record.proposer},
               {"proposal_id", record.proposal_id},
               {"assignment", as_text(record.assignment)}};
  if (record.against) json["against"] = as_text(*record.against);
  json["outcome"] = propose::to_json(record.outcome);
  json["seconds"] = number(record.seconds);
  json["elapsed_s"] = number(record.elapsed_s);
  return json;
}

Result<Record> record_from_json(const Json& json) {
  Record record;
  HONE_TRY(const std::string kind, get_string(json, "kind", "record"));
  const auto named = std::find_if(std::begin(kKinds), std::end(kKinds), [&](Kind k) { return kind == name_of(k); });
  if (named == std::end(kKinds)) return usage_error("record: unknown kind '" + kind + "'");
  record.kind = *named;
  HONE_TRY(const std::int64_t sequence, get_int(json, "sequence", "record"));
  HONE_TRY(const std::int64_t id, get_int(json, "proposal_id", "record"));
  record.sequence = static_cast<std::uint64_t>(sequence);
  record.proposal_id = static_cast<std::uint64_t>(id);
  HONE_TRY(record.proposer, get_string(json, "proposer", "record"));
  HONE_TRY(record.assignment, assignment_from(json, "assignment"));
  if (json.contains("against")) {
    HONE_TRY(auto against, assignment_from(json, "against"));
    record.against = std::move(against);
  }
  if (!json.contains("outcome")) return usage_error("record: key 'outcome' is missing");
  HONE_TRY(record.outcome, propose::outcome_from_json(json["outcome"]));
  for (const auto& [key, target] : {std::pair{"seconds", &record.seconds}, {"elapsed_s", &record.elapsed_s}}) {
    if (!json.contains(key)) return usage_error(std::string("record: key '") + key + "' is missing");
    *target = as_double(json[key]);
  }
  return record;
}

}  // namespace hone::search
