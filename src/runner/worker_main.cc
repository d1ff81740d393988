// hone-worker: the program behind every process that is not the coordinator. Its first argument is
// the role; each role is one line in the table.

#include <sys/prctl.h>

#include <cstdio>
#include <cstring>

#include "lane/cuda/compile_main.h"
#include "runner/cuda/gpu_runner_main.h"
#include "runner/oracle_main.h"
#include "runner/runner_main.h"
#include "wire/jail_helper.h"
#include "wire/jail_probe.h"

namespace {

struct Role {
  const char* name;
  int (*main)(int argc, char** argv);  ///< argv[0] is the role
  bool hidden;
};

constexpr Role kRoles[] = {
    {"jail", hone::wire::jail_main, false},
    {"runner", hone::runner::runner_main, false},
    {"oracle", hone::runner::oracle_main, false},
    {"runner-cuda", hone::runner::gpu_runner_main, false},
    {"compile-cuda", hone::lane::compile_cuda_main, false},
    {"probe", hone::wire::probe_main, true},
};

int usage() {
  std::fputs("hone-worker is started by hone, not by hand. Roles:", stderr);
  for (const Role& role : kRoles)
    if (!role.hidden) std::fprintf(stderr, " %s", role.name);
  std::fputs("\n", stderr);
  return 2;
}

}  // namespace

// Under a sanitizer a candidate's fault must end the process as it does without the tool, and nobody is left to write
// reports for.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:detect_leaks=0";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:die_after_fork=0";
}
#endif

int main(int argc, char** argv) {
  // Other processes of the jail's user may not look into this one.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (argc >= 2)
    for (const Role& role : kRoles)
      if (std::strcmp(role.name, argv[1]) == 0) return role.main(argc - 1, argv + 1);
  return usage();
}
