#include "engine/init_reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "code/tokens.h"

namespace hone::engine {
namespace {

using code::Token;
using Tokens = std::vector<Token>;

bool is_code(const Token& token) {
  return token.kind != Token::Kind::line_comment && token.kind != Token::Kind::block_comment;
}

/// Index of the bracket that closes the one at `open`, or the last token.
std::size_t close_of(const Tokens& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    for (const char c :
         tokens[i].kind == Token::Kind::punctuation ? tokens[i].text : std::string_view()) {
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
    }
    if (depth <= 0) return i;
  }
  return tokens.size() - 1;
}

class BodyReader {
 public:
  BodyReader(const Tokens& tokens, const code::Signature& signature, BodyFacts& facts)
      : tokens_(tokens), signature_(signature), facts_(facts) {
    for (const auto& p : signature.parameters) (p.pointer ? pointers_ : values_).insert(p.name);
  }

  void run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].offset < signature_.body_begin || tokens_[i].offset >= signature_.end)
        continue;
      bound(i);
    }
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.offset < signature_.body_begin || token.offset >= signature_.end) continue;
      const bool member =
          i > 0 && (text(i - 1) == "." || text(i - 1) == "->" || text(i - 1) == "::");
      if (token.kind == Token::Kind::identifier && !member &&
          pointers_.contains(std::string(token.text)))
        use(i);
    }
  }

 private:
  std::string text(std::size_t i) const {
    return i < tokens_.size() ? std::string(tokens_[i].text) : "";
  }

  /// `i < N`: N bounds i.
  void bound(std::size_t i) {
    if (tokens_[i].kind == Token::Kind::identifier && text(i + 1) == "<" &&
        values_.contains(text(i + 2)) && (text(i + 3) == ";" || text(i + 3) == "&")) {
      bounds_.emplace(std::string(tokens_[i].text), text(i + 2));
    }
  }

  void use(std::size_t i) {
    const std::string name(tokens_[i].text);
    BodyFacts::Use& use = facts_.uses[name];
    if (text(i + 1) != "[") {
      if (text(i + 1) == "+" && values_.contains(text(i + 4)) && text(i + 3) == "*")
        shape(name, i + 2, i + 5);
      if (i > 0 && text(i - 1) == "*" && text(i + 1) == "=") return write(use, text(i + 2) != "=");
      use.passed_on = true;
      return;
    }
    const std::size_t close = close_of(tokens_, i + 1);
    shape(name, i + 2, close);
    for (std::size_t k = i + 2; k < close; ++k) {
      if (pointers_.contains(text(k)) && tokens_[k].kind == Token::Kind::identifier)
        facts_.gathered.insert(name);
    }
    // y[i] = …, but not ==; everything else (+=, ++, a value in an expression) reads it.
    const bool plain = text(close + 1) == "=" && text(close + 2) != "=";
    if (plain) {
      // The right side comes first in time: y[i] = a + y[i] reads the old value.
      for (std::size_t k = close + 2; k < tokens_.size() && text(k) != ";"; ++k) {
        if (tokens_[k].kind == Token::Kind::identifier && text(k) == name) write(use, false);
      }
    }
    write(use, plain);
    const bool compound = text(close + 2) == "=" &&
                          std::string("+-*/|&^").find(text(close + 1)) != std::string::npos &&
                          text(close + 1).size() == 1;
    const bool step = (text(close + 1) == "+" && text(close + 2) == "+") ||
                      (i > 1 && text(i - 1) == "+" && text(i - 2) == "+");
    if (compound || step) use.written = true;
  }

  static void write(BodyFacts::Use& use, bool plain_write) {
    if (plain_write) {
      use.written = true;
    } else {
      if (!use.written && !use.read) use.read_first = true;
      use.read = true;
    }
  }

  /// v * K + w → [bound of v, K]; v → [bound of v].
  void shape(const std::string& name, std::size_t begin, std::size_t end) {
    std::vector<std::string> found;
    const auto at = [&](std::size_t k) {
      return begin + k < end ? text(begin + k) : std::string();
    };
    const auto bound_of = [&](const std::string& v) {
      const auto b = bounds_.find(v);
      return b == bounds_.end() ? std::string() : b->second;
    };
    if (end == begin + 1)
      found = {bound_of(at(0))};
    else if (end >= begin + 3 && at(1) == "*" && values_.contains(at(2)) &&
             (end == begin + 3 || at(3) == "+") && end <= begin + 5)
      found = {bound_of(at(0)), at(2)};
    else
      return;
    if (std::find(found.begin(), found.end(), "") != found.end()) return;
    auto& held = facts_.shapes[name];
    if (held.size() < found.size()) held = found;
  }

  const Tokens& tokens_;
  const code::Signature& signature_;
  BodyFacts& facts_;
  std::set<std::string> pointers_, values_;
  std::map<std::string, std::string> bounds_;
};

