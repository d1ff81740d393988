#include "engine/command.h"

#include <fmt/format.h>

#include "report/style.h"

namespace hone::engine {
namespace {

/// A path that begins with a dash would be read as an option.
std::string path_word(const std::string& path) {
  return report::shell_word(path.starts_with('-') ? "./" + path : path);
}

}  // namespace

std::string command_of(const OptimizeRequest& request) {
  const OptimizeRequest usual;
  std::string out = "hone optimize " + path_word(request.task);
  for (const std::string& path : request.candidates) out += " " + path_word(path);
  out += " --budget " + report::shell_word(request.budget);
  if (!request.proposers.empty()) out += " --proposers " + report::shell_word(fmt::format("{}", fmt::join(request.proposers, ",")));
  if (request.seed != usual.seed) out += fmt::format(" --seed {}", request.seed);
  if (request.margin != usual.margin) out += fmt::format(" --margin {}", request.margin);
  if (request.verify_limit_s >= 0) out += fmt::format(" --verify-limit {}s", request.verify_limit_s);
  if (request.accept_c) out += " --accept-c";
  if (request.accept_x) out += " --accept-x";
  if (!request.compiler.empty()) out += " --compiler " + report::shell_word(request.compiler);
  if (!request.archive.empty()) out += " --archive " + path_word(request.archive);
  if (request.unsafe) out += " --unsafe";
  return out;
}

}  // namespace hone::engine
