#pragma once
// System-call filters, made with libseccomp, kept as programs: compiling takes longer than loading,
// and the helper of a jail loads the same one for each process it starts.

#include <linux/filter.h>
#include <sys/types.h>

#include <vector>

#include "base/result.h"

namespace hone::wire {

enum class Filter {
  tools,   ///< compilers: no sockets, kernel doors, mounts, namespaces, tracing; deny by EPERM
  device,  ///< as tools, with what a GPU driver needs to start: local sockets and memory files
  worker,  ///< the same for our own workers; also no signal but to oneself, until lock_down
  kernel,  ///< while candidate code runs: a list of what is allowed; hostile calls kill the process
};

using FilterProgram = std::vector<sock_filter>;

/// The program; the pid a process may signal is filled in by load_filter.
Result<FilterProgram> compile_filter(Filter filter);

/// Puts `self` (the caller's own pid, as it sees it) into a program from compile_filter.
void set_self(FilterProgram* program, pid_t self);

/// Loads it into every thread of this process; no_new_privs is set first. Bare system calls. 0 or
/// errno.
int load_filter(const FilterProgram& program);

}  // namespace hone::wire
