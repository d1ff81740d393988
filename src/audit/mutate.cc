#include "audit/mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "code/signature.h"
#include "code/tokens.h"

namespace hone::audit {
namespace {

using code::Token;

/// A replacement of bytes [begin, end) of the source.
struct Edit {
  std::size_t begin, end;
  std::string text;
  int line;
  std::string what;
};

/// The tokens of one function's body, without comments and directives.
struct Body {
  std::string_view source;
  std::vector<Token> tokens;
  std::vector<Token> directives;
  std::vector<std::string> loop_variables;
  std::set<std::string> integers;  // parameters and loop variables that hold whole numbers

  bool is(std::size_t i, std::string_view text) const { return i < tokens.size() && tokens[i].text == text; }
  bool is_identifier(std::size_t i) const {
    return i < tokens.size() && tokens[i].kind == Token::Kind::identifier;
  }
  bool is_number(std::size_t i) const { return i < tokens.size() && tokens[i].kind == Token::Kind::number; }
  std::size_t end_of(std::size_t i) const { return tokens[i].offset + tokens[i].text.size(); }
  /// Token i and i + 1 touch: '+' '=' is one operator to the compiler.
  bool touches(std::size_t i) const { return i + 1 < tokens.size() && end_of(i) == tokens[i + 1].offset; }
  std::string text(std::size_t first, std::size_t last) const {  // [first, last)
    if (first >= last) return "";
    return std::string(source.substr(tokens[first].offset, end_of(last - 1) - tokens[first].offset));
  }
};

bool opens(std::string_view t) { return t == "(" || t == "[" || t == "{"; }
bool closes(std::string_view t) { return t == ")" || t == "]" || t == "}"; }

/// Index of the bracket that closes the one at `open`, or the number of tokens.
std::size_t closing(const Body& body, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < body.tokens.size(); ++i) {
    if (opens(body.tokens[i].text)) ++depth;
    if (closes(body.tokens[i].text) && --depth == 0) return i;
  }
  return body.tokens.size();
}

const std::set<std::string_view> kTypeWords = {
    "float", "double", "int", "long", "short", "char", "unsigned", "signed", "bool", "void", "auto", "const", "size_t",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "HONE_REAL", "HONE_OUT",
    "typename", "class", "struct", "return", "else", "case", "sizeof", "static", "constexpr"};

bool is_operand_end(const Body& body, std::size_t i) {
  if (i >= body.tokens.size()) return false;
  const Token& t = body.tokens[i];
  if (t.kind == Token::Kind::number) return true;
  if (t.kind == Token::Kind::identifier) return !kTypeWords.contains(t.text);
  return t.text == ")" || t.text == "]";
}

/// '+', '-', '*' or '/' between two operands; not part of ++, --, +=, -> or a pointer's type.
bool is_binary(const Body& body, std::size_t i) {
  const std::string_view t = body.tokens[i].text;
  if (t != "+" && t != "-" && t != "*" && t != "/") return false;
  if (i == 0 || !is_operand_end(body, i - 1)) return false;
  if (body.touches(i) && (body.is(i + 1, "=") || body.is(i + 1, t))) return false;
  if (body.touches(i - 1) && body.is(i - 1, t)) return false;
  const bool operand_follows = body.is_identifier(i + 1) || body.is_number(i + 1) || body.is(i + 1, "(");
  return operand_follows;
}

/// One past the primary expression that begins at i: a name or number with its calls and subscripts, or brackets.
std::size_t primary_end(const Body& body, std::size_t i) {
  std::size_t at = i;
  if (body.is(at, "(")) {
    at = closing(body, at) + 1;
  } else if (body.is_identifier(at) || body.is_number(at)) {
    ++at;
    while (body.is(at, "::") && body.is_identifier(at + 1)) at += 2;
  } else {
    return i;
  }
  while (body.is(at, "(") || body.is(at, "[")) at = closing(body, at) + 1;
  return std::min(at, body.tokens.size());
}

/// One past a product: primaries joined by * and /.
std::size_t term_end(const Body& body, std::size_t i) {
  std::size_t at = primary_end(body, i);
  while (at > i && at < body.tokens.size() && (body.is(at, "*") || body.is(at, "/"))) {
    const std::size_t next = primary_end(body, at + 1);
    if (next == at + 1) break;
    at = next;
  }
  return at;
}

/// Depth of subscripts around each token: arithmetic on indices is another matter than on values.
std::vector<int> subscript_depth(const Body& body) {
  std::vector<int> out(body.tokens.size(), 0);
  int depth = 0;
  for (std::size_t i = 0; i < body.tokens.size(); ++i) {
    if (body.is(i, "]")) --depth;
    out[i] = depth;
    if (body.is(i, "[")) ++depth;
  }
  return out;
}

struct Loop {
  std::size_t init_begin, init_end, condition_begin, condition_end;
};
std::vector<Loop> loops_of(const Body& body) {
  std::vector<Loop> out;
  for (std::size_t i = 0; i + 1 < body.tokens.size(); ++i) {
    if (!body.is(i, "for") || !body.is(i + 1, "(")) continue;
    const std::size_t end = closing(body, i + 1);
    std::vector<std::size_t> semicolons;
    for (std::size_t k = i + 2; k < end; ++k)
      if (body.is(k, ";")) semicolons.push_back(k);
    if (semicolons.size() != 2) continue;
    out.push_back({i + 2, semicolons[0], semicolons[0] + 1, semicolons[1]});
  }
  return out;
}

/// The '<' of a loop's condition and its bound's range; nothing for other conditions.
struct Bound {
  std::size_t less, begin, end;
};
std::optional<Bound> bound_of(const Body& body, const Loop& loop) {
  for (std::size_t i = loop.condition_begin; i < loop.condition_end; ++i)
    if (body.is(i, "<")) {
      const std::size_t begin = body.is(i + 1, "=") ? i + 2 : i + 1;
      if (begin >= loop.condition_end) return std::nullopt;
      for (std::size_t k = begin; k < loop.condition_end; ++k)
        if (body.is(k, "&")) return std::nullopt;
      return Bound{i, begin, loop.condition_end};
    }
  return std::nullopt;
}

Edit replace(const Body& body, std::size_t first, std::size_t last, std::string text, std::string what) {
  return {body.tokens[first].offset, body.end_of(last - 1), std::move(text), body.tokens[first].line, std::move(what)};
}

using Edits = std::vector<Edit>;

void off_by_one(const Body& body, Edits* out) {
  for (const Loop& loop : loops_of(body)) {
    if (const auto bound = bound_of(body, loop)) {
      const std::string text = body.text(bound->begin, bound->end);
      out->push_back(replace(body, bound->begin, bound->end, fmt::format("({}) - 1", text),
                             fmt::format("the bound '{}' became one less", text)));
    }
    for (std::size_t i = loop.init_begin; i + 1 < loop.init_end; ++i)
      if (body.is(i, "=") && i + 2 == loop.init_end) {
        const std::string text = body.text(i + 1, loop.init_end);
        out->push_back(replace(body, i + 1, loop.init_end, fmt::format("{} + 1", text),
                               fmt::format("the loop starts one later than '{}'", text)));
      }
  }
}

void less_equal(const Body& body, Edits* out) {
  for (const Loop& loop : loops_of(body))
    if (const auto bound = bound_of(body, loop); bound && !body.is(bound->less + 1, "="))
      out->push_back(replace(body, bound->less, bound->less + 1, "<=", "'<' became '<=' in a loop"));
}

void missing_tail(const Body& body, Edits* out) {
  for (const Loop& loop : loops_of(body))
    if (const auto bound = bound_of(body, loop)) {
      const std::string text = body.text(bound->begin, bound->end);
      out->push_back(replace(body, bound->begin, bound->end, fmt::format("(({}) / 8 * 8)", text),
                             fmt::format("the bound '{}' was rounded down to a multiple of 8", text)));
    }
}

void swapped_operator(const Body& body, Edits* out) {
  const std::vector<int> depth = subscript_depth(body);
  const std::map<std::string_view, std::string> other = {{"+", "-"}, {"-", "+"}, {"*", "+"}, {"/", "*"}};
  for (std::size_t i = 0; i < body.tokens.size(); ++i) {
    const std::string_view t = body.tokens[i].text;
    const bool compound = (t == "+" || t == "-" || t == "*" || t == "/") && body.touches(i) && body.is(i + 1, "=");
    if (depth[i] > 0 || (!compound && !is_binary(body, i))) continue;
    out->push_back(replace(body, i, i + 1, other.at(t),
                           fmt::format("'{}{}' became '{}{}'", t, compound ? "=" : "", other.at(t), compound ? "=" : "")));
  }
}

// A statement `name… = …;` or `name… += …;`, not a declaration.
void dropped_statement(const Body& body, Edits* out) {
  for (std::size_t i = 0; i < body.tokens.size(); ++i) {
    const bool starts = i == 0 || body.is(i - 1, ";") || body.is(i - 1, "{") || body.is(i - 1, "}") || body.is(i - 1, ")");
    if (!starts || !body.is_identifier(i) || kTypeWords.contains(body.tokens[i].text)) continue;
    const std::size_t target = primary_end(body, i);
    const bool assigns = body.is(target, "=") || (body.touches(target) && body.is(target + 1, "="));
    if (!assigns || body.is(target + (body.is(target, "=") ? 1 : 2), "=")) continue;
    std::size_t end = target;
    while (end < body.tokens.size() && !body.is(end, ";")) end = opens(body.tokens[end].text) ? closing(body, end) + 1 : end + 1;
    if (end >= body.tokens.size()) continue;
    out->push_back(replace(body, i, end, "", fmt::format("dropped '{}'", body.text(i, end))));
  }
}

void dropped_term(const Body& body, Edits* out) {
  const std::vector<int> depth = subscript_depth(body);
  for (std::size_t i = 0; i < body.tokens.size(); ++i) {
    if (depth[i] > 0 || !is_binary(body, i)) continue;
    const bool sum = body.is(i, "+") || body.is(i, "-");
    const std::size_t end = sum ? term_end(body, i + 1) : primary_end(body, i + 1);
    if (end == i + 1) continue;
    out->push_back(replace(body, i, end, "", fmt::format("dropped '{}'", body.text(i, end))));
  }
}

void wrong_index(const Body& body, Edits* out) {
  const std::vector<int> depth = subscript_depth(body);
  for (std::size_t i = 0; i < body.tokens.size(); ++i) {
    if (depth[i] == 0 || !body.is_identifier(i)) continue;
    const std::string name(body.tokens[i].text);
    const auto at = std::find(body.loop_variables.begin(), body.loop_variables.end(), name);
    if (at == body.loop_variables.end()) continue;
    // A loop variable declared earlier is surely in scope.
    if (at == body.loop_variables.begin()) continue;
    const std::string& other = *(at - 1);
    out->push_back(replace(body, i, i + 1, other, fmt::format("index '{}' became '{}'", name, other)));
  }
}

void constant_changed(const Body& body, Edits* out) {
  const std::vector<int> depth = subscript_depth(body);
  std::set<std::size_t> in_loop_heads;
  for (const Loop& loop : loops_of(body))
    for (std::size_t i = loop.init_begin; i < loop.condition_end; ++i) in_loop_heads.insert(i);
  for (std::size_t i = 0; i < body.tokens.size(); ++i) {
    if (!body.is_number(i) || in_loop_heads.contains(i) || depth[i] > 0) continue;
    const std::string text(body.tokens[i].text);
    const bool real = text.find('.') != std::string::npos ||
                      (!text.starts_with("0x") && text.find_first_of("eE") != std::string::npos);
    const std::string changed = real && text.find_first_of("123456789") != std::string::npos
                                    ? fmt::format("({} * 1.01f)", text)
                                    : fmt::format("({} + 1)", text);
    out->push_back(replace(body, i, i + 1, changed, fmt::format("'{}' became '{}'", text, changed)));
  }
}

void lower_precision(const Body& body, Edits* out) {
  const std::vector<int> depth = subscript_depth(body);
  for (std::size_t i = 0; i < body.tokens.size(); ++i) {
    std::size_t begin = 0;
    if (body.is(i, "HONE_MUL") && body.is(i + 1, "(")) begin = i + 2;
    else if (body.is(i, "*") && depth[i] == 0 && is_binary(body, i)) begin = i + 1;
    else continue;
    const std::size_t end = primary_end(body, begin);
    if (end == begin || body.is_number(begin)) continue;
    const std::string text = body.text(begin, end);
    if (body.integers.contains(text)) continue;
    out->push_back(replace(body, begin, end, fmt::format("hone_mutant_bf16({})", text),
                           fmt::format("'{}' was rounded to bf16", text)));
  }
}

// exp(a - b) as exp(a) / exp(b), log1p(x) as log(1 + x), expm1(x) as exp(x) - 1: the same on paper.
void unstable_formula(const Body& body, Edits* out) {
  for (std::size_t i = 0; i + 2 < body.tokens.size(); ++i) {
    if (!body.is_identifier(i) || !body.is(i + 1, "(")) continue;
    const std::string name(body.tokens[i].text);
    const std::size_t close = closing(body, i + 1);
    if (close >= body.tokens.size()) continue;
    const std::string argument = body.text(i + 2, close);
    std::string becomes;
    if (name == "exp" || name == "expf") {
      int depth = 0;
      for (std::size_t k = i + 2; k < close; ++k) {
        if (opens(body.tokens[k].text)) ++depth;
        if (closes(body.tokens[k].text)) --depth;
        if (depth == 0 && body.is(k, "-") && is_binary(body, k)) {
          becomes = fmt::format("({0}({1}) / std::{0}({2}))", name, body.text(i + 2, k), body.text(k + 1, close));
          break;
        }
      }
      // `std::exp(…)` keeps its qualifier in front of the brackets: only a plain call can be wrapped.
      if (!becomes.empty() && i >= 1 && body.is(i - 1, "::"))
        becomes = becomes.substr(1, becomes.size() - 2);
    } else if (name == "log1p") {
      becomes = fmt::format("log(1 + {})", argument);
    } else if (name == "expm1") {
      becomes = fmt::format("exp({}) - 1", argument);
    }
    if (!becomes.empty())
      out->push_back(replace(body, i, close + 1, becomes, fmt::format("'{}' became '{}'", body.text(i, close + 1), becomes)));
  }
}

// Comparisons outside loop heads: choices turned round or moved by the case of equality.
void comparison(const Body& body, Edits* out) {
  std::set<std::size_t> in_loop_heads;
  for (const Loop& loop : loops_of(body))
    for (std::size_t i = loop.init_begin; i < loop.condition_end; ++i) in_loop_heads.insert(i);
  for (std::size_t i = 1; i + 1 < body.tokens.size(); ++i) {
    const std::string_view t = body.tokens[i].text;
    if ((t != "<" && t != ">") || in_loop_heads.contains(i) || !is_operand_end(body, i - 1)) continue;
    if (body.touches(i) && (body.is(i + 1, "<") || body.is(i + 1, ">"))) continue;
    if (body.touches(i - 1) && (body.is(i - 1, "<") || body.is(i - 1, ">"))) continue;
    if (body.is(i - 1, "static_cast") || body.is(i - 1, "vector")) continue;
    const bool with_equal = body.is(i + 1, "=") && body.touches(i);
    const std::string turned = t == "<" ? ">" : "<";
    out->push_back(replace(body, i, i + 1, turned, fmt::format("'{}' became '{}'", t, turned)));
    const std::string nudged = with_equal ? std::string(t) : std::string(t) + "=";
    out->push_back(replace(body, i, with_equal ? i + 2 : i + 1, nudged,
                           fmt::format("'{}{}' became '{}'", t, with_equal ? "=" : "", nudged)));
  }
}

// Without its reduction clause a parallel sum is a race.
void dropped_reduction(const Body& body, Edits* out) {
  for (const Token& d : body.directives) {
    const std::size_t at = d.text.find("reduction(");
    if (d.text.find("omp") == std::string_view::npos || at == std::string_view::npos) continue;
    const std::size_t close = d.text.find(')', at);
    if (close == std::string_view::npos) continue;
    out->push_back({d.offset + at, d.offset + close + 1, "", d.line,
                    fmt::format("dropped '{}'", d.text.substr(at, close + 1 - at))});
  }
}

struct Entry {
  MutationOperator about;
  void (*find)(const Body&, Edits*);
};
const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
      {{"off_by_one", "a loop that ends one earlier or starts one later",
        "a case small enough that one element or one term counts, or a distribution without zeros"}, off_by_one},
      {{"less_equal", "'<' became '<=' in a loop",
        "a case whose tensors end where the loop ends, so that the guard page is touched (any edge case)"}, less_equal},
      {{"missing_tail", "a bound rounded down to a multiple of 8", "a case with an extent that 8 does not divide"},
       missing_tail},
      {{"swapped_operator", "+, -, * or / exchanged", "a distribution shifted away from zero"}, swapped_operator},
      {{"dropped_statement", "an assignment left out", "an input that makes the statement count"}, dropped_statement},
      {{"dropped_term", "a term or factor left out",
        "a distribution in which the term is large enough to be seen; a scalar redrawn from a range"}, dropped_term},
      {{"wrong_index", "another loop's variable in an index", "a case whose extents all differ"}, wrong_index},
      {{"constant_changed", "a number changed a little",
        "an input for which the number matters more than rounding does"}, constant_changed},
      {{"lower_precision", "a factor rounded to bf16", "a class of precision that forbids it, and non-integer inputs"},
       lower_precision},
      {{"unstable_formula", "a formula that loses digits or overflows", "the shifted and scaled distributions"},
       unstable_formula},
      {{"comparison", "a comparison turned round or moved by one case", "inputs with ties, and with both signs"},
       comparison},
      {{"dropped_reduction", "a parallel sum without its reduction", "limits.threads of 2 or more"},
       dropped_reduction},
  };
  return entries;
}

