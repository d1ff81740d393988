#include "code/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "code/tokens.h"

namespace hone::code {
namespace {

using Kind = Token::Kind;
using Tokens = std::vector<Token>;

bool is(const Token& token, std::string_view text) {
  return token.text == text && (token.kind == Kind::identifier || token.kind == Kind::punctuation);
}

/// Object-like macros and typedefs that mean one thing in the whole text: name → tokens.
class Aliases {
 public:
  void add(const std::string& name, std::vector<std::string> meaning) {
    auto [at, is_new] = meanings_.emplace(name, meaning);
    if (!is_new && at->second != meaning) ambiguous_.insert(name);
  }
  const std::vector<std::string>* find(std::string_view name) const {
    const auto at = meanings_.find(name);
    if (at == meanings_.end() || ambiguous_.contains(name)) return nullptr;
    return &at->second;
  }
  bool is_ambiguous(std::string_view name) const { return ambiguous_.contains(name); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> meanings_;
  std::set<std::string, std::less<>> ambiguous_;
};

/// `#define NAME tokens`; HONE_ macros stay names, because each build gives them its own meaning.
void read_define(std::string_view directive, Aliases& aliases) {
  const std::string line = spliced(directive.substr(1));
  std::string_view rest = trim(line);
  if (!rest.starts_with("define") || rest.size() < 8) return;
  rest = trim(rest.substr(6));
  std::size_t length = 0;
  while (length < rest.size() && is_identifier(rest.substr(0, length + 1))) ++length;
  const std::string name(rest.substr(0, length));
  if (name.empty() || name.starts_with("HONE_")) return;
  const std::string_view value = rest.substr(length);
  if (value.starts_with('(')) return;  // function-like: where it is used, it is refused by its name
  auto tokens = tokenize(value, "macro");
  std::vector<std::string> meaning;
  if (tokens) {
    for (const Token& token : *tokens) {
      if (token.kind != Kind::line_comment && token.kind != Kind::block_comment)
        meaning.emplace_back(token.text);
    }
  }
  if (meaning.size() <= 8) aliases.add(name, std::move(meaning));
}

/// Words of a declaration after macros and typedefs are followed.
struct Word {
  std::string text;
  bool identifier = false;
  int line = 0;
};

void expand(const Word& word, const Aliases& aliases, int depth, std::vector<Word>& out) {
  const std::vector<std::string>* meaning = word.identifier ? aliases.find(word.text) : nullptr;
  if (meaning == nullptr || depth > 8 || out.size() > 256) {
    out.push_back(word);
    return;
  }
  for (const std::string& part : *meaning) {
    if (part == word.text) {
      out.push_back({part, true, word.line});  // `typedef struct X X;` and the like
    } else {
      expand({part, is_identifier(part), word.line}, aliases, depth + 1, out);
    }
  }
}

const std::set<std::string, std::less<>> kBuiltinWords = {
    "unsigned", "signed", "char", "short", "int", "long", "float", "double", "bool", "_Bool"};

/// "unsigned long int" → "unsigned long". Nothing when the words do not make a type.
std::optional<std::string> builtin_type(std::vector<std::string> words) {
  std::map<std::string, int> count;
  for (const auto& word : words) ++count[word];
  for (const auto& [word, n] : count) {
    if (n > (word == "long" ? 2 : 1)) return std::nullopt;
  }
  const bool is_unsigned = count["unsigned"] > 0, is_signed = count["signed"] > 0;
  if (is_unsigned && is_signed) return std::nullopt;
  const int longs = count["long"];
  const bool has_int = count["int"] > 0;
  const std::size_t size = words.size() - (is_unsigned || is_signed ? 1 : 0);
  const auto rest = [&](std::size_t expected) { return size == expected; };
  if (count["char"] > 0) {
    if (!rest(1)) return std::nullopt;
    return is_unsigned ? "unsigned char" : is_signed ? "signed char" : "char";
  }
  if (count["float"] > 0 || count["bool"] > 0 || count["_Bool"] > 0) {
    if (words.size() != 1) return std::nullopt;
    return count["float"] > 0 ? "float" : "bool";
  }
  if (count["double"] > 0) {
    if (is_unsigned || is_signed || !rest(1 + static_cast<std::size_t>(longs)) || longs > 1)
      return std::nullopt;
    return longs == 1 ? "long double" : "double";
  }
  const std::string sign = is_unsigned ? "unsigned " : "";
  if (count["short"] > 0) {
    if (longs > 0 || !rest(has_int ? 2 : 1)) return std::nullopt;
    return sign + "short";
  }
  if (longs > 0) {
    if (!rest(static_cast<std::size_t>(longs) + (has_int ? 1 : 0))) return std::nullopt;
    return sign + (longs == 2 ? "long long" : "long");
  }
  if (!rest(has_int ? 1 : 0)) return std::nullopt;
  return is_unsigned ? "unsigned" : "int";
}

bool is_restrict(std::string_view text) {
  return text == "restrict" || text == "__restrict" || text == "__restrict__";
}

/// Drops `[[…]]`, `__attribute__((…))` and `alignas(…)`.
std::vector<Word> without_attributes(const std::vector<Word>& words) {
  std::vector<Word> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == "[[") {
      while (i < words.size() && words[i].text != "]]") ++i;
    } else if ((text == "__attribute__" || text == "__attribute" || text == "alignas" ||
                text == "__declspec") &&
               i + 1 < words.size() && words[i + 1].text == "(") {
      int depth = 0;
      for (++i; i < words.size(); ++i) {
        if (words[i].text == "(") ++depth;
        if (words[i].text == ")" && --depth == 0) break;
      }
    } else {
      out.push_back(words[i]);
    }
  }
  return out;
}

std::string joined(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    const bool tight = text.empty() || word.text == "::" || text.ends_with("::") ||
                       word.text == "<" || word.text == ">" || text.ends_with("<") ||
                       word.text == "*" || word.text == "&" || word.text == ",";
    text += (tight ? "" : " ") + word.text;
  }
  return text;
}

