#pragma once
// One line of a bench: `FIGURE | VALUE UNIT | AT LEAST or AT MOST TARGET | yes or no`.

#include <cstdio>
#include <cstdlib>
#include <string>

namespace hone::figures {

enum class Wanted { at_least, at_most };

inline void figure(const std::string& name, double value, const std::string& unit, Wanted wanted, double target) {
  const bool reached = wanted == Wanted::at_least ? value >= target : value <= target;
  std::printf("%s | %.4g %s | %s %.4g %s | %s\n", name.c_str(), value, unit.c_str(),
              wanted == Wanted::at_least ? "at least" : "at most", target, unit.c_str(), reached ? "yes" : "no");
  std::fflush(stdout);
}

/// A figure without a target, beside one that has.
inline void told(const std::string& name, double value, const std::string& unit) {
  std::printf("%s | %.4g %s | - | -\n", name.c_str(), value, unit.c_str());
  std::fflush(stdout);
}

[[noreturn]] inline void give_up(const std::string& message) {
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(1);
}

/// The value, or the end of the bench.
template <typename R>
auto must(R result) {
  if (!result.ok()) give_up(result.error().text());
  return std::move(result).value();
}

inline int count_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::atoi(text) : otherwise;
}

}  // namespace hone::figures
