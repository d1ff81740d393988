#include "wire/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#if defined(__SANITIZE_THREAD__)
// The tool's wrapper of clone takes the child for a fork with memory of its own, what the child does with its own
// descriptors for our doing, and the handlers it takes away from itself for ours.
extern "C" {
int __clone(int (*)(void*), void*, int, void*, ...);
int __sigaction(int, const struct sigaction*, struct sigaction*);
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
}
#define HONE_CLONE ::__clone
#define HONE_SIGACTION ::__sigaction
#else
#define HONE_CLONE ::clone
#define HONE_SIGACTION ::sigaction
#endif

namespace hone::wire {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr int kFirstSpareFd = 200;  ///< descriptors are first moved above every possible target

/// struct sched_attr of sched_setattr(2), which glibc does not have; runtime is the slice since Linux 6.12.
struct SchedulingAttributes {
  std::uint32_t size = 0, policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};

struct Plan {
  const LaunchSpec* spec;
  std::vector<char*> argv, env;
  std::vector<std::pair<int, int>> fds;
  int highest_target = -1;
  pid_t parent = 0;
  cpu_set_t cpus;
  // Written by the child; the parent shares the memory.
  int error = 0;
  const char* step = nullptr;
};

int fail(Plan* plan, const char* step, int error = errno) {
  plan->error = error;
  plan->step = step;
  ::_exit(127);
}

void limit(Plan* plan, __rlimit_resource resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit now{};
  ::getrlimit(resource, &now);
  // A hard limit can only be lowered; asking for more than there is means all there is.
  now.rlim_max = std::min<rlim_t>(now.rlim_max, hard);
  now.rlim_cur = std::min<rlim_t>(now.rlim_max, soft);
  if (::setrlimit(resource, &now) != 0) fail(plan, "setting a limit");
}

void apply_limits(Plan* plan) {
  const ProcessLimits& limits = plan->spec->limits;
  limit(plan, RLIMIT_CORE, 0, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadows take terabytes of addresses
  if (limits.address_space_bytes != 0)
    limit(plan, RLIMIT_AS, limits.address_space_bytes, limits.address_space_bytes);
#endif
  if (limits.cpu_seconds != 0) limit(plan, RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1);
  if (limits.processes != 0) limit(plan, RLIMIT_NPROC, limits.processes, limits.processes);
  if (limits.file_bytes != 0) limit(plan, RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes);
  if (limits.open_files != 0) limit(plan, RLIMIT_NOFILE, limits.open_files, limits.open_files);
  if (limits.stack_bytes != 0) limit(plan, RLIMIT_STACK, limits.stack_bytes, limits.stack_bytes);
}

void close_from(unsigned first) {
  if (::syscall(SYS_close_range, first, ~0U, 0U) == 0) return;
  for (int fd = static_cast<int>(first); fd < 65536; ++fd) ::close(fd);
}

void place_descriptors(Plan* plan) {
  for (auto& [source, target] : plan->fds) {
    const int spare = ::fcntl(source, F_DUPFD_CLOEXEC, kFirstSpareFd);
    if (spare < 0) fail(plan, "moving a descriptor");
    source = spare;
  }
  for (const auto& [source, target] : plan->fds)
    if (::dup2(source, target) < 0) fail(plan, "placing a descriptor");
  close_from(static_cast<unsigned>(plan->highest_target + 1));
  for (int fd = 0; fd <= plan->highest_target; ++fd) {
    const bool wanted = std::any_of(plan->fds.begin(), plan->fds.end(),
                                    [fd](const auto& pair) { return pair.second == fd; });
    if (!wanted) ::close(fd);
  }
}

void change_user(Plan* plan, std::uint32_t user) {
  // The bare system calls change this thread's identity only; glibc's would change the parent's.
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) fail(plan, "dropping the groups");
  if (::syscall(SYS_setresgid, user, user, user) != 0) fail(plan, "changing the group");
  if (::syscall(SYS_setresuid, user, user, user) != 0) fail(plan, "changing the user");
}

int child_main(void* argument) {
  auto* plan = static_cast<Plan*>(argument);
  const LaunchSpec& spec = *plan->spec;
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) HONE_SIGACTION(signal, &standard, nullptr);
  if (spec.background) {
    // A session of its own would be a scheduling group of its own (autogroup), against which ours would have to wait
    // its turn of some milliseconds. Within our group a task with a short slice gives way at once, and SCHED_IDLE,
    // which does too, would starve on a busy machine. Its own process group keeps Ctrl-C away from it.
    ::setpgid(0, 0);
    SchedulingAttributes wish{};
    wish.size = sizeof wish;
    wish.nice = 5;
    wish.runtime_ns = 100'000;
    ::syscall(SYS_sched_setattr, 0, &wish, 0);  // refused somewhere: then it competes as before
  } else if (spec.new_session) {
    ::setsid();
  }
  if (::chdir(spec.folder.empty() ? "/" : spec.folder.c_str()) != 0)
    fail(plan, "entering its folder");
  place_descriptors(plan);
  if (!spec.cpus.empty() && ::sched_setaffinity(0, sizeof plan->cpus, &plan->cpus) != 0)
    fail(plan, "pinning it to its processors");
  apply_limits(plan);
  if (spec.user) change_user(plan, *spec.user);
  // After the change of user, which clears it.
  if (spec.die_with_parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail(plan, "tying it to its parent");
    const auto parent = static_cast<pid_t>(::syscall(SYS_getppid));
    if (parent != plan->parent) fail(plan, "its parent ended", ESRCH);
  }
  if (spec.prepare != nullptr)
    if (const int error = spec.prepare(spec.context); error != 0)
      fail(plan, "locking it in", error);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(spec.program.c_str(), plan->argv.data(), plan->env.data());
  return fail(plan, "executing it");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

Plan make_plan(const LaunchSpec& spec) {
  Plan plan{};
  plan.spec = &spec;
  plan.argv = pointers(spec.argv);
  plan.env = pointers(spec.env);
  plan.fds = spec.fds;
  for (const auto& pair : spec.fds)
    plan.highest_target = std::max(plan.highest_target, pair.second);
  plan.parent = ::getpid();
  CPU_ZERO(&plan.cpus);
  for (const int cpu : spec.cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &plan.cpus);
  return plan;
}

}  // namespace

