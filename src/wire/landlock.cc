#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "wire/filter.h"
#include "wire/sandbox.h"

namespace hone::wire {
namespace {

// The headers of Debian 12 know only the first versions; these are the kernel's documented values.
struct RulesetAttributes {
  std::uint64_t files, network, scope;
};
constexpr std::uint64_t kTruncate = 1ULL << 14;          // version 3
constexpr std::uint64_t kIoctlDevice = 1ULL << 15;       // version 5
constexpr std::uint64_t kTcpBindAndConnect = 3;          // version 4
constexpr std::uint64_t kAbstractSocketsAndSignals = 3;  // version 6

constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                   LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDevice;

/// lock_files was done in this process.
bool files_are_locked = false;

std::uint64_t all_file_rights(int version) {
  std::uint64_t rights = (1ULL << 13) - 1;
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kIoctlDevice;
  return rights;
}

/// A path that is not there needs no rule.
Status allow_below(int ruleset, const char* path, std::uint64_t rights) {
  UniqueFd place(::open(path, O_PATH | O_CLOEXEC));
  if (!place.valid()) return {};
  struct stat info {};
  if (::fstat(place.get(), &info) == 0 && !S_ISDIR(info.st_mode)) rights &= kOfFiles;
  const landlock_path_beneath_attr rule{rights, place.get()};
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0)
    return {};
  return system_error(fmt::format("allowing {} under Landlock failed", path), errno);
}

int count_threads() {
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return 1;
  int count = 0;
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
  ::closedir(folder);
  return count;
}

}  // namespace

int landlock_version() {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

Status lock_files(Profile profile, std::span<const std::string> readable) {
  if (count_threads() != 1)
    return bug_error("lock_files must be called before other threads start");
  files_are_locked = true;
  const int version = landlock_version();
  if (version == 0) return {};
  const std::uint64_t all = all_file_rights(version);
  RulesetAttributes attributes{all, 0, 0};
  std::size_t size = sizeof attributes.files;
  if (version >= 4) attributes.network = kTcpBindAndConnect, size += sizeof attributes.network;
  if (version >= 6) attributes.scope = kAbstractSocketsAndSignals, size += sizeof attributes.scope;
  UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.valid()) return system_error("making a Landlock ruleset failed", errno);
  for (const char* path :
       {"/usr", "/lib", "/lib64", "/lib32", "/bin", "/etc/ld.so.cache", "/etc/alternatives",
        "/proc/self", "/sys/devices/system/cpu", "/dev/null", "/dev/zero", "/dev/urandom"})
    HONE_CHECK(allow_below(ruleset.get(), path, kRead & all));
  for (const std::string& path : readable)
    HONE_CHECK(allow_below(ruleset.get(), path.c_str(), kRead & all));
  if (profile == Profile::tools)
    for (const char* path : {"/tmp", "/dev/shm", "/dev/null"})
      HONE_CHECK(allow_below(ruleset.get(), path, all));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return system_error("entering a Landlock domain failed", errno);
  return {};
}

Result<std::string> lock_down_program() {
  HONE_TRY(const FilterProgram program, compile_filter(Filter::kernel));
  return std::string(reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter));
}

Status lock_down(Profile profile, std::string_view made) {
  if (!files_are_locked) HONE_CHECK(lock_files(profile));
  if (profile == Profile::tools) return {};
  FilterProgram program(made.size() / sizeof(sock_filter));
  if (made.size() % sizeof(sock_filter) != 0) return bug_error("a filter program was cut off");
  if (made.empty()) {
    HONE_TRY(program, compile_filter(Filter::kernel));
  } else {
    std::memcpy(program.data(), made.data(), made.size());
  }
  set_self(&program, ::getpid());
  if (const int error = load_filter(program); error != 0)
    return system_error("loading the system-call filter failed", error,
                        "The kernel needs CONFIG_SECCOMP_FILTER.");
  return {};
}

}  // namespace hone::wire
