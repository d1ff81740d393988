#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace hone {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("hone", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("hone: %l: %v");
    const char* wish = std::getenv("HONE_LOG");
    made->set_level(wish ? spdlog::level::from_str(wish) : spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }
void log(LogLevel level, std::string_view message) { logger().log(to_spdlog(level), message); }

}  // namespace hone
