#pragma once
// Runs a trusted program of the machine and reads what it prints. Untrusted code goes through wire's jail.

#include <string>
#include <vector>

#include "base/result.h"

namespace hone {

struct CommandOutput {
  int code = -1;           ///< exit status, or 128 + signal
  std::string out, err;
};

/// argv[0] is looked up in PATH; standard input is empty; LC_ALL=C. An environment error when it cannot be
/// started or outlives `limit_s` (it is then killed). Each stream is cut at 1 MiB.
Result<CommandOutput> run_command(const std::vector<std::string>& argv, double limit_s = 10);

/// The first executable `name` of PATH, or `name` itself when it holds a '/'; empty when there is none.
std::string find_program(const std::string& name);

}  // namespace hone
