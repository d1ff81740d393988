#pragma once
// One compiler run in the jail: what it may use, what its ends mean. The lane, the prelude and the sanitizer
// builds share it.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "lane/cpu/prelude.h"
#include "lane/cpu/toolchain.h"

namespace hone::lane {

/// What is built from a source.
enum class Product { shared_object, program, object };

struct CompileJob {
  const Toolchain* tools = nullptr;
  std::string source;                 ///< becomes candidate.cpp
  std::string prelude;                ///< text put before it
  std::filesystem::path precompiled;  ///< folder of the precompiled prelude, or empty
  std::vector<std::string> flags;
  Product product = Product::shared_object;
  std::map<std::string, std::string> files;  ///< program: further inputs of the link, by name
  std::vector<std::string> link_flags;       ///< program: for the compiler's own link
  double limit_s = 30;
  bool unsafe = false;
};

struct CompileResult {
  std::string object;                ///< bytes of the product; empty on failure
  candidate::Failure failure;        ///< reason is empty on success
  std::string log;                   ///< scrubbed
  double wall_ms = 0;
};

Result<CompileResult> compile_in_jail(const CompileJob& job);

/// The bytes of a precompiled header of `text`; empty when the compiler would not make it.
Result<std::string> precompile(const std::string& text, const Toolchain& tools, const std::vector<std::string>& flags);

/// First line of a log that reads "error:", else the first that is not empty.
std::string first_error_line(const std::string& log);

}  // namespace hone::lane
