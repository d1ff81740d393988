#include "code/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.h"
#include "code/tokens.h"

namespace hone::code {
namespace {

constexpr std::size_t kMaxLineBytes = 64 * 1024;

/// One `hone:` line: its word and what follows, and where.
struct Line {
  std::string_view path;
  int number;
  std::string word, rest;

  Error error(std::string_view found, std::string_view expected, std::string cure = "") const {
    return usage_error(fmt::format("{}:{}: found {}, expected {}", path, number, found, expected),
                       std::move(cure));
  }
};

std::string shown(std::string_view text) {
  if (text.empty()) return "nothing";
  if (text.size() > 60) return fmt::format("'{}…'", scrub(text.substr(0, 60)));
  return fmt::format("'{}'", scrub(text));
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_=+.,").find(c) != std::string_view::npos;
  });
}

Result<std::string> take_name(const Line& line, std::string_view& rest, std::string_view what) {
  rest = trim(rest);
  std::size_t length = 0;
  while (length < rest.size() && is_identifier(rest.substr(0, length + 1))) ++length;
  const bool ends = length == rest.size() || rest[length] == ' ' || rest[length] == '\t' ||
                    rest[length] == '=' || rest[length] == '[';
  if (length == 0 || !ends) {
    const auto all = words(rest);
    return line.error(shown(all.empty() ? rest : all[0]), what, "a name is letters, digits and _");
  }
  std::string name(rest.substr(0, length));
  rest = trim(rest.substr(length));
  return name;
}

/// The text between the bracket at rest[0] and its partner; moves past it.
Result<std::string_view> take_bracketed(const Line& line, std::string_view& rest, char open,
                                        char close, std::string_view what) {
  if (rest.empty() || rest[0] != open)
    return line.error(shown(rest), fmt::format("'{}' and {}", open, what));
  int depth = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '(' || rest[i] == '[') ++depth;
    if (rest[i] == ')' || rest[i] == ']') --depth;
    if (depth == 0) {
      if (rest[i] != close) break;
      const std::string_view inner = trim(rest.substr(1, i - 1));
      rest = trim(rest.substr(i + 1));
      return inner;
    }
  }
  return line.error(shown(rest), fmt::format("a '{}' that closes '{}'", close, open));
}

/// Splits at commas outside brackets; an empty part is an error.
Result<std::vector<std::string>> expressions(const Line& line, std::string_view text,
                                             std::string_view what) {
  std::vector<std::string> parts;
  if (trim(text).empty()) return parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '(' || text[i] == '[')) ++depth;
    if (i < text.size() && (text[i] == ')' || text[i] == ']')) --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view part = trim(text.substr(begin, i - begin));
      if (part.empty()) return line.error(shown(text), fmt::format("{} between its commas", what));
      parts.emplace_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

/// "KEY=(…)" pairs, in any order, each once.
Result<std::vector<std::pair<std::string, std::string>>> options(
    const Line& line, std::string_view rest, const std::vector<std::string>& known) {
  std::vector<std::pair<std::string, std::string>> found;
  const std::string expected = fmt::format("{}=(…)", fmt::join(known, "=(…) or "));
  while (!trim(rest).empty()) {
    rest = trim(rest);
    const std::string_view start = rest;
    auto name = take_name(line, rest, expected);
    if (!name) return std::move(name).error();
    if (std::find(known.begin(), known.end(), *name) == known.end()) {
      return line.error(shown(*name), expected + did_you_mean(*name, known));
    }
    if (rest.empty() || rest[0] != '=')
      return line.error(shown(start), fmt::format("{}=(…)", *name));
    rest = trim(rest.substr(1));
    HONE_TRY(auto inner, take_bracketed(line, rest, '(', ')', "an expression"));
    if (std::any_of(found.begin(), found.end(), [&](const auto& f) { return f.first == *name; })) {
      return line.error(fmt::format("'{}' twice", *name), "it once");
    }
    found.emplace_back(std::move(*name), std::string(inner));
  }
  return found;
}

