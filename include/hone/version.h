#pragma once
// The version of the linked library.

namespace hone {

/// "MAJOR.MINOR.PATCH", for example "0.1.0". Never null; lives as long as the program.
const char* version();

}  // namespace hone