constexpr const char* kHelper =
    "template <typename T> static inline T hone_mutant_bf16(T value) {\n"
    "  float x = static_cast<float>(value);\n"
    "  unsigned bits;\n"
    "  __builtin_memcpy(&bits, &x, 4);\n"
    "  bits = (bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u;\n"
    "  __builtin_memcpy(&x, &bits, 4);\n"
    "  return static_cast<T>(x);\n"
    "}\n";


Mutant apply(std::string_view source, const Edit& edit, const char* op, std::size_t first_function) {
  Mutant out;
  out.op = op;
  out.what = edit.what;
  out.line = edit.line;
  out.source = std::string(source.substr(0, edit.begin)) + edit.text + std::string(source.substr(edit.end));
  std::string before, after;
  // All lines the edit touches, whole.
  const std::size_t from = source.substr(0, edit.begin).rfind('\n') + 1;  // npos + 1 is 0
  std::size_t to = source.find('\n', edit.end);
  if (to == std::string_view::npos) to = source.size();
  for (const auto line : split(source.substr(from, to - from), '\n')) before += fmt::format("-{}\n", line);
  const std::string changed = std::string(source.substr(from, edit.begin - from)) + edit.text +
                              std::string(source.substr(edit.end, to - edit.end));
  for (const auto line : split(changed, '\n')) after += fmt::format("+{}\n", line);
  out.diff = before + after;
  if (edit.text.find("hone_mutant_bf16") != std::string::npos) out.source.insert(first_function, kHelper);
  return out;
}