Status read_tune(const Line& line, Plan& plan) {
  std::string_view rest = line.rest;
  HONE_TRY(auto name, take_name(line, rest, "NAME = VALUE VALUE …"));
  if (rest.empty() || rest[0] != '=') {
    return line.error(shown(rest), fmt::format("'=' after '{}'", name),
                      "write // hone:tune NAME = 1 2 4");
  }
  Plan::Tune tune{name, {}, line.number};
  std::set<std::string, std::less<>> seen;
  for (std::string_view value : words(rest.substr(1))) {
    while (value.ends_with(',')) value.remove_suffix(1);  // "1, 2, 4" is what many write
    if (value.empty()) continue;
    const bool looks_integer = value.find_first_not_of("-+0123456789") == std::string_view::npos;
    if (!is_word(value) || (looks_integer && !integer_value(value))) {
      return line.error(shown(value), "integers of 64 bits or words such as -O3",
                        "separate values by blanks; a range is written out");
    }
    if (!seen.emplace(value).second)
      return line.error(fmt::format("the value '{}' twice", value), "each value once");
    tune.values.emplace_back(value);
    if (tune.values.size() > kMaxTunableValues) {
      return line.error(fmt::format("more than {} values", kMaxTunableValues), "fewer",
                        "tune powers of two, or a range in steps");
    }
  }
  if (tune.values.empty()) return line.error("no value", "NAME = VALUE VALUE …");
  for (const auto& other : plan.tunables) {
    if (other.name == name) {
      return line.error(fmt::format("the tunable '{}' again (first on line {})", name, other.line),
                        "another name");
    }
  }
  if (plan.tunables.size() == kMaxTunables) {
    return line.error(fmt::format("more than {} tunables", kMaxTunables), "fewer");
  }
  plan.tunables.push_back(std::move(tune));
  return {};
}

Status read_require(const Line& line, Plan& plan) {
  if (line.rest.empty()) return line.error("nothing", "an expression such as TILE * 4 <= 4096");
  plan.requires_.push_back({line.rest, line.number});
  return {};
}

Status read_scratch(const Line& line, Plan& plan) {
  constexpr std::string_view kForm = "NAME DTYPE [EXTENT, …] and perhaps zero";
  std::string_view rest = line.rest;
  Plan::Scratch scratch;
  scratch.line = line.number;
  HONE_TRY(scratch.name, take_name(line, rest, kForm));
  HONE_TRY(scratch.dtype, take_name(line, rest, kForm));
  HONE_TRY(auto inner, take_bracketed(line, rest, '[', ']', "the extents"));
  HONE_TRY(scratch.shape, expressions(line, inner, "an extent"));
  if (rest == "zero") {
    scratch.zero = true;
  } else if (!rest.empty()) {
    return line.error(shown(rest), "zero or the end of the line" + did_you_mean(rest, {"zero"}));
  }
  for (const auto& other : plan.scratch) {
    if (other.name == scratch.name) {
      return line.error(
          fmt::format("the scratch '{}' again (first on line {})", other.name, other.line),
          "another name");
    }
  }
  plan.scratch.push_back(std::move(scratch));
  return {};
}

Status read_function(const Line& line, Plan& plan) {
  std::string_view rest = line.rest;
  Plan::Function function;
  function.line = line.number;
  HONE_TRY(function.name, take_name(line, rest, "NAME and perhaps threads=(…)"));
  HONE_TRY(auto found, options(line, rest, {"threads"}));
  for (auto& [key, value] : found) {
    if (value.empty()) return line.error("threads=()", "an expression in the brackets");
    function.threads = std::move(value);
  }
  plan.functions.push_back(std::move(function));
  return {};
}

Status read_kernel(const Line& line, Plan& plan) {
  std::string_view rest = line.rest;
  Plan::Kernel kernel;
  kernel.line = line.number;
  HONE_TRY(kernel.name, take_name(line, rest, "NAME grid=(…) block=(…)"));
  HONE_TRY(auto found, options(line, rest, {"grid", "block", "shared"}));
  for (auto& [key, value] : found) {
    if (key == "shared") {
      if (value.empty()) return line.error("shared=()", "bytes in the brackets");
      kernel.shared = std::move(value);
      continue;
    }
    HONE_TRY(auto parts, expressions(line, value, "an extent"));
    if (parts.empty() || parts.size() > 3) {
      return line.error(fmt::format("{} extents in {}=({})", parts.size(), key, value),
                        "one to three");
    }
    (key == "grid" ? kernel.grid : kernel.block) = std::move(parts);
  }
  if (kernel.grid.empty() || kernel.block.empty()) {
    return line.error(fmt::format("no {}", kernel.grid.empty() ? "grid=(…)" : "block=(…)"),
                      "grid=(…) and block=(…)");
  }
  plan.kernels.push_back(std::move(kernel));
  return {};
}

