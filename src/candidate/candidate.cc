#include "candidate/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "code/plan.h"
#include "code/signature.h"

namespace hone::candidate {
namespace {

std::vector<std::string> tunable_names(const Candidate& candidate) {
  std::vector<std::string> names;
  for (const Tunable& tunable : candidate.tunables) names.push_back(tunable.name);
  return names;
}

bool has_words(const Tunable& tunable) {
  return std::any_of(tunable.values.begin(), tunable.values.end(),
                     [](const auto& v) { return !code::integer_value(v); });
}

/// Parses an expression of the plan; words cannot be counted with.
Result<task::Expression> expression(const Candidate& candidate, const std::string& text, int line,
                                    const char* what) {
  auto parsed = task::Expression::parse(text);
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.message = fmt::format("{}:{}: {}: {}", candidate.path, line, what, error.message);
    return error;
  }
  for (const std::string& name : parsed->names()) {
    for (const Tunable& tunable : candidate.tunables) {
      if (tunable.name == name && has_words(tunable)) {
        return usage_error(fmt::format("{}:{}: {}: '{}' has values that are not integers",
                                       candidate.path, line, what, name),
                           "use an integer tunable in expressions, words in hone:flags only");
      }
    }
  }
  return parsed;
}

/// The tunable that a flag names, `$NAME` or `${NAME}`, in order.
std::vector<std::string> flag_names(std::string_view flag) {
  std::vector<std::string> names;
  for (std::size_t at = flag.find('$'); at != std::string_view::npos; at = flag.find('$', at + 1)) {
    std::string_view rest = flag.substr(at + 1);
    if (rest.starts_with('{')) rest.remove_prefix(1);
    std::size_t length = 0;
    while (length < rest.size() && is_identifier(rest.substr(0, length + 1))) ++length;
    names.emplace_back(rest.substr(0, length));
  }
  return names;
}

Status take_flags(const code::Plan& plan, Candidate& candidate) {
  const auto known = tunable_names(candidate);
  std::vector<std::string> used;
  for (const auto& flag : plan.flags) {
    for (const std::string& name : flag_names(flag.text)) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return usage_error(
            fmt::format("{}:{}: found '{}', expected the name of a tunable after '$'{}",
                        candidate.path, flag.line, flag.text, did_you_mean(name, known)),
            "declare it: // hone:tune NAME = -O2 -O3");
      }
      used.push_back(name);
    }
    candidate.flags.push_back(flag.text);
  }
  for (const auto& tune : plan.tunables) {
    if (!has_words({tune.name, tune.values}) ||
        std::find(used.begin(), used.end(), tune.name) != used.end())
      continue;
    const auto word = std::find_if(tune.values.begin(), tune.values.end(),
                                   [](const auto& v) { return !code::integer_value(v); });
    return usage_error(
        fmt::format("{}:{}: tunable '{}' has the word '{}', and no hone:flags line uses ${}",
                    candidate.path, tune.line, tune.name, *word, tune.name),
        "the source sees integers only; write the choices as 0, 1, 2");
  }
  return {};
}

Status take_scratch(const code::Plan& plan, Candidate& candidate) {
  for (const auto& written : plan.scratch) {
    Scratch scratch;
    scratch.name = written.name;
    scratch.zero = written.zero;
    auto dtype = task::dtype_from(written.dtype);
    if (!dtype) {
      Error error = std::move(dtype).error();
      error.message = fmt::format("{}:{}: scratch '{}': {}", candidate.path, written.line,
                                  written.name, error.message);
      return error;
    }
    scratch.dtype = *dtype;
    for (const std::string& extent : written.shape) {
      HONE_TRY(auto parsed, expression(candidate, extent, written.line, "hone:scratch"));
      scratch.shape.push_back(std::move(parsed));
    }
    candidate.scratch.push_back(std::move(scratch));
  }
  return {};
}

Result<Function> take_function(const Candidate& candidate, std::string_view name) {
  HONE_TRY(auto signature, code::find_function(candidate.source, candidate.path, name));
  Function function;
  function.name = signature.name;
  function.scope = signature.scope;
  function.line = signature.line;
  for (const auto& p : signature.parameters) {
    function.parameters.push_back({p.name, p.type, p.pointer, p.is_const, p.line});
  }
  return function;
}

/// Without a hone:function line the source must leave no choice.
Result<std::string> only_function(const Candidate& candidate) {
  HONE_TRY(auto all, code::read_signatures(candidate.source, candidate.path));
  std::vector<std::string> names;
  for (const auto& signature : all) {
    if (signature.extern_c) names.push_back(signature.name);
  }
  const bool extern_c = !names.empty();
  if (names.empty()) {
    for (const auto& signature : all) {
      if (!signature.is_static && !signature.is_template && signature.scope.empty())
        names.push_back(signature.name);
    }
  }
  if (names.size() == 1) return names[0];
  if (names.empty()) {
    return usage_error(fmt::format("{}: found no function to call", candidate.path),
                       "define extern \"C\" void NAME(…) { … } and name it: // hone:function NAME");
  }
  return usage_error(
      fmt::format("{}: found no hone:function line and {} {}functions: {}", candidate.path,
                  names.size(), extern_c ? "extern \"C\" " : "", fmt::join(names, ", ")),
      fmt::format("say which to call: // hone:function {}", names[0]));
}