/// Where a helper may be put: the line of the first function, before its extern "C" or attributes.
std::size_t line_start(std::string_view source, std::size_t offset) {
  const std::size_t at = source.substr(0, offset).rfind('\n');
  return at == std::string_view::npos ? 0 : at + 1;
}

}  // namespace

const std::vector<MutationOperator>& mutation_operators() {
  static const std::vector<MutationOperator> out = [] {
    std::vector<MutationOperator> all;
    for (const Entry& e : table()) all.push_back(e.about);
    return all;
  }();
  return out;
}

Result<std::vector<Mutant>> mutants_of(std::string_view source, std::string_view path, std::size_t limit) {
  HONE_TRY(const std::vector<Token> tokens, code::tokenize(source, path));
  HONE_TRY(const std::vector<code::Signature> functions, code::read_signatures(source, path));
  if (functions.empty())
    return usage_error(fmt::format("{} defines no function", path), "Mutants are made of function bodies");
  std::size_t first = source.size();
  for (const code::Signature& f : functions) first = std::min(first, line_start(source, f.begin));

  // By operator, in the order of the source; the same edit may not appear twice.
  std::vector<std::vector<Mutant>> found(table().size());
  std::set<std::string> seen;
  for (const code::Signature& f : functions) {
    Body body;
    body.source = source;
    for (const Token& t : tokens) {
      if (t.offset < f.body_begin || t.offset >= f.end) continue;
      if (t.kind == Token::Kind::directive) body.directives.push_back(t);
      else if (t.kind != Token::Kind::line_comment && t.kind != Token::Kind::block_comment) body.tokens.push_back(t);
    }
    for (const Loop& loop : loops_of(body))
      for (std::size_t i = loop.init_begin; i + 1 < loop.init_end; ++i)
        if (body.is_identifier(i) && body.is(i + 1, "=")) body.loop_variables.emplace_back(body.tokens[i].text);
    body.integers.insert(body.loop_variables.begin(), body.loop_variables.end());
    for (const code::SignatureParameter& p : f.parameters)
      if (!p.pointer && p.type != "float" && p.type != "double") body.integers.insert(p.name);
    for (std::size_t o = 0; o < table().size(); ++o) {
      Edits edits;
      table()[o].find(body, &edits);
      for (const Edit& edit : edits) {
        Mutant mutant = apply(source, edit, table()[o].about.name, first);
        if (mutant.source != source && seen.insert(mutant.source).second) found[o].push_back(std::move(mutant));
      }
    }
  }
  // Round robin over the operators; within one, spread over the source rather than its first lines.
  std::vector<Mutant> out;
  std::size_t total = 0;
  for (const auto& of : found) total += of.size();
  std::vector<std::size_t> share(found.size(), 0);
  for (std::size_t left = std::min(limit, total), round = 0; left > 0; ++round)
    for (std::size_t o = 0; o < found.size() && left > 0; ++o)
      if (share[o] < found[o].size() && share[o] == round) {
        ++share[o];
        --left;
      }
  for (std::size_t o = 0; o < found.size(); ++o)
    for (std::size_t k = 0; k < share[o]; ++k) out.push_back(std::move(found[o][k * found[o].size() / share[o]]));
  return out;
}

}  // namespace hone::audit
