#pragma once
// Freezing by a control group, where one was delegated to Hone: HONE_CGROUP names its folder.

#include <filesystem>
#include <optional>

#include "base/result.h"

namespace hone::wire {

/// A control group with a freezer, version 1 (freezer.state) or 2 (cgroup.freeze). Move-only.
class Freezer {
 public:
  /// An existing group; error when the folder has neither file.
  static Result<Freezer> open(std::filesystem::path group);
  /// A new group below the delegated one, holding this process; removed with the Freezer.
  static Result<Freezer> make(const std::filesystem::path& delegated, int host_pid);
  Freezer(Freezer&& other) noexcept;
  Freezer& operator=(Freezer&& other) noexcept;
  ~Freezer();

  /// Returns when every process of the group is frozen; error after a second.
  Status freeze();
  Status thaw();
  bool frozen() const;
  int version() const { return version_; }

 private:
  Freezer(std::filesystem::path group, int version) : group_(std::move(group)), version_(version) {}
  std::filesystem::path group_;
  int version_ = 2;
  bool ours_ = false;
};

/// HONE_CGROUP, when it is set and not empty.
std::optional<std::filesystem::path> delegated_group();

}  // namespace hone::wire