/// The kernels of a cuda plan. A launch cannot be guessed, so at least one must be written.
Status take_kernels(const code::Plan& plan, Candidate& candidate) {
  if (!plan.functions.empty()) {
    return usage_error(fmt::format("{}:{}: found hone:function, which the cuda lane has no use for",
                                   candidate.path, plan.functions[0].line),
                       "name a kernel: // hone:kernel NAME grid=(…) block=(…)");
  }
  if (plan.kernels.empty()) {
    return usage_error(fmt::format("{}: found no hone:kernel line", candidate.path),
                       "say how to launch it: // hone:kernel NAME grid=(ceil_div(N, 256)) block=(256)");
  }
  for (const auto& written : plan.kernels) {
    auto function = take_function(candidate, written.name);
    if (!function) {
      Error error = std::move(function).error();
      return std::move(error).with("hone:kernel", fmt::format("line {}", written.line));
    }
    const auto read = [&](const std::string& text, const char* what) -> Result<std::string> {
      HONE_TRY(auto parsed, expression(candidate, text, written.line, what));
      return parsed.text();
    };
    for (const std::string& extent : written.grid) {
      HONE_TRY(auto text, read(extent, "grid"));
      function->grid.push_back(std::move(text));
    }
    for (const std::string& extent : written.block) {
      HONE_TRY(auto text, read(extent, "block"));
      function->block.push_back(std::move(text));
    }
    HONE_TRY(function->shared, read(written.shared, "shared"));
    candidate.functions.push_back(std::move(*function));
  }
  return {};
}

Status take_functions(const code::Plan& plan, Candidate& candidate) {
  if (candidate.lane == "cuda") return take_kernels(plan, candidate);
  if (!plan.kernels.empty()) {
    return usage_error(fmt::format("{}:{}: found hone:kernel, which the cpu lane has no use for",
                                   candidate.path, plan.kernels[0].line),
                       "name a host function: // hone:function NAME threads=(1); a CUDA source ends in .cu");
  }
  for (const auto& written : plan.functions) {
    auto function = take_function(candidate, written.name);
    if (!function) {
      Error error = std::move(function).error();
      return std::move(error).with("hone:function", fmt::format("line {}", written.line));
    }
    HONE_TRY(auto threads, expression(candidate, written.threads, written.line, "threads"));
    function->threads = threads.text();
    candidate.functions.push_back(std::move(*function));
  }
  if (candidate.functions.empty()) {
    HONE_TRY(auto name, only_function(candidate));
    HONE_TRY(auto function, take_function(candidate, name));
    candidate.functions.push_back(std::move(function));
  }
  return {};
}

}  // namespace

Result<Candidate> parse(std::string source, std::string path) {
  Candidate candidate;
  candidate.path = std::move(path);
  candidate.source = std::move(source);
  if (std::filesystem::path(candidate.path).extension() == ".cu") candidate.lane = "cuda";
  HONE_TRY(auto plan, code::read_plan(candidate.source, candidate.path));
  for (const auto& tune : plan.tunables) candidate.tunables.push_back({tune.name, tune.values});
  for (const auto& require : plan.requires_) {
    HONE_TRY(auto parsed, expression(candidate, require.expression, require.line, "hone:require"));
    candidate.constraints.push_back(std::move(parsed));
  }
  HONE_CHECK(take_scratch(plan, candidate));
  for (const auto& scratch : plan.scratch) {
    const auto names = tunable_names(candidate);
    if (std::find(names.begin(), names.end(), scratch.name) != names.end()) {
      return usage_error(fmt::format("{}:{}: scratch '{}' has the name of a tunable",
                                     candidate.path, scratch.line, scratch.name),
                         "rename one of them");
    }
  }
  HONE_CHECK(take_flags(plan, candidate));
  if (!plan.compiler.empty() && candidate.lane == "cuda") {
    return usage_error(fmt::format("{}:{}: found hone:compiler, which the cuda lane has no use for",
                                   candidate.path, plan.compiler_line),
                       "remove it: NVRTC compiles every kernel");
  }
  if (!plan.compiler.empty() && plan.compiler != "g++" && plan.compiler != "clang++") {
    return usage_error(fmt::format("{}:{}: found compiler '{}', expected g++ or clang++{}",
                                   candidate.path, plan.compiler_line, scrub(plan.compiler, 60),
                                   did_you_mean(plan.compiler, {"g++", "clang++"})));
  }
  candidate.compiler = plan.compiler;
  HONE_CHECK(take_functions(plan, candidate));
  return candidate;
}

Result<Candidate> read(const std::string& path) {
  auto source = read_file(path, std::size_t{1} << 20);
  if (!source.ok()) {
    Error why = std::move(source).error();
    if (why.cure.empty()) why.cure = "Give the source file of a candidate; hone init writes a first one into the task's folder candidates/";
    return why;
  }
  return parse(std::move(source).value(), path);
}

std::string source_identity(const Candidate& candidate, const Assignment& assignment) {
  // Lengths keep "a"+"bc" apart from "ab"+"c".
  std::string bytes = fmt::format("{}\n{}", candidate.source.size(), candidate.source);
  for (const auto& [name, value] : assignment) bytes += fmt::format("\n{}={}", name, value);
  return identity_hash(bytes);
}

Json to_json(const Assignment& assignment) {
  Json json = Json::object();
  for (const auto& [name, value] : assignment) {
    if (const auto integer = code::integer_value(value))
      json[name] = *integer;
    else
      json[name] = value;
  }
  return json;
}

Result<Assignment> assignment_from(const Json& json) {
  if (!json.is_object()) return usage_error("assignment: expected an object of names and values");
  Assignment assignment;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string())
      assignment[name] = value.get<std::string>();
    else if (value.is_number_integer())
      assignment[name] = std::to_string(value.get<std::int64_t>());
    else
      return usage_error(fmt::format("assignment: '{}' is neither an integer nor a word", name));
  }
  return assignment;
}

std::string text_of(const Assignment& assignment) {
  std::string text;
  for (const auto& [name, value] : assignment)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

}  // namespace hone::candidate
