#pragma once
// What an Archive holds, shared by archive.cc (facts), queries.cc and find.cc. Internal to the store.

#include <optional>
#include <string>
#include <vector>

#include "store/archive.h"
#include "store/lock.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace hone::store {

struct Archive::Inner {
  // The lock is dropped after the connection has closed: the last checkpoint is still ours.
  std::optional<WriterLock> lock;
  Database database;
  std::filesystem::path file;
  std::string token;  // of this writer; empty for a reader
  int depth = 0;      // of open transactions

  /// Inside another transaction a savepoint, so that a body's failure takes back its own rows only.
  Status atomically(bool synced, const std::function<Status()>& body);
  Result<std::int64_t> run_key(const std::string& id) const;
  Result<std::int64_t> candidate_key(std::int64_t run, std::int64_t number) const;
  Result<std::int64_t> text_key(std::string_view text);
  /// `written` is what the newest event says; a run of a writer no longer alive is interrupted.
  RunStatus status_of(const std::string& written, const std::string& writer, const std::string& living) const;
  std::string living() const;

  /// For tests of what no test can bring about through the door.
  static Inner& of(Archive& archive) { return *archive.inner_; }
};

}  // namespace hone::store
