#pragma once
// The walls of a jail: the bubblewrap command line, the unused user, and what of the host is bound.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/sandbox.h"

namespace hone::wire {

constexpr const char* kWorkFolder = "/tmp/work";
constexpr const char* kWorkerInJail = "/hone/hone-worker";

/// Bubblewrap on this machine; found once.
struct Bubblewrap {
  std::string program;  ///< empty: not installed
  std::string version;  ///< "0.8.0"
  bool disables_userns = false;
};
const Bubblewrap& bubblewrap();

/// When root: a user id that no account and, as far as can be told, nobody else uses; else none.
/// Different at each call within a process.
std::optional<std::uint32_t> unused_user();

/// `path` itself where any user may read it, else a copy of that file in a folder where all may. A
/// folder that others cannot reach is an error that names the obstacle.
Result<std::string> reachable(const std::filesystem::path& path, bool other_user);

struct Cell {
  std::vector<Bind> read_only;
  std::vector<std::string> devices;  ///< nodes of /dev, left out where they are not
  std::vector<std::pair<int, std::string>> data;  ///< descriptor (in the child) → read-only file
  std::vector<std::pair<std::string, std::string>> env;
  std::uint64_t scratch_bytes = 0, shm_bytes = 0;
  int filter_fd = -1;           ///< a filter program to load before the command
  int status_fd = -1;           ///< bubblewrap writes {"exit-code": n} here
  bool other_user = false;      ///< started as another user than ours
  bool command_is_init = true;  ///< process 1, which no signal from inside can end
  bool bare = false;            ///< no /proc, and of /dev null alone
  bool new_session = true;      ///< no controlling terminal; without it TIOCSTI is stopped by the filter alone
};

/// Everything before the command: {"bwrap", "--unshare-all", …, "--"}.
Result<std::vector<std::string>> bubblewrap_arguments(const Cell& cell);

/// What layers() says; `user` as changed to, `walled` with bubblewrap.
std::vector<std::string> describe_layers(std::optional<std::uint32_t> user, bool walled);

/// The error for a machine where bubblewrap is missing or refuses, from what it printed.
Error no_sandbox(const std::string& printed);

}  // namespace hone::wire
