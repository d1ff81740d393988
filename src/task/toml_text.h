#pragma once

#include <string_view>

namespace hone::task {

/// Line of the first byte above 127 that lies outside strings and comments of a TOML text, where
/// TOML allows none; 0: there is none. A byte order mark at the start is allowed.
int line_beyond_ascii(std::string_view text);

}  // namespace hone::task
