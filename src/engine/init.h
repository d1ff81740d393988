#pragma once
// hone init: from a kernel's signature to a task folder that reads, resolves and runs. What cannot
// be known from a signature is guessed, and each guess is marked `# check:` in the task file.

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace hone::engine {

struct InitOptions {
  std::string function;  ///< empty: the only extern "C" function, else the only function
  fs::path folder;       ///< empty: the kernel's name without extension, beside the current folder
  bool force = false;    ///< overwrite files that exist
};

struct InitResult {
  fs::path folder;
  std::string function;
  std::vector<fs::path> files;          ///< written
  std::vector<std::string> guesses;     ///< one line each, as marked in the task file
  std::vector<std::string> next_steps;  ///< commands and what to look at
};

Result<InitResult> scaffold_task(const fs::path& kernel, const InitOptions& options);
Json to_json(const InitResult& result);

}  // namespace hone::engine
