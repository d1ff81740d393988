#pragma once
// A host compiler and what its objects are linked with. The lane links with the bare linker: the driver's own
// link step costs 33 ms of 94, the linker alone 4.

#include <string>
#include <vector>

#include "base/result.h"

namespace hone::lane {

struct Toolchain {
  std::string name;                    ///< "g++", "clang++-15": as asked for
  std::string program;                 ///< absolute path below /usr, as the jail sees it
  bool clang = false;
  std::string version;                 ///< first line of --version
  std::string linker;                  ///< absolute path
  std::string linker_version;
  std::vector<std::string> libraries;  ///< absolute paths, in link order, each linked only when used
  std::string archer;                  ///< clang: libarcher.so, or empty
  std::vector<std::string> native;     ///< what -march=native stands for here

  /// Changes when an object built with it may change.
  std::string fingerprint() const;
  /// `flags` with "-march=native" spelled out.
  std::vector<std::string> expand(const std::vector<std::string>& flags) const;
};

/// Empty: g++, or clang++ where there is no g++. A candidate may name g++ and clang++, with or without a
/// version ("g++-13"). Probed once a process; environment error with the cure when missing.
Result<Toolchain> find_toolchain(const std::string& name);

/// "g++", "clang++", "g++-13": the only names a candidate may use.
bool is_compiler_name(const std::string& name);

}  // namespace hone::lane
