#pragma once
// Starting a program from a process with many threads: between the fork and the exec nothing runs
// but bare system calls, so a lock held elsewhere cannot hang the child.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/sandbox.h"

namespace hone::wire {

struct LaunchSpec {
  std::string program;                   ///< a path; no search
  std::vector<std::string> argv;         ///< argv[0] included
  std::vector<std::string> env;          ///< "KEY=value"
  std::vector<std::pair<int, int>> fds;  ///< source → target; every other descriptor is closed
  std::string folder;                    ///< current folder; empty: "/"
  std::optional<std::uint32_t> user;     ///< change to this uid and gid, no groups (needs root)
  ProcessLimits limits;
  std::vector<int> cpus;
  bool die_with_parent = true;  ///< SIGKILL when the *thread* that launched it ends
  bool new_session = true;
  bool background = false;      ///< lower share and short slices, in a process group of its own rather than a session
  /// Runs last in the child, bare system calls only; not 0 is an errno and ends it.
  int (*prepare)(void* context) = nullptr;
  void* context = nullptr;
};

struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;
};

/// Returns after the exec. An error of any step is returned and names the step.
Result<Child> launch(const LaunchSpec& spec);

/// Waits for a launched child (poll on its pidfd, then reap). False at the deadline.
bool reap(const Child& child, std::int64_t timeout_ns, int* wait_status);

}  // namespace hone::wire
