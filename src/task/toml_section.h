#pragma once
// One table of a task file, read key by key, with all that an error must say of it. Only
// task_file.cc includes this, for toml++ is long.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "task/task_check.h"

namespace hone::task {
/// A broken assertion of toml++.
struct TomlFault : std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] inline void toml_fault(const char* what) { throw TomlFault(what); }
}  // namespace hone::task

// toml++ 3.3 asserts what malformed text can break (a table header that begins with '#') and in a
// release build takes it for granted. So its assertions stay in every build, and throw to whoever
// parses.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) \
  (static_cast<bool>(condition) ? void() : ::hone::task::toml_fault(#condition))
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace hone::task {

inline std::string describe(const toml::node& node) {
  if (const auto* text = node.as_string()) return "'" + scrub(text->get(), 80) + "'";
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_floating_point()) return fmt::format("{}", value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  if (node.is_array()) return "an array";
  if (node.is_table()) return "a table";
  return "a date or time";
}

inline int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

/// One table of the file with what an error must say of it.
class Section {
 public:
  Section(const std::filesystem::path& file, std::string title, const toml::table& table,
          int line = 0)
      : file_(file),
        title_(std::move(title)),
        table_(table),
        line_(line ? line : std::max(1, line_of(table))) {}

  void set_title(std::string title) { title_ = std::move(title); }
  const std::string& title() const { return title_; }
  const toml::table& table() const { return table_; }
  int line() const { return line_; }
  const toml::node* find(const char* key) const { return table_.get(key); }
  int line(const char* key) const {
    const toml::node* node = find(key);
    return node && line_of(*node) > 0 ? line_of(*node) : line_;
  }

  Error wrong(const char* key, std::string_view expected, std::string cure = "") const {
    const toml::node* node = find(key);
    if (!node)
      return task_error(file_, line_,
                        fmt::format("{}: key '{}' is missing, expected {}", title_, key, expected));
    return task_error(
        file_, line(key),
        fmt::format("{}, key '{}': found {}, expected {}", title_, key, describe(*node), expected),
        std::move(cure));
  }
  /// Another fault's message, placed at the key.
  Error at(const char* key, const Error& error) const {
    return task_error(file_, line(key), fmt::format("{}, key '{}': {}", title_, key, error.message),
                      error.cure);
  }

  Status only(const std::vector<std::string>& known) const {
    for (auto&& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return task_error(file_, std::max(1, static_cast<int>(key.source().begin.line)),
                        fmt::format("{}: unknown key '{}'{}, expected {}", title_, scrub(name, 80),
                                    did_you_mean(name, known), fmt::join(known, ", ")));
    }
    return {};
  }

  Result<std::string> text(const char* key, std::string_view expected = "a string") const {
    const toml::node* node = find(key);
    if (!node || !node->is_string()) return wrong(key, expected);
    return node->as_string()->get();
  }
  Result<std::string> text_or(const char* key, std::string fallback,
                              std::string_view expected = "a string") const {
    if (!find(key)) return fallback;
    return text(key, expected);
  }
  /// One of a fixed list of words.
  Result<std::string> choice(const char* key, const std::vector<std::string>& known) const {
    const toml::node* node = find(key);
    const std::string word = node && node->is_string() ? node->as_string()->get() : "";
    if (std::find(known.begin(), known.end(), word) != known.end()) return word;
    return wrong(key, fmt::format("{}{}{}", known.size() > 1 ? "one of " : "", fmt::join(known, ", "),
                                  did_you_mean(word, known)));
  }
  Result<bool> flag_or(const char* key, bool fallback) const {
    const toml::node* node = find(key);
    if (!node) return fallback;
    if (!node->is_boolean()) return wrong(key, "true or false");
    return node->as_boolean()->get();
  }
  Result<std::int64_t> integer(const char* key, std::int64_t low, std::int64_t high) const {
    const toml::node* node = find(key);
    const std::string expected = high == INT64_MAX
                                     ? fmt::format("an integer of at least {}", low)
                                     : fmt::format("an integer from {} to {}", low, high);
    if (!node || !node->is_integer()) return wrong(key, expected);
    const std::int64_t value = node->as_integer()->get();
    if (value < low || value > high) return wrong(key, expected);
    return value;
  }
  Result<double> number(const char* key) const {
    const toml::node* node = find(key);
    double value = NAN;
    if (node && node->is_integer()) value = static_cast<double>(node->as_integer()->get());
    if (node && node->is_floating_point()) value = node->as_floating_point()->get();
    if (!std::isfinite(value)) return wrong(key, "a finite number");
    return value;
  }
  /// `unit` says what the number counts: "a number of seconds".
  Result<double> number_or(const char* key, double fallback, double low, double high,
                           std::string_view unit) const {
    if (!find(key)) return fallback;
    const std::string expected = fmt::format("{} from {:g} to {:.15g}", unit, low, high);
    const auto value = number(key);
    if (!value.ok() || *value < low || *value > high) return wrong(key, expected);
    return *value;
  }

 private:
  const std::filesystem::path& file_;
  std::string title_;
  const toml::table& table_;
  int line_;
};

}  // namespace hone::task
