#include "search/budget.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace hone::search {
namespace {

constexpr const char* kUnderstood =
    "Write a time (60s, 2m, 1h), a number of evaluations (200evals), a target (target=2.0x), or several "
    "joined by commas.";

Error bad(std::string_view part, std::string_view why) {
  return usage_error(fmt::format("--budget '{}': {}", part, why), kUnderstood);
}

Status parse_target(std::string_view part, std::string_view value, Budget& budget) {
  std::string_view unit;
  const auto target = leading_number(value, unit);
  if (!target || (unit != "x" && !unit.empty())) return bad(part, "a target is a ratio such as 2.0x");
  if (!(*target > 0)) return bad(part, "a target must be positive");
  if (budget.target) return bad(part, "a second target");
  budget.target = *target;
  return {};
}

Status parse_part(std::string_view part, Budget& budget) {
  constexpr std::string_view target = "target=";
  if (part.starts_with(target)) return parse_target(part, part.substr(target.size()), budget);
  std::string_view unit;
  const auto value = leading_number(part, unit);
  if (!value) return bad(part, "no number at its start");
  if (!(*value > 0)) return bad(part, "must be positive");
  if (unit == "evals" || unit == "eval") {
    if (*value != std::floor(*value) || *value > 1e15) return bad(part, "evaluations are whole numbers");
    if (budget.evaluations) return bad(part, "a second number of evaluations");
    budget.evaluations = static_cast<std::int64_t>(*value);
    return {};
  }
  const double factor = seconds_in(unit);
  if (factor == 0 && unit.empty()) return bad(part, "a number without a unit");
  if (factor == 0) return bad(part, "an unknown unit" + did_you_mean(unit, {"ms", "s", "min", "h", "evals"}));
  if (budget.seconds) return bad(part, "a second time");
  constexpr double kLongest_s = 1e8;  // three years; clocks count nanoseconds in 64 bits
  if (!(*value * factor <= kLongest_s)) return bad(part, "longer than three years");
  budget.seconds = *value * factor;
  return {};
}

}  // namespace

Result<Budget> parse_budget(std::string_view text) {
  Budget budget;
  for (const std::string_view part : split(text, ',')) HONE_CHECK(parse_part(trim(part), budget));
  return budget;
}

std::string to_text(const Budget& budget) {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ",") + std::move(part); };
  if (budget.seconds) add(fmt::format("{}s", *budget.seconds));
  if (budget.evaluations) add(fmt::format("{}evals", *budget.evaluations));
  if (budget.target) add(fmt::format("target={}x", *budget.target));
  return text;
}

}  // namespace hone::search
