// The source a lane compiles: the user's text with its own line numbers, the tunables as constants,
// and one entry point that calls every function with what was bound to it.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/hash.h"
#include "base/text.h"
#include "candidate/bind.h"
#include "candidate/space.h"
#include "code/plan.h"
#include "code/signature.h"
#include "code/tokens.h"

namespace hone::candidate {
namespace {

using code::Token;

bool is_comment(const Token& token) {
  return token.kind == Token::Kind::line_comment || token.kind == Token::Kind::block_comment;
}

std::string directive_word(const Token& token) {
  const std::string line = code::spliced(token.text.substr(1));
  const std::string_view rest = trim(line);
  std::size_t length = 0;
  while (length < rest.size() && is_identifier(rest.substr(0, length + 1))) ++length;
  return std::string(rest.substr(0, length));
}

/// Where constants may stand: a line start after the leading directives, outside every #if, before
/// any code.
std::size_t place_of_constants(std::string_view source, const std::vector<Token>& tokens) {
  std::size_t place = 0;
  int depth = 0;
  for (const Token& token : tokens) {
    if (is_comment(token)) continue;
    if (token.kind != Token::Kind::directive) break;
    const std::string word = directive_word(token);
    if (word == "if" || word == "ifdef" || word == "ifndef") ++depth;
    if (word == "endif") --depth;
    if (depth != 0) continue;
    const std::size_t newline = source.find('\n', token.offset + token.text.size());
    place = newline == std::string_view::npos ? source.size() : newline + 1;
  }
  // A comment that begins after the last directive and spans lines must not be cut in two.
  for (const Token& token : tokens) {
    const std::size_t end = token.offset + token.text.size();
    if (token.offset < place && end > place) {
      const std::size_t newline = source.find('\n', end);
      place = newline == std::string_view::npos ? source.size() : newline + 1;
    }
  }
  return place;
}

std::string constant_line(const std::string& name, std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) {
    return fmt::format("constexpr long long {} = -{}LL - 1;\n", name,
                       std::numeric_limits<std::int64_t>::max());
  }
  const bool fits =
      value >= std::numeric_limits<int>::min() + 1 && value <= std::numeric_limits<int>::max();
  return fmt::format("constexpr {} {} = {}{};\n", fits ? "int" : "long long", name, value,
                     fits ? "" : "LL");
}

std::string file_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-' &&
        c != '+')
      c = '_';
  }
  return name.empty() ? "candidate.cc" : name;
}

/// The user's text with constants put in and its lines numbered as they were.
std::string with_constants(const Candidate& candidate, const Assignment& assignment,
                           const std::vector<Token>& tokens) {
  const std::string name = file_name(candidate.path);
  const std::size_t place = place_of_constants(candidate.source, tokens);
  const auto line =
      1 + std::count(candidate.source.begin(),
                     candidate.source.begin() + static_cast<std::ptrdiff_t>(place), '\n');
  std::string out = fmt::format("#line 1 \"{}\"\n{}", name, candidate.source.substr(0, place));
  if (place > 0 && out.back() != '\n') out += '\n';
  for (const Tunable& tunable : candidate.tunables) {
    if (const auto value = code::integer_value(assignment.at(tunable.name)))
      out += constant_line(tunable.name, *value);
  }
  // C's spelling, which C++ does not know.
  if (std::any_of(tokens.begin(), tokens.end(), [](const Token& t) {
        return t.kind == Token::Kind::identifier && t.text == "restrict";
      })) {
    out += "#define restrict __restrict__\n";
  }
  out += fmt::format("#line {} \"{}\"\n{}", line, name, candidate.source.substr(place));
  return out + "\n\n";  // two: the text may end in a backslash
}

std::string call_of(const std::string& scope, const std::string& name,
                    const std::vector<std::string>& arguments) {
  return fmt::format("::{}{}{}({}{})", scope, scope.empty() ? "" : "::", name,
                     arguments.empty() ? "" : "\n      ", fmt::join(arguments, ",\n      "));
}

Result<std::string> entry_point(const Candidate& candidate, Binder& binder, bool openmp) {
  std::string body;
  for (std::size_t f = 0; f < candidate.functions.size(); ++f) {
    const Function& function = candidate.functions[f];
    HONE_TRY(auto arguments, binder.bind(function));
    if (openmp) body += fmt::format("  hone_set_threads(hone_threads[{}]);\n", f);
    body += fmt::format("  {};\n", call_of(function.scope, function.name, arguments));
  }
  HONE_CHECK(binder.check_complete());
  std::string out = "#line 1 \"hone_entry\"\n";
  // The label keeps it apart from the declaration in omp.h, whose exception specification differs
  // by compiler.
  if (openmp) out += "extern \"C\" void hone_set_threads(int) __asm__(\"omp_set_num_threads\");\n";
  out +=
      "extern \"C\" __attribute__((visibility(\"default\"))) void hone_entry(void* const* "
      "hone_arguments, const int* hone_threads) {\n"
      "  (void)hone_arguments;\n  (void)hone_threads;\n";
  return out + body + "}\n";
}