/// A parameter, or why it is not one that can be bound.
struct ParameterReader {
  std::vector<Word> words;        // attributes dropped, macros followed
  std::vector<std::string> base;  // type words
  SignatureParameter out;
  int stars = 0, extents = 0;
  bool base_const = false, value_const = false;

  /// Empty on success.
  std::string read(const std::vector<Word>& written, const Aliases& aliases) {
    out.line = written.empty() ? 0 : written.front().line;
    for (std::size_t i = 0; i < written.size(); ++i) {
      // The last identifier before `[` or the end is the name: a macro of the same spelling is
      // refused there.
      const bool last = i + 1 == written.size() || written[i + 1].text == "[";
      if (last && i > 0 && written[i].identifier && !is_restrict(written[i].text))
        words.push_back(written[i]);
      else
        expand(written[i], aliases, 0, words);
    }
    words = without_attributes(words);
    const std::string shown = joined(written);
    if (std::string why = unreadable(shown); !why.empty()) return why;
    if (std::string why = take_words(shown); !why.empty()) return why;
    if (std::string why = take_type(shown); !why.empty()) return why;
    out.pointer = stars + extents > 0;
    out.is_const = out.pointer ? base_const : base_const || value_const;
    if (stars + extents > 1)
      return fmt::format("'{}' is a pointer to a pointer or an array of arrays", shown);
    if (out.type == "void") return fmt::format("'{}' points to void", shown);
    if (aliases.is_ambiguous(out.type)) {
      return fmt::format("'{}': '{}' is defined more than once with different meanings", shown,
                         out.type);
    }
    return "";
  }

 private:
  std::string unreadable(const std::string& shown) const {
    for (const Word& word : words) {
      const std::string& t = word.text;
      if (t == "&") return fmt::format("'{}' is a reference", shown);
      if (t == "<" || t == ">") return fmt::format("'{}' is a template class", shown);
      if (t == "(" || t == ")")
        return fmt::format("'{}' is a function or a macro with arguments", shown);
      if (t == "...") return "'...' is a variable argument list";
      if (t == "=") return fmt::format("'{}' has a default value", shown);
      if (t == "auto" || t == "decltype") return fmt::format("'{}' has a deduced type", shown);
      if (t == "volatile" || t == "_Atomic") return fmt::format("'{}' is {}", shown, t);
      if (t == "struct" || t == "class" || t == "union" || t == "enum")
        return fmt::format("'{}' is a {}", shown, t);
    }
    return "";
  }

