#include "judge/verdict.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace hone::judge {
namespace {

constexpr std::array kClasses = {"A", "B", "C", "X", "wrong", "undecided"};
constexpr std::array kDepths = {"screen", "verify"};
constexpr std::array kAnswers = {"faster", "slower", "same", "undecided", "invalid"};
constexpr std::array kStates = {"pass", "fail", "skipped"};

/// The place of a word in its list: the enumerations above are numbered in that order.
template <typename Enum, std::size_t N>
Result<Enum> enum_from(const Json& object, const char* key, const std::array<const char*, N>& names) {
  HONE_TRY(const std::string word, get_string(object, key, "verdict"));
  for (std::size_t i = 0; i < N; ++i)
    if (word == names[i]) return static_cast<Enum>(i);
  return usage_error(fmt::format("verdict: key '{}' holds the unknown word '{}'", key, word));
}

// A seed is 64 bits: as a JSON number many readers would round it.
std::string seed_text(std::uint64_t seed) { return fmt::format("0x{:016x}", seed); }

Result<std::uint64_t> seed_from(const Json& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    if (text.starts_with("0x") && text.size() > 2) {
      const auto [at, error] = std::from_chars(text.data() + 2, end, value, 16);
      if (error == std::errc() && at == end) return value;
    }
  }
  return usage_error("verdict: a seed is neither \"0x…\" nor a whole number: " + json.dump());
}

double number_or(const Json& object, const char* key, double otherwise) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? otherwise : as_double(*it);
}

std::string string_or(const Json& object, const char* key, const char* otherwise = "") {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

int int_or_zero(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int>() : 0;
}

Json json_or(const Json& object, const char* key, Json otherwise) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? std::move(otherwise) : *it;
}

Json to_json(const GateResult& gate) {
  return {{"gate", gate.gate},
          {"state", kStates[static_cast<std::size_t>(gate.state)]},
          {"note", gate.note},
          {"ms", number(gate.ms)}};
}

Json to_json(const candidate::Failure& failure) {
  return {{"gate", failure.gate}, {"reason", failure.reason}, {"message", failure.message},
          {"evidence", failure.evidence}};
}

Json to_json(const Speed& speed, bool with_samples) {
  Json out = {{"case", speed.case_label},
              {"answer", name_of(speed.answer)},
              {"ratio", number(speed.ratio)},
              {"low", number(speed.low)},
              {"high", number(speed.high)},
              {"confidence", number(speed.confidence)},
              {"candidate_ns", number(speed.candidate_ns)},
              {"baseline_ns", number(speed.baseline_ns)},
              {"pairs", speed.pairs},
              {"rounds", speed.rounds},
              {"cache", speed.cache},
              {"inputs", speed.inputs},
              {"reason", speed.reason}};
  if (with_samples) out["samples"] = speed.samples;
  return out;
}

Result<GateResult> gate_from(const Json& json) {
  GateResult gate;
  HONE_TRY(gate.gate, get_string(json, "gate", "verdict gate"));
  HONE_TRY(gate.state, enum_from<GateResult::State>(json, "state", kStates));
  gate.note = string_or(json, "note");
  gate.ms = number_or(json, "ms", 0);
  return gate;
}

Result<Speed> speed_from(const Json& json) {
  Speed speed;
  HONE_TRY(speed.case_label, get_string(json, "case", "verdict speed"));
  HONE_TRY(speed.answer, enum_from<Answer>(json, "answer", kAnswers));
  speed.ratio = number_or(json, "ratio", 1);
  speed.low = number_or(json, "low", 1);
  speed.high = number_or(json, "high", 1);
  speed.confidence = number_or(json, "confidence", 0.95);
  speed.candidate_ns = number_or(json, "candidate_ns", 0);
  speed.baseline_ns = number_or(json, "baseline_ns", 0);
  speed.pairs = int_or_zero(json, "pairs");
  speed.rounds = int_or_zero(json, "rounds");
  speed.cache = string_or(json, "cache");
  speed.inputs = string_or(json, "inputs");
  speed.reason = string_or(json, "reason");
  speed.samples = json_or(json, "samples", Json::object());
  return speed;
}

Result<candidate::Failure> failure_from(const Json& json) {
  candidate::Failure failure;
  HONE_TRY(failure.gate, get_string(json, "gate", "verdict failure"));
  HONE_TRY(failure.reason, get_string(json, "reason", "verdict failure"));
  failure.message = string_or(json, "message");
  failure.evidence = json_or(json, "evidence", Json::object());
  return failure;
}