/// Replaces, inserts and deletes by offset in the original text.
class Edits {
 public:
  void replace(std::size_t offset, std::size_t length, std::string text) {
    edits_.push_back({offset, length, std::move(text)});
  }
  std::string apply(const std::string& source) {
    std::stable_sort(edits_.begin(), edits_.end(),
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    std::string out;
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      if (edit.offset < at) continue;
      out += source.substr(at, edit.offset - at) + edit.text;
      at = edit.offset + edit.length;
    }
    return out + source.substr(at);
  }

 private:
  struct Edit {
    std::size_t offset, length;
    std::string text;
  };
  std::vector<Edit> edits_;
};

// Single-precision calls would round in the middle of a wider evaluation; the prelude's follow
// their argument.
std::string wide_call(std::string_view name) {
  static const std::set<std::string, std::less<>> kUnary = {
      "exp",   "exp2", "expm1", "log",   "log2",  "log10",   "log1p", "sqrt", "cbrt",
      "sin",   "cos",  "tan",   "asin",  "acos",  "atan",    "sinh",  "cosh", "tanh",
      "erf",   "erfc", "fabs",  "floor", "ceil",  "round",   "trunc", "rint", "pow",
      "atan2", "fmod", "fmin",  "fmax",  "hypot", "copysign"};
  const std::string_view stem =
      name.ends_with('f') && !kUnary.contains(name) ? name.substr(0, name.size() - 1) : name;
  return kUnary.contains(stem) ? "hone::" + std::string(stem) : "";
}

/// Rewrites one token of plain float code. Inside the kernel, pointers to non-const are ways into
/// the outputs.
void widen(const Tokens& tokens, std::size_t i, bool in_body, const std::set<std::string>& inputs,
           Edits& edits) {
  const Token& token = tokens[i];
  const auto text = [&](std::size_t k) {
    return k < tokens.size() ? tokens[k].text : std::string_view();
  };
  const std::string_view before = i > 0 ? text(i - 1) : std::string_view();
  if (token.text == "float" || token.text == "double") {
    if (text(i + 1) != "*")
      edits.replace(token.offset, token.text.size(), "HONE_REAL");
    else if (in_body && before != "const")
      edits.replace(token.offset, token.text.size(), "HONE_OUT");
    return;
  }
  if (text(i + 1) == "(") {
    if (const std::string call = wide_call(token.text);
        !call.empty() && before != "." && before != "->") {
      const bool std_call = before == "::" && i > 1 && text(i - 2) == "std";
      if (std_call)
        edits.replace(tokens[i - 2].offset, token.offset + token.text.size() - tokens[i - 2].offset,
                      call);
      else if (before != "::")
        edits.replace(token.offset, token.text.size(), call);
    }
  }
  const bool outer = text(i + 1) == "[" && in_body && inputs.contains(std::string(token.text)) &&
                     before != "&" && before != "." && before != "::";
  if (!outer) return;
  const std::size_t close = close_of(tokens, i + 1);
  edits.replace(token.offset, 0, "HONE_REAL(");
  edits.replace(tokens[close].offset + tokens[close].text.size(), 0, ")");
}

void add_extern(const code::Signature& signature, Edits& edits) {
  if (!signature.extern_c && !signature.is_static)
    edits.replace(signature.begin, 0, "extern \"C\" ");
}

std::string function_line(const code::Signature& signature, const BodyFacts& body) {
  if (body.has_function_line) return "";
  return fmt::format("// hone:function {}{}\n", signature.name, body.openmp ? " threads=(2)" : "");
}

std::string spelled(task::DType dtype, const std::string& type) {
  return dtype == task::DType::f32 ? "float" : dtype == task::DType::f64 ? "double" : type;
}

}  // namespace