/// One function an output with `select`: the value that an index stands for.
Result<std::string> select_functions(const Candidate& candidate, const task::Task& task,
                                     Binder& binder) {
  std::string out;
  for (std::size_t k = 0; k < task.outputs.size(); ++k) {
    const task::Tensor& output = task.outputs[k];
    if (!output.select) continue;
    if (output.selects.empty()) {
      return usage_error(
          fmt::format("output '{}' is a selection, and the task does not say what it selects",
                      output.name),
          "name the reference's function that gives the value: selects = \"value_at\"");
    }
    HONE_TRY(auto signature, code::find_function(candidate.source, candidate.path, output.selects));
    if (signature.return_type != "HONE_REAL" && signature.return_type != "double" &&
        signature.return_type != "float") {
      return usage_error(fmt::format("{}:{}: '{}' returns '{}', expected HONE_REAL", candidate.path,
                                     signature.line, signature.name, signature.return_type),
                         "it gives the value that index selects for element");
    }
    HONE_TRY(auto arguments, binder.bind_select(signature));
    out += fmt::format(
        "extern \"C\" __attribute__((visibility(\"default\"))) double hone_select_{}(void* const* "
        "hone_arguments, "
        "long long hone_element, long long hone_index) {{\n"
        "  (void)hone_arguments;\n  (void)hone_element;\n  (void)hone_index;\n  return "
        "(double){};\n}}\n",
        k, call_of(signature.scope, signature.name, arguments));
  }
  return out;
}

/// Tunables replaced by their values, dims left.
std::string substituted_expression(const std::string& text, const Assignment& assignment) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 0;
    while (i + length < text.size() && is_identifier(std::string_view(text).substr(i, length + 1)))
      ++length;
    if (length == 0) {
      // Digits go as a whole, so that "2N" is left to the parser and not read as 2 and N.
      do out += text[i++];
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i - 1])) &&
             std::isalnum(static_cast<unsigned char>(text[i])));
      continue;
    }
    const std::string name = text.substr(i, length);
    const auto at = assignment.find(name);
    if (at == assignment.end())
      out += name;
    else
      out += at->second.starts_with('-') ? "(" + at->second + ")" : at->second;
    i += length;
  }
  return out;
}

/// The launches of a cuda plan, and for a reference one kernel an output with `select`.
Result<std::string> bind_kernels(const Candidate& candidate, const task::Task& task, Binder& binder,
                                 Resolved& resolved) {
  const auto substituted = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> out;
    for (const std::string& text : texts) out.push_back(substituted_expression(text, resolved.assignment));
    return out;
  };
  for (const Function& function : candidate.functions) {
    if (!function.scope.empty())
      return usage_error(fmt::format("{}:{}: kernel '{}' lies in namespace {}", candidate.path, function.line,
                                     function.name, function.scope),
                         "declare it extern \"C\" outside of namespaces, so that it can be found by its name");
    HONE_TRY([[maybe_unused]] auto texts, binder.bind(function));
    resolved.launches.push_back({function.name, substituted(function.grid), substituted(function.block),
                                 substituted_expression(function.shared, resolved.assignment), binder.take_bound()});
  }
  HONE_CHECK(binder.check_complete());
  std::string out;
  if (resolved.build != Build::oracle && resolved.build != Build::rounded) return out;
  for (std::size_t k = 0; k < task.outputs.size(); ++k) {
    const task::Tensor& output = task.outputs[k];
    resolved.selects.emplace_back();
    if (!output.select) continue;
    HONE_TRY(auto signature, code::find_function(candidate.source, candidate.path, output.selects));
    HONE_TRY([[maybe_unused]] auto texts, binder.bind_select(signature));
    std::vector<std::string> parameters, arguments;
    for (const auto& p : signature.parameters) {
      if (p.name == "element" || p.name == "index") {
        arguments.push_back(fmt::format("({})hone_{}", p.type, p.name));
        continue;
      }
      parameters.push_back(fmt::format("{}{}{} {}, ", p.is_const && p.pointer ? "const " : "", p.type,
                                       p.pointer ? "*" : "", p.name));
      arguments.push_back(p.name);
    }
    const std::string name = fmt::format("hone_select_{}", k);
    out += fmt::format(
        "extern \"C\" __global__ void {}({}const long long* hone_chosen, double* hone_value, long long hone_count) {{\n"
        "  const long long hone_element = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
        "  if (hone_element >= hone_count) return;\n"
        "  const long long hone_index = hone_chosen[hone_element];\n"
        "  hone_value[hone_element] = (double){};\n}}\n",
        name, fmt::join(parameters, ""), call_of(signature.scope, signature.name, arguments));
    resolved.selects.back() = {name, {}, {}, "0", binder.take_bound()};
  }
  return out;
}

