#pragma once
// Files, folders, temporary folders. Every failure names the path and the reason.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

namespace fs = std::filesystem;

/// Whole file; refuses more than `max_bytes` with an error that says so.
Result<std::string> read_file(const fs::path& path, std::size_t max_bytes = std::size_t{1} << 30);
/// Writes through a temporary name and rename, so that a reader never sees half a file.
Status write_file(const fs::path& path, std::string_view bytes);
Status make_folder(const fs::path& path);
/// The folder for caches: $HONE_CACHE, $XDG_CACHE_HOME/hone, ~/.cache/hone or /tmp/hone-UID.
fs::path cache_folder();
/// The folder of the running program or library user's executable.
fs::path program_folder();
/// hone-worker: $HONE_WORKER, beside the program, or ../libexec/hone/.
Result<fs::path> worker_program();

/// A folder removed with all it holds when it goes out of scope.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(std::string_view prefix);
  TemporaryFolder(TemporaryFolder&&) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) noexcept;
  ~TemporaryFolder();
  const fs::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

}  // namespace hone
