#pragma once
// The launch plan in a source's comments (docs/candidate.md): one `// hone:WORD …` comment a line.
// The reader gives what is written with line numbers; whether names exist and values make sense is
// the candidate's matter.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::code {

constexpr std::size_t kMaxTunables = 64;
constexpr std::size_t kMaxTunableValues = 4096;
constexpr std::size_t kMaxPlanLines = 1024;

struct Plan {
  struct Tune {
    std::string name;
    std::vector<std::string> values;  ///< integers or words, each once, in the order written
    int line = 0;
  };
  struct Require {
    std::string expression;
    int line = 0;
  };
  struct Scratch {
    std::string name, dtype;
    std::vector<std::string> shape;  ///< expressions
    bool zero = false;
    int line = 0;
  };
  struct Function {
    std::string name;
    std::string threads = "1";  ///< expression
    int line = 0;
  };
  struct Kernel {
    std::string name;
    std::vector<std::string> grid, block;  ///< one to three expressions each
    std::string shared = "0";              ///< bytes, expression
    int line = 0;
  };
  struct Flag {
    std::string text;  ///< `$NAME` or `${NAME}` stands for a tunable's value
    int line = 0;
  };
  struct Expect {
    std::string gate,
        reason;  ///< a failure's words (judge/reasons.h); of several lines any one may hold
    int line = 0;
  };
  std::vector<Tune> tunables;
  std::vector<Require> requires_;
  std::vector<Scratch> scratch;
  std::vector<Function> functions;
  std::vector<Kernel> kernels;
  std::vector<Flag> flags;
  std::vector<Expect> expects;  ///< of a wrong example: how it fails; nothing else reads it
  std::string compiler;         ///< as written; empty: not stated
  int compiler_line = 0;
};

/// Errors read "path:line: found 'x', expected … (did you mean 'y'?)".
Result<Plan> read_plan(std::string_view source, std::string_view path);

/// An integer that fits int64, as a tunable's value is written: "-3", "128".
std::optional<std::int64_t> integer_value(std::string_view text);

}  // namespace hone::code