Status read_lists(const Json& json, Verdict& verdict) {
  for (const Json& gate : json_or(json, "gates", Json::array())) {
    HONE_TRY(GateResult one, gate_from(gate));
    verdict.gates.push_back(std::move(one));
  }
  for (const Json& speed : json_or(json, "speeds", Json::array())) {
    HONE_TRY(Speed one, speed_from(speed));
    verdict.speeds.push_back(std::move(one));
  }
  for (const Json& seed : json_or(json, "seeds", Json::array())) {
    HONE_TRY(const std::uint64_t one, seed_from(seed));
    verdict.seeds.push_back(one);
  }
  const Json assignment = json_or(json, "assignment", Json::object());
  for (const auto& [name, value] : assignment.items()) {
    if (!value.is_string()) return usage_error("verdict: the value of tunable '" + name + "' is not a string");
    verdict.assignment[name] = value.get<std::string>();
  }
  return {};
}

}  // namespace

const char* name_of(Class c) { return kClasses[static_cast<std::size_t>(c)]; }
const char* name_of(Depth depth) { return kDepths[static_cast<std::size_t>(depth)]; }
const char* name_of(Answer answer) { return kAnswers[static_cast<std::size_t>(answer)]; }

Json to_json(const Verdict& verdict, bool with_samples) {
  Json out = {{"correct", verdict.correct},
              {"class", name_of(verdict.cls)},
              {"depth", name_of(verdict.depth)},
              {"answer", name_of(verdict.answer)}};
  // Without a valid timing there is no ratio; "1" would read as a measurement.
  out["speedup"] = verdict.speeds.empty() || verdict.answer == Answer::invalid ? Json()
                                          : Json{{"ratio", number(verdict.geomean)},
                                                 {"low", number(verdict.geomean_low)},
                                                 {"high", number(verdict.geomean_high)}};
  out["failure"] = verdict.failure ? to_json(*verdict.failure) : Json();
  out["gates"] = Json::array();
  for (const GateResult& gate : verdict.gates) out["gates"].push_back(to_json(gate));
  out["speeds"] = Json::array();
  for (const Speed& speed : verdict.speeds) out["speeds"].push_back(to_json(speed, with_samples));
  out["flops_note"] = verdict.flops_note;
  out["assignment"] = Json::object();
  for (const auto& [name, value] : verdict.assignment) out["assignment"][name] = value;
  out["seeds"] = Json::array();
  for (const std::uint64_t seed : verdict.seeds) out["seeds"].push_back(seed_text(seed));
  out["errors"] = verdict.errors;
  out["sandbox"] = verdict.sandbox;
  out["identity"] = verdict.identity;
  out["source_hash"] = verdict.source_hash;
  out["machine_code_hash"] = verdict.machine_code_hash;
  out["task_identity"] = verdict.task_identity;
  out["device"] = verdict.device;
  out["total_ms"] = number(verdict.total_ms);
  out["compile_ms"] = number(verdict.compile_ms);
  out["timing_ms"] = number(verdict.timing_ms);
  return out;
}

Result<Verdict> verdict_from_json(const Json& json) {
  if (!json.is_object()) return usage_error("verdict: expected a JSON object, found " + std::string(json.type_name()));
  Verdict verdict;
  HONE_TRY(verdict.correct, get_bool(json, "correct", "verdict"));
  HONE_TRY(verdict.cls, enum_from<Class>(json, "class", kClasses));
  HONE_TRY(verdict.depth, enum_from<Depth>(json, "depth", kDepths));
  HONE_TRY(verdict.answer, enum_from<Answer>(json, "answer", kAnswers));
  if (const auto it = json.find("speedup"); it != json.end() && it->is_object()) {
    verdict.geomean = number_or(*it, "ratio", 1);
    verdict.geomean_low = number_or(*it, "low", 1);
    verdict.geomean_high = number_or(*it, "high", 1);
  }
  if (const auto it = json.find("failure"); it != json.end() && !it->is_null()) {
    HONE_TRY(verdict.failure, failure_from(*it));
  }
  HONE_CHECK(read_lists(json, verdict));
  verdict.flops_note = string_or(json, "flops_note", "not assessed");
  verdict.errors = json_or(json, "errors", Json::object());
  verdict.sandbox = json_or(json, "sandbox", Json::array());
  verdict.identity = string_or(json, "identity");
  verdict.source_hash = string_or(json, "source_hash");
  verdict.machine_code_hash = string_or(json, "machine_code_hash");
  verdict.task_identity = string_or(json, "task_identity");
  verdict.device = string_or(json, "device");
  verdict.total_ms = number_or(json, "total_ms", 0);
  verdict.compile_ms = number_or(json, "compile_ms", 0);
  verdict.timing_ms = number_or(json, "timing_ms", 0);
  return verdict;
}

}  // namespace hone::judge
