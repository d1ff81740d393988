#include "propose/proposer.h"

namespace hone::propose {

Json to_json(const Outcome& outcome) {
  return {{"correct", outcome.correct},          {"invalid", outcome.invalid},  {"dropped", outcome.dropped},
          {"speedup", number(outcome.speedup)}, {"low", number(outcome.low)}, {"high", number(outcome.high)}};
}

Result<Outcome> outcome_from_json(const Json& json) {
  Outcome outcome;
  HONE_TRY(outcome.correct, get_bool(json, "correct", "outcome"));
  HONE_TRY(outcome.invalid, get_bool(json, "invalid", "outcome"));
  HONE_TRY(outcome.dropped, get_bool(json, "dropped", "outcome"));
  for (const auto& [key, target] : {std::pair{"speedup", &outcome.speedup}, {"low", &outcome.low}, {"high", &outcome.high}}) {
    if (!json.contains(key)) return usage_error(std::string("outcome: key '") + key + "' is missing");
    *target = as_double(json[key]);
  }
  return outcome;
}

}  // namespace hone::propose