  std::string take_words(const std::string& shown) {
    bool after_star = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& t = words[i].text;
      if (t == "*") {
        if (!out.name.empty()) return fmt::format("'{}' has a form that is not read", shown);
        ++stars;
        after_star = true;
      } else if (t == "const") {
        (after_star ? value_const : base_const) = true;
      } else if (is_restrict(t) || t == "register" || t == "typename") {
        continue;
      } else if (t == "[") {
        ++extents;
        while (i < words.size() && words[i].text != "]") ++i;
      } else if (t == "]]") {
        return fmt::format("'{}' has a form that is not read", shown);
      } else if (words[i].identifier) {
        // The name follows the type: an identifier when a type is complete already.
        const bool last = i + 1 == words.size() || words[i + 1].text == "[";
        const bool qualified = i > 0 && words[i - 1].text == "::";
        if (last && !base.empty() && !qualified && !kBuiltinWords.contains(t) && out.name.empty())
          out.name = t;
        else if (after_star || extents > 0 || !out.name.empty())
          return fmt::format("'{}' has a form that is not read", shown);
        else
          base.push_back(t);
      } else if (t == "::") {
        if (after_star) return fmt::format("'{}' has a form that is not read", shown);
        base.push_back(t);
      } else {
        return fmt::format("'{}': found '{}' where a type or name was expected", shown, t);
      }
    }
    return "";
  }

  std::string take_type(const std::string& shown) {
    if (base.empty()) return fmt::format("'{}' has no type", shown);
    if (kBuiltinWords.contains(base[0])) {
      if (const auto type = builtin_type(base))
        out.type = *type;
      else
        return fmt::format("'{}': '{}' is no type that is known here", shown, fmt::join(base, " "));
    } else {
      bool wants_name = true;
      for (const std::string& part : base) {
        if (part == "::") {
          wants_name = true;
        } else if (!wants_name) {
          return fmt::format("'{}': found '{}' after the type '{}'", shown, part, out.type);
        } else {
          wants_name = false;
        }
        out.type += part;
      }
      if (out.type.starts_with("::")) out.type.erase(0, 2);
      if (out.type.starts_with("std::")) out.type.erase(0, 5);
    }
    if (out.name.empty())
      return fmt::format("'{}' has no name, and arguments are bound by name", shown);
    return "";
  }
};

/// Walks namespaces and extern "C" blocks; everything else in braces is skipped as a whole.
class Reader {
 public:
  Reader(std::string_view source, std::string_view path) : source_(source), path_(path) {}

  Result<std::vector<Signature>> run() {
    HONE_TRY(auto all, tokenize(source_, path_));
    for (const Token& token : all) {
      if (token.kind == Kind::directive)
        read_define(token.text, aliases_);
      else if (token.kind != Kind::line_comment && token.kind != Kind::block_comment)
        tokens_.push_back(token);
    }
    HONE_CHECK(match_brackets());
    HONE_CHECK(block(0, tokens_.size(), "", false, 0));
    return std::move(found_);
  }

