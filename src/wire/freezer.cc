#include "wire/freezer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace hone::wire {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kFreezeLimit_ns = 1'000'000'000;

/// Control files are there or not; they are never created.
Status write_control(const fs::path& file, const std::string& text) {
  UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (fd.valid() &&
      ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return {};
  return system_error(fmt::format("writing {} to {} failed", text, file.string()), errno,
                      "HONE_CGROUP must name a control group that this user may write.");
}

std::string read_control(const fs::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text;
  const ssize_t got = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : -1;
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : "";
}

}  // namespace

std::optional<fs::path> delegated_group() {
  const char* folder = std::getenv("HONE_CGROUP");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return fs::path(folder);
}

Freezer::Freezer(Freezer&& other) noexcept
    : group_(std::move(other.group_)),
      version_(other.version_),
      ours_(std::exchange(other.ours_, false)) {}
Freezer& Freezer::operator=(Freezer&& other) noexcept {
  std::swap(group_, other.group_);
  std::swap(version_, other.version_);
  std::swap(ours_, other.ours_);
  return *this;
}
Freezer::~Freezer() {
  // Fails while a process is left in it; the group is then empty soon and harmless.
  if (ours_) ::rmdir(group_.c_str());
}

Result<Freezer> Freezer::open(fs::path group) {
  std::error_code ignored;
  if (fs::exists(group / "cgroup.freeze", ignored)) return Freezer(std::move(group), 2);
  if (fs::exists(group / "freezer.state", ignored)) return Freezer(std::move(group), 1);
  return environment_error(
      fmt::format("{} is not a control group with a freezer", group.string()),
      "Let HONE_CGROUP name a group of version 2, or of version 1's freezer, or unset it.");
}

Result<Freezer> Freezer::make(const fs::path& delegated, int host_pid) {
  static std::atomic<unsigned> number = 0;
  const fs::path group = delegated / fmt::format("hone-{}-{}", ::getpid(), number++);
  if (::mkdir(group.c_str(), 0755) != 0)
    return system_error(fmt::format("making the control group {} failed", group.string()), errno,
                        "HONE_CGROUP must name a control group that this user may write.");
  auto made = open(group);
  if (!made) {
    ::rmdir(group.c_str());
    return made;
  }
  made->ours_ = true;
  HONE_CHECK(write_control(group / "cgroup.procs", std::to_string(host_pid)));
  return made;
}

bool Freezer::frozen() const {
  if (version_ == 1) return trim(read_control(group_ / "freezer.state")) == "FROZEN";
  const std::string events = read_control(group_ / "cgroup.events");
  for (const std::string_view line : split(events, '\n'))
    if (trim(line) == "frozen 1") return true;
  return false;
}

Status Freezer::freeze() {
  HONE_CHECK(version_ == 1 ? write_control(group_ / "freezer.state", "FROZEN")
                           : write_control(group_ / "cgroup.freeze", "1"));
  const std::int64_t end = monotonic_ns() + kFreezeLimit_ns;
  while (!frozen()) {
    if (monotonic_ns() > end)
      return environment_error(fmt::format("{} did not freeze within a second", group_.string()));
    const timespec pause{0, 20'000};
    ::nanosleep(&pause, nullptr);
  }
  return {};
}

Status Freezer::thaw() {
  return version_ == 1 ? write_control(group_ / "freezer.state", "THAWED")
                       : write_control(group_ / "cgroup.freeze", "0");
}

}  // namespace hone::wire
