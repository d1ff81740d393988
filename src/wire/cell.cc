#include "wire/cell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "wire/freezer.h"

namespace hone::wire {
namespace {

Bubblewrap look_for_bubblewrap() {
  Bubblewrap found;
  found.program = find_program("bwrap");
  if (found.program.empty()) return found;
  const auto printed = run_command({found.program, "--version"});  // "bubblewrap 0.8.0"
  if (!printed) return found;
  const std::string line(trim(printed->out));
  const auto parts = words(line);
  found.version = parts.empty() ? "" : std::string(parts.back());
  int major = 0, minor = 0;
  if (std::sscanf(found.version.c_str(), "%d.%d", &major, &minor) == 2)
    found.disables_userns = major > 0 || minor >= 8;
  return found;
}

struct UserRange {
  std::uint32_t first, count;
};

/// systemd's table of user ids (UIDS-GIDS) leaves these unused: 60578–61183, and 1879048192 up to
/// 2^31. The large one is taken where this user namespace maps it, so that two jails hardly ever
/// meet.
UserRange unused_range() {
  constexpr UserRange kSmall{60578, 606}, kLarge{1879048192U, (1U << 28) - 1};
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t inside = 0, outside = 0, count = 0;
  while (map >> inside >> outside >> count)
    if (inside <= kLarge.first && inside + count >= std::uint64_t{kLarge.first} + kLarge.count)
      return kLarge;
  return kSmall;
}

std::set<std::uint32_t> read_accounts() {
  std::set<std::uint32_t> users;
  std::ifstream file("/etc/passwd");
  for (std::string line; std::getline(file, line);) {
    const auto parts = split(line, ':');
    if (parts.size() > 3)
      users.insert(
          static_cast<std::uint32_t>(std::strtoul(std::string(parts[2]).c_str(), nullptr, 10)));
  }
  return users;
}

bool others_can(const struct stat& info, mode_t bits) { return (info.st_mode & bits) == bits; }

/// The first part of the path that keeps other users out; "" when none does.
std::string obstacle(const fs::path& path) {
  fs::path so_far;
  for (const fs::path& part : path) {
    so_far /= part;
    struct stat info {};
    if (::stat(so_far.c_str(), &info) != 0) return so_far.string();
    const bool last = so_far == path;
    const mode_t needed = S_ISDIR(info.st_mode) ? (last ? S_IROTH | S_IXOTH : S_IXOTH) : S_IROTH;
    if (!others_can(info, needed)) return so_far.string();
  }
  return "";
}

/// A folder of ours that every user can read and only we can write.
Result<fs::path> staging_folder() {
  const fs::path folder = fmt::format("/tmp/hone-jail-{}", ::geteuid());
  if (::mkdir(folder.c_str(), 0755) == 0) ::chmod(folder.c_str(), 0755);
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0)
    return system_error(fmt::format("making {} failed", folder.string()), errno);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return environment_error(
        fmt::format("{} is not a folder that only this user can write", folder.string()),
        "Remove it.");
  return folder;
}

Result<std::string> staged_copy(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return system_error(fmt::format("reading {} failed", path.string()), errno);
  HONE_TRY(const fs::path folder, staging_folder());
  // The name changes with the file, so a stale copy is never used.
  const std::string key =
      fmt::format("{} {} {} {}.{} {}", info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                  info.st_mtim.tv_nsec, info.st_ctim.tv_nsec);
  const fs::path copy =
      folder / fmt::format("{}-{}", identity_hash(key).substr(0, 16), path.filename().string());
  if (::access(copy.c_str(), R_OK) == 0) return copy.string();
  HONE_TRY(const std::string bytes, read_file(path));
  const fs::path part = fmt::format("{}.{}.{}", copy.string(), ::getpid(), entropy64());
  HONE_CHECK(write_file(part, bytes));
  ::chmod(part.c_str(), 0755);
  if (::rename(part.c_str(), copy.c_str()) != 0)
    return system_error(fmt::format("writing {} failed", copy.string()), errno);
  return copy.string();
}

void bind_system(std::vector<std::string>* arguments) {
  const auto add = [&](std::initializer_list<std::string> words) {
    arguments->insert(arguments->end(), words);
  };
  add({"--ro-bind", "/usr", "/usr"});
  // Links into /usr on merged systems, folders of their own on others.
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    struct stat info {};
    if (::lstat(path, &info) != 0) continue;
    std::error_code ignored;
    if (S_ISLNK(info.st_mode))
      add({"--symlink", fs::read_symlink(path, ignored).string(), path});
    else
      add({"--ro-bind", path, path});
  }
  add({"--perms", "0755", "--dir", "/etc", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
       "--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "--ro-bind-try",
       "/sys/devices/system/cpu", "/sys/devices/system/cpu"});
}

}  // namespace

const Bubblewrap& bubblewrap() {
  static const Bubblewrap found = look_for_bubblewrap();
  return found;
}

std::optional<std::uint32_t> unused_user() {
  if (::geteuid() != 0) return std::nullopt;
  static std::mutex mutex;
  static std::set<std::uint32_t> taken = read_accounts();
  static const UserRange range = unused_range();
  const std::lock_guard<std::mutex> lock(mutex);
  for (int tries = 0; tries < 10'000; ++tries) {
    const auto user = static_cast<std::uint32_t>(range.first + entropy64() % range.count);
    if (taken.insert(user).second) return user;
  }
  // The small range is used up by this process; its earlier jails are likely gone.
  return static_cast<std::uint32_t>(range.first + entropy64() % range.count);
}