 private:
  Status match_brackets() {
    partner_.assign(tokens_.size(), 0);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != Kind::punctuation) continue;
      const char c = tokens_[i].text[0];
      // `[[` may also be two subscripts that begin together, `]]` two that end together: only (),
      // {} are matched.
      if (c == '(' || c == '{') open.push_back(i);
      if (c != ')' && c != '}') continue;
      const char expected = c == ')' ? '(' : '{';
      if (open.empty() || tokens_[open.back()].text[0] != expected) {
        return usage_error(fmt::format("{}:{}: found '{}' without the '{}' that opens it", path_,
                                       tokens_[i].line, c, expected),
                           "balance the brackets; both branches of an #if count");
      }
      partner_[open.back()] = i;
      partner_[i] = open.back();
      open.pop_back();
    }
    if (!open.empty()) {
      return usage_error(fmt::format("{}:{}: found '{}' without its end", path_,
                                     tokens_[open.back()].line, tokens_[open.back()].text),
                         "balance the brackets; both branches of an #if count");
    }
    return {};
  }

  /// Declarations in [begin, end).
  Status block(std::size_t begin, std::size_t end, const std::string& scope, bool extern_c,
               int depth) {
    if (depth > 64) return usage_error(fmt::format("{}: namespaces nest deeper than 64", path_));
    std::size_t start = begin;
    for (std::size_t i = begin; i < end; ++i) {
      const Token& token = tokens_[i];
      if (is(token, ";")) {
        declaration(start, i);
        start = i + 1;
      } else if (is(token, "(")) {
        i = partner_[i];
      } else if (is(token, "{")) {
        const std::size_t close = partner_[i];
        std::string inner = scope;
        if (i - start == 2 && is(tokens_[start], "extern") && tokens_[start + 1].text == "\"C\"") {
          HONE_CHECK(block(i + 1, close, scope, true, depth + 1));
        } else if (is_namespace(start, i, inner)) {
          HONE_CHECK(block(i + 1, close, inner, extern_c, depth + 1));
        } else if (!function(start, i, scope, extern_c)) {
          // A class, an initialiser and the like; what follows up to `;` belongs to it. After `)`
          // it was a body.
          if (i > start && is(tokens_[i - 1], ")")) start = close + 1;
          i = close;
          continue;
        }
        i = close;
        start = close + 1;
      }
    }
    return {};
  }

  bool is_namespace(std::size_t start, std::size_t brace, std::string& scope) const {
    std::size_t i = start;
    if (i < brace && is(tokens_[i], "inline")) ++i;
    if (i >= brace || !is(tokens_[i], "namespace")) return false;
    for (++i; i < brace; ++i) {
      if (tokens_[i].kind != Kind::identifier || is(tokens_[i], "inline")) continue;
      scope += (scope.empty() ? "" : "::") + std::string(tokens_[i].text);
    }
    return true;
  }

  /// `typedef TYPE NAME;` and `using NAME = TYPE;`. Pointers (whose const binds otherwise), arrays,
  /// vectors and template classes stay names that nothing binds to.
  void declaration(std::size_t start, std::size_t end) {
    std::vector<std::string> words;
    for (std::size_t i = start; i < end && words.size() < 16; ++i) {
      const std::string_view text = tokens_[i].text;
      if (text == "*" || text == "(" || text == "[" || text == "<" || text == "[[") return;
      words.emplace_back(text);
    }
    if (words.size() >= 3 && words[0] == "typedef" && is_identifier(words.back()) &&
        words.size() < 16) {
      const std::string name = words.back();
      aliases_.add(name, {words.begin() + 1, words.end() - 1});
    } else if (words.size() >= 4 && words[0] == "using" && words[2] == "=" && words.size() < 16) {
      aliases_.add(words[1], {words.begin() + 3, words.end()});
    }
  }

  /// Tokens [start, brace) as a function's head; records it and answers whether it is one.
  bool function(std::size_t start, std::size_t brace, const std::string& scope, bool extern_c) {
    std::size_t open = start;
    Signature signature;
    if (!find_parameters(start, brace, open, signature)) return false;
    const Token& name = tokens_[open - 1];
    signature.name = std::string(name.text);
    signature.scope = scope;
    signature.line = name.line;
    signature.begin = tokens_[start].offset;
    signature.body_begin = tokens_[brace].offset;
    signature.end = tokens_[partner_[brace]].offset + 1;
    signature.extern_c = signature.extern_c || extern_c;
    parameters(open + 1, partner_[open], signature);
    found_.push_back(std::move(signature));
    return true;
  }

  /// `open` becomes the index of the parameter list's bracket; return type and specifiers are read.
  bool find_parameters(std::size_t start, std::size_t brace, std::size_t& open,
                       Signature& signature) {
    std::vector<Word> head;
    std::size_t i = start;
    for (; i < brace; ++i) {
      const Token& token = tokens_[i];
      if (is(token, "class") || is(token, "struct") || is(token, "union") || is(token, "enum") ||
          is(token, "operator") || is(token, "=") || is(token, "concept")) {
        return false;
      }
      if (is(token, "template")) {
        signature.is_template = true;
        i = skip_angles(i + 1, brace);
        continue;
      }
      if (is(token, "[[")) {
        while (i < brace && !is(tokens_[i], "]]")) ++i;
        continue;
      }
      if (is(token, "(")) {
        const bool attribute =
            i > start &&
            (is(tokens_[i - 1], "__attribute__") || is(tokens_[i - 1], "__attribute") ||
             is(tokens_[i - 1], "alignas") || is(tokens_[i - 1], "__launch_bounds__") ||
             is(tokens_[i - 1], "__declspec") || is(tokens_[i - 1], "requires"));
        if (attribute) {
          if (!head.empty()) head.pop_back();
          i = partner_[i];
          continue;
        }
        break;
      }
      if (token.kind == Kind::string && i > start && is(tokens_[i - 1], "extern")) {
        signature.extern_c = token.text == "\"C\"";
        continue;
      }
      head.push_back({std::string(token.text), token.kind == Kind::identifier, token.line});
    }
    if (i >= brace || head.size() < 2 || !head.back().identifier) return false;
    if (head[head.size() - 2].text == "::") return false;  // a member defined outside its class
    open = i;
    head.pop_back();
    std::vector<Word> type;
    for (const Word& word : head) {
      if (word.text == "static")
        signature.is_static = true;
      else if (word.text != "extern" && word.text != "inline" && word.text != "constexpr" &&
               word.text != "__global__" && word.text != "__host__" && word.text != "__device__")
        expand(word, aliases_, 0, type);
    }
    signature.return_type = return_type(type, partner_[open] + 1, brace);
    return true;
  }

  std::string return_type(std::vector<Word> type, std::size_t after, std::size_t brace) const {
    for (std::size_t i = after; i < brace; ++i) {
      if (!is(tokens_[i], "->")) continue;
      type.clear();
      for (++i; i < brace; ++i)
        expand({std::string(tokens_[i].text), tokens_[i].kind == Kind::identifier, 0}, aliases_, 0,
               type);
    }
    std::erase_if(type, [](const Word& word) { return word.text == "const"; });
    std::vector<std::string> words;
    for (const Word& word : type) words.push_back(word.text);
    if (!words.empty() && std::all_of(words.begin(), words.end(),
                                      [](const auto& w) { return kBuiltinWords.contains(w); })) {
      if (const auto builtin = builtin_type(words)) return *builtin;
    }
    return joined(type);
  }

  std::size_t skip_angles(std::size_t i, std::size_t end) const {
    int depth = 0;
    for (; i < end; ++i) {
      if (is(tokens_[i], "<")) ++depth;
      if (is(tokens_[i], ">") && --depth == 0) return i;
      if (is(tokens_[i], "(")) i = partner_[i];
    }
    return end;
  }

  void parameters(std::size_t begin, std::size_t end, Signature& signature) const {
    std::vector<std::vector<Word>> written(1);
    int angles = 0;
    int round = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Token& token = tokens_[i];
      if (is(token, "<")) ++angles;
      if (is(token, ">")) --angles;
      if (is(token, "(")) ++round;
      if (is(token, ")")) --round;
      if (is(token, ",") && angles <= 0 && round == 0)
        written.emplace_back();
      else
        written.back().push_back(
            {std::string(token.text), token.kind == Kind::identifier, token.line});
    }
    if (written.size() == 1 &&
        (written[0].empty() || (written[0].size() == 1 && written[0][0].text == "void")))
      return;
    std::set<std::string> names;
    for (const auto& words : written) {
      ParameterReader reader;
      const std::string why = reader.read(words, aliases_);
      if (!why.empty()) {
        signature.refusal = "parameter " + why;
        return;
      }
      if (!names.insert(reader.out.name).second) {
        signature.refusal = fmt::format("two parameters are named '{}'", reader.out.name);
        return;
      }
      signature.parameters.push_back(std::move(reader.out));
    }
  }

  std::string_view source_, path_;
  Tokens tokens_;
  std::vector<std::size_t> partner_;
  Aliases aliases_;
  std::vector<Signature> found_;
};

}  // namespace

