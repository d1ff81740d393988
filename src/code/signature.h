#pragma once
// Finds function definitions in C and C++ text and reads their parameters. It is no compiler:
// object-like macros and plain typedefs are followed when they are unambiguous, everything else
// that is not a plain type or a pointer to one is refused by name.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::code {

struct SignatureParameter {
  std::string name;
  std::string
      type;  ///< canonical: "float", "int", "unsigned char", "int64_t", "long long", "HONE_OUT"
  bool pointer = false;   ///< at most one level
  bool is_const = false;  ///< the pointee's const for pointers, the value's own otherwise
  int line = 0;
};

struct Signature {
  std::string name;
  std::string scope;        ///< enclosing named namespaces, "a::b", or empty
  std::string return_type;  ///< canonical where it is plain, else as written
  std::vector<SignatureParameter> parameters;
  std::string refusal;  ///< not empty: why the parameters cannot be read ("parameter 'v': …")
  bool extern_c = false;
  bool is_template = false;
  bool is_static = false;
  int line = 0;  ///< of the name
  std::size_t begin = 0, body_begin = 0,
              end = 0;  ///< bytes: declaration start, `{`, past the matching `}`
};

/// Every function defined at namespace level. A source that cannot be tokenised or whose brackets
/// do not match is an error; a function that cannot be read carries a refusal.
Result<std::vector<Signature>> read_signatures(std::string_view source, std::string_view path);

/// The definition of `name`. extern "C" wins over plain ones; absent, templated, overloaded or
/// unreadable functions are errors that name the line and the nearest spelling.
Result<Signature> find_function(std::string_view source, std::string_view path,
                                std::string_view name);

}  // namespace hone::code
