#pragma once
// code: what code is, read without running it. plan.h reads the `// hone:` comments, signature.h
// the function definitions, elf.h the finished object, census.h its instructions. All are bounded,
// fuzzed, and refuse by name what they do not know. This file cuts C and C++ text into tokens; read
// it first.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::code {

constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;

struct Token {
  enum class Kind {
    identifier,
    number,
    string,
    character,
    punctuation,
    directive,
    line_comment,
    block_comment
  };
  Kind kind;
  std::string_view text;  ///< as written, into the source; directives: the whole logical line
  std::size_t offset;     ///< of the first byte
  int line;               ///< of the first byte, from 1
};

/// Comments, strings, raw strings, directives and line continuations are told apart as a compiler
/// does.
/// `::`, `->`, `...`, `[[` and `]]` are one token, other punctuation is one character. Errors name
/// `path`:line.
Result<std::vector<Token>> tokenize(std::string_view source, std::string_view path);

/// The same text without backslash-newline pairs.
std::string spliced(std::string_view text);

}  // namespace hone::code
