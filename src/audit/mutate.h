#pragma once
// Mutants: the reference with one small mistake each, made on its tokens. A task that lets one pass cannot tell that
// mistake from the right answer.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::audit {

struct Mutant {
  std::string op;       ///< a word of mutation_operators()
  std::string what;     ///< "'<' became '<='"
  int line = 0;         ///< in the original
  std::string source;
  std::string diff;     ///< the lines that differ, "-…\n+…\n"
};

struct MutationOperator {
  const char* name;
  const char* about;    ///< one line
  const char* hint;     ///< what in a task kills such a mutant
};
const std::vector<MutationOperator>& mutation_operators();

/// At most `limit` mutants, spread over the operators and over the source; always the same ones for the same source.
/// A source without function definitions is an error.
Result<std::vector<Mutant>> mutants_of(std::string_view source, std::string_view path, std::size_t limit = 60);

}  // namespace hone::audit