Result<std::string> reachable(const fs::path& path, bool other_user) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error)
    return environment_error(fmt::format("{} is not there: {}", path.string(), error.message()));
  if (!other_user) return real.string();
  const std::string blocked = obstacle(real);
  if (blocked.empty()) return real.string();
  if (fs::is_regular_file(real, error)) return staged_copy(real);
  return environment_error(
      fmt::format("the jail's user cannot reach {}: {} keeps other users out", real.string(),
                  blocked),
      fmt::format("Allow it with chmod o+rx {}, or use a folder elsewhere.", blocked));
}

Result<std::vector<std::string>> bubblewrap_arguments(const Cell& cell) {
  std::vector<std::string> arguments;
  const auto add = [&](std::initializer_list<std::string> words) {
    arguments.insert(arguments.end(), words);
  };
  add({"bwrap", "--unshare-user", "--unshare-all", "--die-with-parent",
       "--clearenv", "--uid", "1000", "--gid", "1000", "--hostname", "jail", "--cap-drop", "ALL"});
  if (cell.new_session) add({"--new-session"});
  if (bubblewrap().disables_userns) add({"--disable-userns"});
  if (cell.command_is_init) add({"--as-pid-1"});
  bind_system(&arguments);
  if (cell.bare) {
    add({"--perms", "0755", "--dir", "/dev", "--dev-bind", "/dev/null", "/dev/null"});
  } else {
    // /dev/shm and /dev are tmpfs of any size unless told otherwise, so both are closed after --dev.
    add({"--proc", "/proc", "--dev", "/dev"});
    for (const std::string& device : cell.devices) add({"--dev-bind-try", device, device});
    add({"--perms",      "0700",
         "--size",       std::to_string(std::max<std::uint64_t>(cell.shm_bytes, 4096)),
         "--tmpfs",      "/dev/shm",
         "--remount-ro", "/dev"});
  }
  add({"--perms",      "0700",
       "--size",       std::to_string(std::max<std::uint64_t>(cell.scratch_bytes, 4096)),
       "--tmpfs",      "/tmp",
       "--dir",        kWorkFolder});
  for (const Bind& bind : cell.read_only) {
    HONE_TRY(const std::string source, reachable(bind.source, cell.other_user));
    add({"--ro-bind", source, bind.target});
  }
  for (const auto& [fd, target] : cell.data)
    add({"--perms", "0555", "--ro-bind-data", std::to_string(fd), target});
  for (const auto& [key, value] : cell.env) add({"--setenv", key, value});
  if (cell.filter_fd >= 0) add({"--seccomp", std::to_string(cell.filter_fd)});
  if (cell.status_fd >= 0) add({"--json-status-fd", std::to_string(cell.status_fd)});
  add({"--chdir", kWorkFolder, "--remount-ro", "/", "--"});
  return arguments;
}

std::vector<std::string> describe_layers(std::optional<std::uint32_t> user, bool walled) {
  std::vector<std::string> layers;
  layers.push_back(user               ? fmt::format("user {}", *user)
                   : ::geteuid() == 0 ? "user not changed (root)"
                                      : "user not changed");
  if (walled) {
    layers.push_back("bubblewrap " + bubblewrap().version);
    layers.push_back("namespaces user pid net ipc uts mount");
    layers.push_back(bubblewrap().disables_userns
                         ? "no further user namespaces"
                         : "further user namespaces stopped by seccomp only");
  } else {
    layers.push_back("no bubblewrap (unsafe)");
  }
  layers.push_back("seccomp");
  const int landlock = landlock_version();
  layers.push_back(landlock > 0 ? fmt::format("landlock {}", landlock) : "no landlock");
  layers.push_back("limits");
  const auto group = delegated_group();
  layers.push_back(group ? fmt::format("cgroup {} (freezer)", group->string()) : "no cgroup");
  return layers;
}

Error no_sandbox(const std::string& printed) {
  if (bubblewrap().program.empty())
    return environment_error(
        "bubblewrap (bwrap) is not installed, so untrusted code cannot be run safely",
        "Install it (apt install bubblewrap), or accept the risk with --unsafe.");
  const std::string text = scrub(trim(printed), 500);
  const bool namespaces = text.find("ermission") != std::string::npos ||
                          text.find("permitted") != std::string::npos ||
                          text.find("No space left") != std::string::npos;
  return environment_error(
      fmt::format("bubblewrap could not make a sandbox: {}",
                  text.empty() ? "it said nothing" : text),
      namespaces ? "User namespaces are probably off: sysctl user.max_user_namespaces=10000, "
                   "kernel.unprivileged_userns_clone=1, or "
                   "kernel.apparmor_restrict_unprivileged_userns=0; in a "
                   "container allow them (for Docker --security-opt seccomp=unconfined). Or accept "
                   "the risk with --unsafe."
                 : "See `hone doctor`, or accept the risk with --unsafe.");
}

}  // namespace hone::wire
