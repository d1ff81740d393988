#pragma once
// One writer an archive: a lock on ARCHIVE.lock beside it, which the kernel drops when the holder dies.

#include <filesystem>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hone::store {

class WriterLock {
 public:
  /// Waits not at all; the error names the holder's pid and command.
  static Result<WriterLock> take(const std::filesystem::path& archive);
  /// Names this hold for good: runs begun under it are alive as long as it is held.
  const std::string& token() const { return token_; }
  WriterLock(WriterLock&&) noexcept = default;
  WriterLock& operator=(WriterLock&&) noexcept = default;
  ~WriterLock();

 private:
  WriterLock(UniqueFd fd, std::string token) : fd_(std::move(fd)), token_(std::move(token)) {}
  UniqueFd fd_;
  std::string token_;
};

/// The token of the writer that holds the archive now; empty when none does. Never disturbs a writer.
std::string living_writer(const std::filesystem::path& archive);

}  // namespace hone::store