Result<std::vector<Signature>> read_signatures(std::string_view source, std::string_view path) {
  return Reader(source, path).run();
}

Result<Signature> find_function(std::string_view source, std::string_view path,
                                std::string_view name) {
  HONE_TRY(auto all, read_signatures(source, path));
  std::vector<const Signature*> same;
  std::vector<std::string> names;
  for (const Signature& signature : all) {
    names.push_back(signature.name);
    if (signature.name == name) same.push_back(&signature);
  }
  if (same.empty()) {
    return usage_error(fmt::format("{}: found no definition of a function '{}'{}", path, name,
                                   did_you_mean(name, names)),
                       "define it at namespace level, for example extern \"C\" void " +
                           std::string(name) + "(…) { … }");
  }
  if (std::any_of(same.begin(), same.end(), [](const auto* s) { return s->extern_c; })) {
    std::erase_if(same, [](const auto* s) { return !s->extern_c; });
  }
  const Signature& first = *same[0];
  if (same.size() > 1) {
    return usage_error(fmt::format("{}:{}: found a second definition of '{}' (first on line {})",
                                   path, same[1]->line, name, first.line),
                       "keep one; both branches of an #if count: put the #if inside the body");
  }
  if (first.is_template) {
    return usage_error(fmt::format("{}:{}: '{}' is a template", path, first.line, name),
                       "add an extern \"C\" function that calls the instance you mean");
  }
  if (!first.refusal.empty()) {
    return usage_error(fmt::format("{}:{}: '{}': {}", path, first.line, name, first.refusal),
                       "parameters are plain values or pointers: const float* x, float* y, int n");
  }
  return first;
}

}  // namespace hone::code
