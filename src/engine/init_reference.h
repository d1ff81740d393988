#pragma once
// The part of hone init that reads and rewrites a kernel's body, token by token.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/signature.h"
#include "task/types.h"

namespace hone::engine {

struct InitTensor {
  enum class Use { input, output, inout };
  std::string name, type;  ///< of the parameter
  task::DType dtype = task::DType::f32;
  Use use = Use::input;
  std::vector<std::string> shape;
  std::string doubt;  ///< what the user should look at
};

/// What the body tells about the parameters.
struct BodyFacts {
  struct Use {
    bool written = false, read = false, read_first = false, passed_on = false;
  };
  std::map<std::string, Use> uses;  // pointers
  std::map<std::string, std::vector<std::string>>
      shapes;                      // from x[i * D + j] and the bounds of i and j
  std::set<std::string> gathered;  // indexed by another tensor's values
  std::string vector_code;         // the first intrinsic or vector type, or empty
  bool openmp = false, has_function_line = false;
};

Result<BodyFacts> read_body(std::string_view source, std::string_view path,
                            const code::Signature& signature);

/// The kernel with HONE_REAL arithmetic, HONE_OUT outputs and, in place, a copy of the old values
/// first.
std::string reference_text(const std::string& source, const code::Signature& signature,
                           const std::vector<InitTensor>& tensors, const BodyFacts& body);
/// The kernel with its hone:function line and extern "C".
std::string candidate_text(const std::string& source, const code::Signature& signature,
                           const BodyFacts& body);

}  // namespace hone::engine