/// `$NAME` and `${NAME}` replaced; a flag that is one tunable whose value is `none` is left out.
std::vector<std::string> substituted_flags(const Candidate& candidate,
                                           const Assignment& assignment) {
  std::vector<std::string> flags;
  for (const std::string& flag : candidate.flags) {
    std::string out;
    for (std::size_t i = 0; i < flag.size(); ++i) {
      if (flag[i] != '$') {
        out += flag[i];
        continue;
      }
      const bool braces = flag.substr(i + 1, 1) == "{";
      const std::string_view rest = std::string_view(flag).substr(i + (braces ? 2 : 1));
      std::size_t length = 0;
      while (length < rest.size() && is_identifier(rest.substr(0, length + 1))) ++length;
      const auto at = assignment.find(std::string(rest.substr(0, length)));
      if (at != assignment.end() && at->second != "none") out += at->second;
      i += length + (braces ? 2 : 0);
    }
    if (!out.empty()) flags.push_back(std::move(out));
  }
  return flags;
}

/// An OpenMP pragma, also as _Pragma("omp …").
bool has_openmp(const std::vector<Token>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
    if (token.kind == Token::Kind::directive) {
      const std::string line = code::spliced(token.text.substr(1));
      const auto parts = words(line);
      if (parts.size() >= 2 && parts[0] == "pragma" && parts[1] == "omp") return true;
      return line.find("_Pragma") != std::string::npos && line.find("omp") != std::string::npos;
    }
    return token.kind == Token::Kind::string &&
           token.text.starts_with("\"omp ");  // _Pragma("omp …")
  });
}

Status check_scratch_names(const Candidate& candidate, const task::Task& task) {
  for (const Argument& argument : argument_list(task, {})) {
    for (const Scratch& scratch : candidate.scratch) {
      if (scratch.name == argument.name) {
        return usage_error(fmt::format("{}: scratch '{}' has the name of something in the task",
                                       candidate.path, scratch.name),
                           "rename it");
      }
    }
  }
  return {};
}

Status check_narrow(const std::map<std::string, std::string>& narrow, const task::Dims& dims) {
  for (const auto& [name, type] : narrow) {
    const auto at = dims.find(name);
    if (at == dims.end()) continue;
    const bool is_unsigned = type.starts_with('u');
    const std::int64_t limit = is_unsigned ? std::numeric_limits<std::uint32_t>::max()
                                           : std::numeric_limits<std::int32_t>::max();
    if (at->second > limit) {
      return usage_error(
          fmt::format("dim {}={} does not fit the parameter '{} {}'", name, at->second, type, name),
          fmt::format("take it as int64_t {}", name));
    }
  }
  return {};
}

/// What every lane's resolved candidate says of its binding.
Result<Resolved> finish(Resolved resolved, const task::Task& task, const Binder& binder) {
  resolved.binding = binder.lines();
  resolved.narrow_dims = binder.narrow_dims();
  resolved.in_place = binder.in_place();
  for (const task::Case& c : task.cases) HONE_CHECK(check_narrow(resolved.narrow_dims, c.dims));
  return resolved;
}

}  // namespace

Result<Resolved> resolve(const Candidate& candidate, const Assignment& assignment,
                         const task::Task& task, Build build) {
  HONE_CHECK(check_names(candidate, task));
  HONE_CHECK(check_assignment(candidate, assignment));
  HONE_CHECK(check_scratch_names(candidate, task));
  const bool reference = build == Build::oracle || build == Build::rounded;
  if (reference && !candidate.flags.empty()) {
    return usage_error(fmt::format("{}: a reference takes no hone:flags, found {}", candidate.path,
                                   candidate.flags[0]),
                       "flags could change its arithmetic; for a baseline with flags write "
                       "[baseline] use = \"FILE\"");
  }
  HONE_TRY(auto tokens, code::tokenize(candidate.source, candidate.path));
  Resolved resolved;
  resolved.lane = candidate.lane;
  resolved.assignment = assignment;
  resolved.compiler = candidate.compiler;
  resolved.scratch = candidate.scratch;
  resolved.build = build;
  resolved.precision = task.precision;
  for (const task::Tensor& output : task.outputs)
    resolved.outputs.emplace_back(output.name, output.dtype);
  resolved.flags = substituted_flags(candidate, assignment);
  Binder binder(candidate, task, build);
  if (candidate.lane == "cuda") {
    HONE_TRY(const std::string select, bind_kernels(candidate, task, binder, resolved));
    resolved.source = with_constants(candidate, assignment, tokens) + select;
    return finish(std::move(resolved), task, binder);
  }
  bool threaded = false;
  for (const Function& function : candidate.functions) {
    resolved.function_threads.push_back(substituted_expression(function.threads, assignment));
    HONE_TRY(auto threads, task::Expression::parse(resolved.function_threads.back()));
    const auto constant = threads.evaluate({});
    threaded = threaded || !constant.ok() || *constant != 1;
  }
  resolved.openmp = threaded && has_openmp(tokens);
  HONE_TRY(auto entry, entry_point(candidate, binder, resolved.openmp));
  std::string select;
  if (reference) {
    HONE_TRY(select, select_functions(candidate, task, binder));
  }
  resolved.source = with_constants(candidate, assignment, tokens);
  resolved.source += entry + select;
  return finish(std::move(resolved), task, binder);
}