Result<Child> launch(const LaunchSpec& spec) {
  Plan plan = make_plan(spec);
  if (plan.highest_target >= kFirstSpareFd) return bug_error("too many descriptors to pass on");
  void* stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return system_error("no memory for a new process", errno);
#if defined(__SANITIZE_ADDRESS__)
  // The last child shared our memory and left its frames' marks where its stack lay, perhaps here.
  __asan_unpoison_memory_region(stack, kStackBytes);
#endif
  const int dumpable = spec.user ? ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) : 0;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  // CLONE_VM | CLONE_VFORK as posix_spawn does: no copy of the page tables of a large coordinator.
#if defined(__SANITIZE_THREAD__)
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  const int pid = HONE_CLONE(child_main, static_cast<char*>(stack) + kStackBytes,
                          CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
  const int clone_error = errno;
#if defined(__SANITIZE_THREAD__)
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
  // The child's change of user cleared this flag of the memory both shared.
  if (dumpable == 1) ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::munmap(stack, kStackBytes);
  if (pid < 0)
    return system_error(fmt::format("starting {} failed", spec.program), clone_error,
                        "The machine may be out of processes or memory.");
  Child child{pid, UniqueFd(pidfd)};
  if (plan.error == 0) return child;
  int status = 0;
  reap(child, -1, &status);
  return system_error(fmt::format("starting {} failed while {}", spec.program, plan.step),
                      plan.error);
}

bool reap(const Child& child, std::int64_t timeout_ns, int* wait_status) {
  const std::int64_t end = timeout_ns < 0 ? -1 : monotonic_ns() + timeout_ns;
  while (true) {
    pollfd item{child.pidfd.get(), POLLIN, 0};
    const std::int64_t rest = end < 0 ? -1 : std::max<std::int64_t>(0, end - monotonic_ns());
    const int ready =
        ::poll(&item, 1, rest < 0 ? -1 : static_cast<int>((rest + 999'999) / 1'000'000));
    if (ready == 0) return false;
    if (ready < 0 && errno == EINTR) continue;
    // ECHILD: somebody in this program waits for every child. It has ended all the same.
    if (::waitpid(child.pid, wait_status, 0) < 0 && errno == EINTR) continue;
    return true;
  }
}

}  // namespace hone::wire
