#pragma once
// The inside of JailedProcess: what the coordinator holds of a worker.

#include <optional>

#include "wire/freezer.h"
#include "wire/sandbox.h"

namespace hone::wire {

/// The pid that the reader of /proc sees for a pidfd.
Result<int> host_pid_of(int pidfd);

struct JailedProcess::State {
  UniqueFd pidfd;
  UniqueFd status;  ///< the ExitRecord comes here
  UniqueFd tasks;   ///< /proc/PID/task: stays with this process even when its pid is used again
  UniqueFd statm;
  int host_pid = -1;
  std::optional<Exit> exit;
  std::optional<Freezer> freezer;  ///< where a control group was delegated

  Status attach(UniqueFd process, UniqueFd status_pipe);
  enum class Threads { running, stopped, gone };
  /// Looks at every thread once.
  Threads look() const;
  void signal(int number) const;
};

}  // namespace hone::wire