Result<std::vector<LaunchShape>> shapes_for(const Resolved& resolved, const task::Dims& dims) {
  HONE_CHECK(check_narrow(resolved.narrow_dims, dims));
  std::vector<LaunchShape> shapes;
  for (const Launch& launch : resolved.launches) {
    LaunchShape shape;
    const auto number = [&](const std::string& text, const char* what, std::int64_t least) -> Result<std::int64_t> {
      HONE_TRY(auto expression, task::Expression::parse(text));
      HONE_TRY(auto value, expression.evaluate(dims));
      if (value < least)
        return usage_error(fmt::format("kernel '{}': {}=({}) gives {}", launch.kernel, what, text, value),
                           fmt::format("it must be {} or more", least));
      return value;
    };
    for (std::size_t i = 0; i < launch.grid.size(); ++i) {
      HONE_TRY(shape.grid[i], number(launch.grid[i], "grid", 0));
    }
    for (std::size_t i = 0; i < launch.block.size(); ++i) {
      HONE_TRY(shape.block[i], number(launch.block[i], "block", 1));
    }
    HONE_TRY(shape.shared_bytes, number(launch.shared, "shared", 0));
    shapes.push_back(shape);
  }
  return shapes;
}

Result<std::vector<int>> threads_for(const Resolved& resolved, const task::Task& task,
                                     const task::Dims& dims) {
  HONE_CHECK(check_narrow(resolved.narrow_dims, dims));
  std::vector<int> threads;
  for (const std::string& text : resolved.function_threads) {
    HONE_TRY(auto expression, task::Expression::parse(text));
    HONE_TRY(auto value, expression.evaluate(dims));
    if (value < 1 || value > task.limits.threads) {
      return usage_error(
          fmt::format("threads=({}) gives {}, expected 1 to {}", text, value, task.limits.threads),
          "choose fewer threads, or raise [limits] threads in the task: it binds baseline and "
          "candidate alike");
    }
    threads.push_back(static_cast<int>(value));
  }
  return threads;
}

Result<std::int64_t> scratch_bytes(const Scratch& scratch, const Resolved& resolved,
                                   const task::Dims& dims) {
  task::Dims names = dims;
  for (const auto& [name, value] : resolved.assignment) {
    if (const auto integer = code::integer_value(value)) names[name] = *integer;
  }
  auto bytes = static_cast<std::int64_t>(task::size_of(scratch.dtype));
  for (const auto& extent : scratch.shape) {
    HONE_TRY(auto value, extent.evaluate(names));
    if (value < 0)
      return usage_error(
          fmt::format("scratch '{}': the extent {} is {}", scratch.name, extent.text(), value),
          "extents are 0 or more");
    if (__builtin_mul_overflow(bytes, value, &bytes)) {
      return usage_error(fmt::format("scratch '{}' is larger than 2^63 bytes", scratch.name));
    }
  }
  return bytes;
}

std::string identity(const std::string& machine_code_hash, const Resolved& resolved,
                     const task::Task& task, const std::string& device) {
  Json parts = Json::object();
  parts["code"] = machine_code_hash;
  parts["threads"] = resolved.function_threads;
  parts["openmp"] = resolved.openmp;
  parts["in_place"] = resolved.in_place;
  for (const Launch& launch : resolved.launches)
    parts["launches"].push_back({launch.kernel, launch.grid, launch.block, launch.shared});
  parts["build"] = static_cast<int>(resolved.build);
  parts["binding"] = resolved.binding;
  Json scratch = Json::array();
  for (const Scratch& one : resolved.scratch) {
    Json shape = Json::array();
    for (const auto& extent : one.shape)
      shape.push_back(substituted_expression(extent.text(), resolved.assignment));
    scratch.push_back({one.name, task::name_of(one.dtype), shape, one.zero});
  }
  parts["scratch"] = scratch;
  parts["task"] = task.identity();
  parts["device"] = device;
  return identity_hash(parts.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace hone::candidate
