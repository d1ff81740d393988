#include "code/tokens.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hone::code {
namespace {

bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         (c & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_identifier(char c) { return starts_identifier(c) || is_digit(c); }

class Scanner {
 public:
  Scanner(std::string_view source, std::string_view path) : source_(source), path_(path) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (const std::size_t splice = splice_length(at_); splice > 0) {
        advance(splice);
      } else if (c == '\n') {
        advance(1);
        line_start_ = true;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        advance(1);
      } else {
        HONE_CHECK(token());
      }
    }
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  /// Length of a backslash-newline at `at`, else 0.
  std::size_t splice_length(std::size_t at) const {
    if (at >= source_.size() || source_[at] != '\\') return 0;
    if (at + 1 < source_.size() && source_[at + 1] == '\n') return 2;
    if (at + 2 < source_.size() && source_[at + 1] == '\r' && source_[at + 2] == '\n') return 3;
    return 0;
  }

  void advance(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (source_[at_ + i] == '\n') ++line_;
    }
    at_ += count;
  }

  Error unterminated(const char* what, int line) const {
    return usage_error(
        fmt::format("{}:{}: found the start of a {} that does not end", path_, line, what),
        "close it");
  }

  void emit(Token::Kind kind, std::size_t length) {
    tokens_.push_back({kind, source_.substr(at_, length), at_, line_});
    advance(length);
  }

  Status token() {
    const char c = source_[at_];
    const bool first = line_start_;
    if (c == '/' && peek(1) == '/') return line_comment();
    if (c == '/' && peek(1) == '*')
      return block_comment();  // leaves line_start_: `/**/ #if` is a directive
    line_start_ = false;
    if (c == '#' && first) return directive();
    if (starts_identifier(c)) return word();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"') return quoted('"', Token::Kind::string, 0);
    if (c == '\'') return quoted('\'', Token::Kind::character, 0);
    return punctuation();
  }

  Status line_comment() {
    std::size_t end = at_;
    while (end < source_.size() && source_[end] != '\n') {
      const std::size_t splice = splice_length(end);
      end += splice > 0 ? splice : 1;
    }
    emit(Token::Kind::line_comment, end - at_);
    return {};
  }

  Status block_comment() {
    const std::size_t end = source_.find("*/", at_ + 2);
    if (end == std::string_view::npos) return unterminated("comment", line_);
    emit(Token::Kind::block_comment, end + 2 - at_);
    return {};
  }

  Status directive() {
    std::size_t end = at_;
    while (end < source_.size() && source_[end] != '\n') {
      if (const std::size_t splice = splice_length(end); splice > 0) {
        end += splice;
      } else if (source_[end] == '"') {
        ++end;
        while (end < source_.size() && source_[end] != '"' && source_[end] != '\n') {
          end +=
              source_[end] == '\\' && end + 1 < source_.size() && source_[end + 1] != '\n' ? 2 : 1;
        }
        if (end < source_.size() && source_[end] == '"') ++end;
      } else if (source_.substr(end, 2) == "//") {
        break;
      } else if (source_.substr(end, 2) == "/*") {
        const std::size_t close = source_.find("*/", end + 2);
        if (close == std::string_view::npos) return unterminated("comment", line_);
        end = close + 2;
      } else {
        ++end;
      }
    }
    emit(Token::Kind::directive, std::min(end, source_.size()) - at_);
    return {};
  }

  Status word() {
    std::size_t length = 1;
    while (in_identifier(peek(length))) ++length;
    const std::string_view text = source_.substr(at_, length);
    const char next = peek(length);
    if (next == '"') {
      if (text == "R" || text == "u8R" || text == "uR" || text == "UR" || text == "LR")
        return raw(length);
      if (text == "u8" || text == "u" || text == "U" || text == "L") {
        return quoted('"', Token::Kind::string, length);
      }
    }
    if (next == '\'' && (text == "u8" || text == "u" || text == "U" || text == "L")) {
      return quoted('\'', Token::Kind::character, length);
    }
    emit(Token::Kind::identifier, length);
    return {};
  }

  Status number() {
    std::size_t length = 1;
    while (true) {
      const char c = peek(length);
      const char before = source_[at_ + length - 1];
      const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool separator =
          c == '\'' && (is_digit(peek(length + 1)) || starts_identifier(peek(length + 1)));
      if (!in_identifier(c) && c != '.' && !((c == '+' || c == '-') && exponent) && !separator)
        break;
      ++length;
    }
    emit(Token::Kind::number, length);
    return {};
  }

  Status quoted(char quote, Token::Kind kind, std::size_t prefix) {
    std::size_t end = at_ + prefix + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n') {
      if (const std::size_t splice = splice_length(end); splice > 0) {
        end += splice;
      } else {
        end += source_[end] == '\\' ? 2 : 1;
      }
    }
    if (end >= source_.size() || source_[end] != quote) {
      return unterminated(quote == '"' ? "string" : "character", line_);
    }
    emit(kind, end + 1 - at_);
    return {};
  }

  Status raw(std::size_t prefix) {
    const std::size_t open = source_.find('(', at_ + prefix + 1);
    if (open == std::string_view::npos || open - (at_ + prefix + 1) > 16) {
      return unterminated("raw string", line_);
    }
    const std::string close =
        ")" + std::string(source_.substr(at_ + prefix + 1, open - (at_ + prefix + 1))) + "\"";
    const std::size_t end = source_.find(close, open + 1);
    if (end == std::string_view::npos) return unterminated("raw string", line_);
    emit(Token::Kind::string, end + close.size() - at_);
    return {};
  }

  Status punctuation() {
    const std::string_view two = source_.substr(at_, 2);
    // Digraphs would hide braces from us; nobody writes them in a kernel.
    if (two == "<%" || two == "%>" || two == "%:") {
      return usage_error(fmt::format("{}:{}: found the digraph '{}'", path_, line_, two),
                         "write '{', '}' or '#'");
    }
    if (static_cast<unsigned char>(source_[at_]) < 0x20 || source_[at_] == 0x7f) {
      return usage_error(
          fmt::format("{}:{}: found the control character 0x{:02x}", path_, line_,
                      static_cast<unsigned>(static_cast<unsigned char>(source_[at_]))),
          "a source is text in UTF-8");
    }
    std::size_t length = 1;
    if (source_.substr(at_, 3) == "...")
      length = 3;
    else if (two == "::" || two == "->" || two == "[[" || two == "]]")
      length = 2;
    emit(Token::Kind::punctuation, length);
    return {};
  }

  std::string_view source_, path_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_start_ = true;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source, std::string_view path) {
  if (source.size() > kMaxSourceBytes) {
    return usage_error(fmt::format("{}: found {} bytes, expected at most {}", path, source.size(),
                                   kMaxSourceBytes),
                       "a candidate is one source file; move tables into inputs");
  }
  if (source.starts_with("\xef\xbb\xbf")) {
    return usage_error(fmt::format("{}:1: found a byte-order mark", path),
                       "save the file as UTF-8 without one");
  }
  return Scanner(source, path).run();
}

std::string spliced(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.substr(i + 1, 1) == "\n") {
      ++i;
    } else if (text[i] == '\\' && text.substr(i + 1, 2) == "\r\n") {
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace hone::code
