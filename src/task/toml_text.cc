// toml++ 3.3 asks of characters beyond ASCII whether they are blanks, by a generated function with undefined behaviour
// for most of them (U+00C4 is one), in malformed texts also inside what looks like a string. So none may reach it.
#include "task/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace hone::task {
namespace {

bool beyond_ascii(char c) { return static_cast<unsigned char>(c) > 127; }

/// Bytes of the UTF-8 sequence at the front, 0 when it is none; `code` is its character.
std::size_t decode(std::string_view text, std::uint32_t& code) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xC2 && lead < 0xE0 ? 2 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  code = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0u) != 0x80u) return 0;
    code = (code << 6) | (next & 0x3Fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[bytes] || surrogate || code > 0x10FFFF ? 0 : bytes;
}

/// The string that begins at the front, delimiters included; to the end of the text (or line) where it is not closed.
std::string_view string_at(std::string_view text) {
  const char mark = text[0];
  const bool is_long = text.size() >= 3 && text[1] == mark && text[2] == mark;
  const std::string_view delimiter = text.substr(0, is_long ? 3 : 1);
  std::size_t i = delimiter.size();
  while (i < text.size()) {
    if (text[i] == '\n' && !is_long) break;
    if (text[i] == '\\' && mark == '"' && i + 1 < text.size() && text[i + 1] != '\n') {
      i += 2;
    } else if (text.substr(i, delimiter.size()) == delimiter) {
      i += delimiter.size();
      // Up to two marks may stand before the closing three.
      for (int extra = 0; is_long && extra < 2 && i < text.size() && text[i] == mark; ++extra) ++i;
      break;
    } else {
      ++i;
    }
  }
  return text.substr(0, i);
}

/// As a string that escapes can be written in, with escapes; false: it holds what is no character.
bool escape(std::string_view string, std::string& out) {
  const bool literal = string[0] == '\'';
  for (std::size_t i = 0; i < string.size();) {
    const char c = string[i];
    if (beyond_ascii(c)) {
      std::uint32_t code = 0;
      const std::size_t bytes = decode(string.substr(i), code);
      if (bytes == 0) return false;
      out += code > 0xFFFF ? fmt::format("\\U{:08X}", code) : fmt::format("\\u{:04X}", code);
      i += bytes;
      continue;
    }
    if (!literal && c == '\\' && i + 1 < string.size()) {
      if (beyond_ascii(string[i + 1])) return false;  // no escape
      out += c;
      out += string[i + 1];
      i += 2;
      continue;
    }
    if (literal && (c == '\\' || c == '"')) out += '\\';
    out += literal && c == '\'' ? '\x01' : c;  // marks are told apart below
    ++i;
  }
  return true;
}

/// A literal string's marks: those that delimit it become quotation marks, those within it stay.
void restore_marks(std::string_view original, std::string& escaped) {
  const std::size_t width = original.size() >= 6 && original.starts_with("'''") ? 3 : 1;
  const std::size_t count = static_cast<std::size_t>(std::count(escaped.begin(), escaped.end(), '\x01'));
  std::size_t seen = 0;
  for (char& c : escaped) {
    if (c != '\x01') continue;
    c = seen < width || seen >= count - std::min(count, width) ? '"' : '\'';
    ++seen;
  }
}

}  // namespace

AsciiToml to_ascii(std::string_view text) {
  AsciiToml out;
  int line = 1;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && out.bad_line == 0) {
    const char c = text[0];
    std::size_t taken = 1;
    if (c == '"' || c == '\'') {
      const std::string_view string = string_at(text);
      taken = string.size();
      if (std::none_of(string.begin(), string.end(), beyond_ascii)) {
        out.text += string;
      } else {
        std::string escaped;
        if (!escape(string, escaped)) out.bad_line = line;
        if (c == '\'') restore_marks(string, escaped);
        out.text += escaped;
      }
    } else if (c == '#') {
      taken = std::min(text.find('\n'), text.size());
      for (const char in_comment : text.substr(0, taken)) out.text += beyond_ascii(in_comment) ? '?' : in_comment;
    } else if (beyond_ascii(c)) {
      out.bad_line = line;
    } else {
      out.text += c;
    }
    line += static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(taken), '\n'));
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace hone::task