Status read_flags(const Line& line, Plan& plan) {
  const auto all = words(line.rest);
  if (all.empty()) return line.error("nothing", "compiler flags such as -O3 or $UNROLL");
  for (const std::string_view word : all) {
    if (word[0] != '-' && word[0] != '$')
      return line.error(shown(word), "a flag that begins with - or $NAME");
    plan.flags.push_back({std::string(word), line.number});
  }
  return {};
}

Status read_compiler(const Line& line, Plan& plan) {
  const auto all = words(line.rest);
  if (all.size() != 1) return line.error(shown(line.rest), "g++ or clang++");
  if (plan.compiler_line != 0) {
    return line.error(fmt::format("a second compiler (first on line {})", plan.compiler_line),
                      "one");
  }
  plan.compiler = std::string(all[0]);
  plan.compiler_line = line.number;
  return {};
}

Status read_expect(const Line& line, Plan& plan) {
  const auto all = words(line.rest);
  if (all.size() != 2)
    return line.error(shown(line.rest), "GATE REASON, such as correctness wrong_value");
  plan.expects.push_back({std::string(all[0]), std::string(all[1]), line.number});
  return {};
}

struct Reader {
  const char* word;
  Status (*read)(const Line&, Plan&);
};
constexpr Reader kReaders[] = {
    {"tune", read_tune},         {"require", read_require}, {"scratch", read_scratch},
    {"function", read_function}, {"kernel", read_kernel},   {"flags", read_flags},
    {"compiler", read_compiler}, {"expect", read_expect},
};

std::vector<std::string> known_words() {
  std::vector<std::string> known;
  for (const Reader& reader : kReaders) known.emplace_back(reader.word);
  return known;
}

Status read_line(const Line& line, Plan& plan) {
  for (const Reader& reader : kReaders) {
    if (line.word == reader.word) return reader.read(line, plan);
  }
  const auto known = known_words();
  return line.error(
      shown("hone:" + line.word),
      fmt::format("hone: and one of {}{}", fmt::join(known, ", "), did_you_mean(line.word, known)));
}

/// The text after "hone:" when a comment begins with it.
std::optional<std::string> plan_text(const Token& token) {
  std::string text = spliced(token.text);
  std::string_view inner = text;
  inner.remove_prefix(2);
  while (inner.starts_with('/') || inner.starts_with('!'))
    inner.remove_prefix(1);  // doxygen comments
  inner = trim(inner);
  if (!inner.starts_with("hone:")) return std::nullopt;
  return std::string(inner.substr(5));
}

}  // namespace

std::optional<std::int64_t> integer_value(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Plan> read_plan(std::string_view source, std::string_view path) {
  HONE_TRY(auto tokens, tokenize(source, path));
  Plan plan;
  std::size_t lines = 0;
  for (const Token& token : tokens) {
    const bool block = token.kind == Token::Kind::block_comment;
    if (!block && token.kind != Token::Kind::line_comment) continue;
    auto text = plan_text(token);
    if (!text) continue;
    Line line{path, token.line, "", ""};
    if (block) return line.error("a plan line in /* */", "it in a // comment of its own");
    if (text->size() > kMaxLineBytes)
      return line.error(fmt::format("a plan line of {} bytes", text->size()),
                        fmt::format("at most {}", kMaxLineBytes));
    if (++lines > kMaxPlanLines)
      return line.error(fmt::format("more than {} plan lines", kMaxPlanLines), "fewer");
    const std::string_view rest = trim(*text);
    const std::size_t blank = rest.find_first_of(" \t");
    line.word = std::string(rest.substr(0, blank));
    line.rest = blank == std::string_view::npos ? "" : std::string(trim(rest.substr(blank)));
    HONE_CHECK(read_line(line, plan));
  }
  return plan;
}

}  // namespace hone::code
