#pragma once
// The fixed vocabulary of failures: what `reason` may be, in which gate, and what to do about it. The source of
// docs/verdict.md's table; a test holds the two together.

#include <span>
#include <string_view>

namespace hone::judge {

struct Reason {
  const char* gate;
  const char* word;
  const char* about;  ///< one line: what was found
  const char* next;   ///< one line: what to do
  bool undecided = false;  ///< says that something ran out before the answer was known: neither right nor wrong
};
std::span<const Reason> reasons();
/// nullptr when there is none: a reason outside the vocabulary is our bug.
const Reason* find_reason(std::string_view gate, std::string_view word);

}  // namespace hone::judge
