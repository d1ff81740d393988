#pragma once
// What comes before a source: the prelude's types, for references HONE_REAL and its kin, and the standard
// headers a source includes, precompiled once they were asked for often enough to pay.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "lane/cpu/toolchain.h"

namespace hone::lane {

/// The text put before a source.
struct Prelude {
  std::string text;                  ///< types; macros and mathematics of references; #include lines
  std::vector<std::string> headers;  ///< of the #include lines; none: nothing to precompile
};

/// Text for this build. A candidate that speaks of HONE_REAL, HONE_MUL, HONE_OUT or hone:: gets the baseline's
/// meaning, so that a reference is itself a candidate.
Prelude prelude_for(const candidate::Resolved& resolved);

/// Known standard headers a source includes, sorted; empty when none of them is slow to read, or when a macro
/// is defined first that could change what they say.
std::vector<std::string> headers_to_precompile(const std::string& source);

/// Precompiled headers in a folder, by content of prelude, flags and compiler. Several processes may share it.
class PreludeStore {
 public:
  /// `folder` must be reachable by the jail's user: see open().
  explicit PreludeStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Below `cache` where other users may pass, else below /tmp (or a fresh folder there if that name is taken).
  static Result<std::unique_ptr<PreludeStore>> open(const std::filesystem::path& cache);

  /// Folder to bind at kPreludeTarget, or empty: compile without. Makes it (0.7 s) at the third request, so
  /// that a flag tried once costs nothing; `at_once` does not wait. Errors of the sandbox come through.
  Result<std::filesystem::path> get(const Prelude& prelude, const Toolchain& tools, const std::vector<std::string>& flags,
                                    bool at_once = false);

 private:
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::map<std::string, int> requests_;  // -1: good, -2: cannot be made
};

/// Where the jail sees the folder; prelude.h, and beside it prelude.h.gch or prelude.pch.
inline constexpr const char* kPreludeTarget = "/hone/prelude";

}  // namespace hone::lane
