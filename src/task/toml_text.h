#pragma once

#include <string>
#include <string_view>

namespace hone::task {

/// A TOML text of the same meaning in ASCII alone: characters beyond it become \u escapes in strings ('ä' becomes
/// "\u00E4") and '?' in comments. Lines stay where they are.
struct AsciiToml {
  std::string text;
  int bad_line = 0;  ///< of the first character that TOML allows nowhere there, or that is no UTF-8; 0: none
};
AsciiToml to_ascii(std::string_view text);

}  // namespace hone::task
