#pragma once
// Diagnostics to standard error, off unless asked for by --verbose or HONE_LOG=debug.

#include <string_view>

namespace hone {

enum class LogLevel { debug, info, warning, error };
void set_log_level(LogLevel level);
void log(LogLevel level, std::string_view message);

}  // namespace hone