Result<BodyFacts> read_body(std::string_view source, std::string_view path,
                            const code::Signature& signature) {
  HONE_TRY(auto all, code::tokenize(source, path));
  BodyFacts facts;
  Tokens tokens;
  for (const Token& token : all) {
    const std::string_view text = token.text;
    if (token.kind == Token::Kind::directive) {
      const auto parts = words(text);
      if (parts.size() >= 2 && text.find("pragma") != std::string_view::npos &&
          text.find("omp") != std::string_view::npos && text.find("simd") == std::string_view::npos)
        facts.openmp = true;
    } else if (token.kind == Token::Kind::line_comment) {
      if (text.find("hone:function") != std::string_view::npos) facts.has_function_line = true;
    } else if (token.kind == Token::Kind::identifier) {
      const bool vector = text.starts_with("_mm") || text.starts_with("__m128") ||
                          text.starts_with("__m256") || text.starts_with("__m512") ||
                          text == "vector_size" || text == "asm" || text == "__asm__";
      if (vector && facts.vector_code.empty()) facts.vector_code = std::string(text);
    }
    if (is_code(token) && token.kind != Token::Kind::directive) tokens.push_back(token);
  }
  BodyReader(tokens, signature, facts).run();
  return facts;
}

std::string reference_text(const std::string& source, const code::Signature& signature,
                           const std::vector<InitTensor>& tensors, const BodyFacts& body) {
  auto all = code::tokenize(source, "kernel");
  if (!all) return source;  // read before, so it reads now
  Tokens tokens;
  Edits edits;
  for (const Token& token : *all) {
    const bool flags = token.text.find("hone:flags") != std::string_view::npos ||
                       token.text.find("hone:compiler") != std::string_view::npos;
    if (token.kind == Token::Kind::line_comment && flags)
      edits.replace(token.offset, token.text.size(), "");
    if (is_code(token) && token.kind != Token::Kind::directive) tokens.push_back(token);
  }
  std::set<std::string> inputs;
  std::string parameters, copies;
  std::map<std::string, const InitTensor*> by_name;
  for (const InitTensor& tensor : tensors) {
    by_name[tensor.name] = &tensor;
    if (tensor.use == InitTensor::Use::input && task::is_floating(tensor.dtype))
      inputs.insert(tensor.name);
  }
  for (const auto& p : signature.parameters) {
    const auto at = by_name.find(p.name);
    if (!parameters.empty()) parameters += ", ";
    if (at == by_name.end()) {
      parameters += fmt::format("{} {}", p.type, p.name);
      continue;
    }
    const InitTensor& tensor = *at->second;
    const std::string stored = spelled(tensor.dtype, p.type);
    if (tensor.use == InitTensor::Use::inout) {
      parameters += fmt::format("const {}* {}_old, ", stored, p.name);
      std::string count = "1";
      for (const auto& extent : tensor.shape) count += fmt::format(" * (int64_t){}", extent);
      copies += fmt::format(
          "\n  for (int64_t hone_i = 0; hone_i < (int64_t){}; ++hone_i) {}[hone_i] = "
          "{}_old[hone_i];  // in place: start from the old values",
          count, p.name, p.name);
    }
    if (tensor.use == InitTensor::Use::input)
      parameters += fmt::format("const {}* {}", stored, p.name);
    else
      parameters +=
          fmt::format("{}* {}", task::is_floating(tensor.dtype) ? "HONE_OUT" : stored, p.name);
  }
  const std::string head = fmt::format(
      "{}void {}({}) ", signature.extern_c || signature.is_static ? "" : "extern \"C\" ",
      signature.name, parameters);
  const std::string own = signature.extern_c && source.substr(signature.begin, 6) == "extern"
                              ? "extern \"C\" "
                          : signature.is_static ? "static "
                                                : "";
  edits.replace(signature.begin, signature.body_begin - signature.begin, own + head);
  if (!copies.empty()) edits.replace(signature.body_begin, 1, "{" + copies);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != Token::Kind::identifier) continue;
    const bool in_head =
        tokens[i].offset >= signature.begin && tokens[i].offset < signature.body_begin;
    const bool in_body =
        tokens[i].offset > signature.body_begin && tokens[i].offset < signature.end;
    if (!in_head) widen(tokens, i, in_body, inputs, edits);
  }
  return "// What is right: your kernel with its arithmetic in HONE_REAL, so that it can be "
         "evaluated in a wider type.\n"
         "// Inputs keep their types; floating outputs are HONE_OUT. Read it once: it decides "
         "every verdict.\n" +
         function_line(signature, body) + edits.apply(source);
}

std::string candidate_text(const std::string& source, const code::Signature& signature,
                           const BodyFacts& body) {
  Edits edits;
  add_extern(signature, edits);
  return function_line(signature, body) + edits.apply(source);
}

}  // namespace hone::engine
