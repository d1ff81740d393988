#include "wire/filter.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <string_view>
#include <memory>

#include "base/unique_fd.h"

namespace hone::wire {
namespace {

/// Stands for the pid of the process until set_self; above every pid the kernel gives (2^22).
constexpr std::uint32_t kSelfMark = 0x5e1f5e1fU;

constexpr std::uint64_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr std::uint64_t kOpenForWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

/// Collects rules; a name this libseccomp or kernel does not know is skipped, which is safe where
/// the default is to deny and unavoidable where it is to allow.
class Rules {
 public:
  explicit Rules(std::uint32_t otherwise) : context_(seccomp_init(otherwise), &seccomp_release) {
    if (!context_) {
      error_ = ENOMEM;
      return;
    }
    note(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    // A binary tree over the call numbers: tens of nanoseconds a call less than a list.
    note(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  }

  void all(std::uint32_t action, std::initializer_list<const char*> names) {
    for (const char* name : names) when(action, name, {});
  }

  void when(std::uint32_t action, const char* name,
            std::initializer_list<scmp_arg_cmp> conditions) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR || error_ != 0) return;
    const int result =
        seccomp_rule_add_array(context_.get(), action, number,
                               static_cast<unsigned>(conditions.size()), conditions.begin());
    if (result == -EACCES) return;  // the same as the default action
    note(result);
    if (error_ != 0 && where_ == nullptr) where_ = name;
  }

  Result<FilterProgram> program() {
    if (error_ != 0)
      return system_error(fmt::format("building a system-call filter failed{}{}",
                                      where_ ? " at " : "", where_ ? where_ : ""),
                          error_);
    // A pipe, since a worker that locks itself down may not make memory files. The longest program
    // the kernel takes, 32 KiB, fits in.
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return system_error("building a system-call filter failed", errno);
    UniqueFd read_end(ends[0]), write_end(ends[1]);
    if (const int result = seccomp_export_bpf(context_.get(), write_end.get()); result != 0)
      return system_error("building a system-call filter failed", -result);
    FilterProgram program(BPF_MAXINSNS);
    const ssize_t bytes =
        ::read(read_end.get(), program.data(), program.size() * sizeof(sock_filter));
    if (bytes <= 0) return system_error("building a system-call filter failed", errno);
    program.resize(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
    return program;
  }

 private:
  void note(int result) {
    if (result != 0 && error_ == 0) error_ = -result;
  }
  Context context_;
  int error_ = 0;
  const char* where_ = nullptr;
};

/// Doors into the kernel or into other processes that neither a compiler nor a kernel needs.
constexpr std::initializer_list<const char*> kForbidden = {
    // other processes' memory, descriptors, notes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "pidfd_getfd", "kcmp",
    // wide interfaces of the kernel
    "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "perf_event_open",
    "bpf", "io_setup", "io_submit", "add_key", "request_key", "keyctl", "lookup_dcookie",
    "fanotify_init", "name_to_handle_at", "open_by_handle_at", "quotactl", "quotactl_fd", "acct",
    "syslog", "modify_ldt", "uselib", "vhangup", "_sysctl", "nfsservctl", "remap_file_pages",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
    "swapon", "swapoff", "iopl", "ioperm", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex", "sethostname", "setdomainname",
    // mounts and namespaces
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
    "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "statmount",
    "listmount", "unshare", "setns",
    // memory that no limit on files or address space bounds, or that outlives its process
    "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "shmdt", "semget", "semop",
    "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
    "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
    // scheduling beyond its share
    "sched_setscheduler", "sched_setparam", "sched_setattr", "setpriority", "ioprio_set",
    "migrate_pages", "move_pages"};

/// What all have in common but `kernel`; the default is to allow. `device`: what a GPU driver needs stays allowed.
void add_base(Rules* rules, bool device = false) {
  const std::uint32_t deny = SCMP_ACT_ERRNO(EPERM);
  for (const std::string_view name : kForbidden)
    if (!device || name != "memfd_create") rules->when(deny, name.data(), {});
  if (device)
    rules->when(SCMP_ACT_ERRNO(EACCES), "socket", {SCMP_A0(SCMP_CMP_NE, AF_UNIX)});
  else
    rules->all(SCMP_ACT_ERRNO(EACCES), {"socket"});
  rules->when(deny, "socketpair", {SCMP_A0(SCMP_CMP_NE, AF_UNIX)});
  // Flags of clone3 and openat2 lie in memory, where no filter can look: glibc falls back.
  rules->all(SCMP_ACT_ERRNO(ENOSYS), {"clone3"});
  for (std::uint64_t bit = 1; bit <= kNewNamespaces; bit <<= 1)
    if ((kNewNamespaces & bit) != 0)
      rules->when(deny, "clone", {SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)});
  // Typing into the terminal Hone was started from.
  rules->when(deny, "ioctl", {SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, TIOCSTI)});
  rules->when(deny, "ioctl", {SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, TIOCLINUX)});
}

Result<FilterProgram> compile_tools() {
  Rules rules(SCMP_ACT_ALLOW);
  add_base(&rules);
  rules.all(SCMP_ACT_ERRNO(EPERM), {"sched_setaffinity"});
  return rules.program();
}

/// No signal to the helper or to another worker of the same user, and no limit of another process.
void add_no_signals(Rules* rules) {
  const std::uint32_t deny = SCMP_ACT_ERRNO(EPERM);
  // A thread id cannot be told from another process's, so tkill is out; glibc uses tgkill.
  for (const char* name : {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"})
    rules->when(deny, name, {SCMP_A0(SCMP_CMP_NE, kSelfMark)});
  rules->all(deny, {"tkill", "pidfd_send_signal"});
  // Signals by way of descriptors: F_SETSIG can carry any, to any process of the user.
  for (const unsigned command : {F_SETOWN, F_SETSIG, 15 /* F_SETOWN_EX */, F_SETLEASE, F_NOTIFY})
    rules->when(deny, "fcntl", {SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, command)});
  for (const unsigned request : {FIOSETOWN, SIOCSPGRP, FIOASYNC})
    rules->when(deny, "ioctl", {SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU, request)});
  rules->when(deny, "prlimit64", {SCMP_A0(SCMP_CMP_NE, 0), SCMP_A2(SCMP_CMP_NE, 0)});
}

Result<FilterProgram> compile_worker() {
  Rules rules(SCMP_ACT_ALLOW);
  add_base(&rules);
  add_no_signals(&rules);
  return rules.program();
}

Result<FilterProgram> compile_device() {
  Rules rules(SCMP_ACT_ALLOW);
  add_base(&rules, true);
  add_no_signals(&rules);
  return rules.program();
}

void add_allowed_memory_and_threads(Rules* rules) {
  const std::uint32_t allow = SCMP_ACT_ALLOW;
  rules->all(allow, {"brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "msync",
                     "mlock", "munlock", "pkey_alloc", "pkey_free", "pkey_mprotect", "membarrier",
                     "get_mempolicy"});
  rules->all(allow, {"futex",
                     "futex_waitv",
                     "futex_wake",
                     "futex_wait",
                     "set_robust_list",
                     "get_robust_list",
                     "rseq",
                     "set_tid_address",
                     "sched_yield",
                     "sched_getaffinity",
                     "sched_getparam",
                     "sched_getscheduler",
                     "sched_get_priority_max",
                     "sched_get_priority_min",
                     "getpriority",
                     "gettid",
                     "exit",
                     "exit_group",
                     "restart_syscall",
                     "arch_prctl",
                     "map_shadow_stack"});
  rules->when(allow, "clone",
              {SCMP_A0(SCMP_CMP_MASKED_EQ, kNewNamespaces | CLONE_THREAD, CLONE_THREAD)});
  // libgomp asks for it where threads are to be bound, and gives up when refused. Told yes, nothing
  // done: the processors are the jail's choice.
  rules->all(SCMP_ACT_ERRNO(0), {"sched_setaffinity"});
  for (const unsigned option :
       {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_SECCOMP, PR_CAPBSET_READ,
        PR_GET_NO_NEW_PRIVS, PR_GET_TSC, 0x53564d41 /* PR_SET_VMA */})
    rules->when(allow, "prctl", {SCMP_A0(SCMP_CMP_EQ, option)});
  rules->when(allow, "prlimit64", {SCMP_A2(SCMP_CMP_EQ, 0)});
}

void add_allowed_signals_and_time(Rules* rules) {
  const std::uint32_t allow = SCMP_ACT_ALLOW;
  // timer_create is not here: a timer that sends SIGCONT would end a freeze.
  rules->all(allow, {"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending",
                     "rt_sigtimedwait", "rt_sigsuspend", "sigaltstack", "pause"});
  for (const char* name : {"kill", "tgkill"})
    rules->when(allow, name, {SCMP_A0(SCMP_CMP_EQ, kSelfMark)});
  rules->all(
      allow,
      {"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
       "times",         "getrusage",    "getcpu",          "getpid",    "getppid",      "getuid",
       "geteuid",       "getgid",       "getegid",         "getpgrp",   "getpgid",      "getsid",
       "getresuid",     "getresgid",    "getgroups",       "getrlimit", "sysinfo",      "uname",
       "getrandom",     "getcwd",       "umask",           "capget"});
}

void add_allowed_descriptors(Rules* rules) {
  const std::uint32_t allow = SCMP_ACT_ALLOW;
  rules->all(allow,
             {"read",        "readv",       "pread64",  "preadv",     "preadv2",       "write",
              "writev",      "pwrite64",    "pwritev",  "pwritev2",   "lseek",         "close",
              "close_range", "dup",         "dup2",     "dup3",       "fstat",         "newfstatat",
              "stat",        "lstat",       "statx",    "fstatfs",    "statfs",        "access",
              "faccessat",   "faccessat2",  "readlink", "readlinkat", "getdents",      "getdents64",
              "fadvise64",   "readahead",   "pipe",     "pipe2",      "eventfd",       "eventfd2",
              "poll",        "ppoll",       "select",   "pselect6",   "epoll_create1", "epoll_ctl",
              "epoll_wait",  "epoll_pwait", "recvmsg",  "recvfrom",   "sendmsg",       "sendto",
              "shutdown",    "fsync",       "fdatasync"});
  rules->when(allow, "open", {SCMP_A1(SCMP_CMP_MASKED_EQ, kOpenForWriting, 0)});
  rules->when(allow, "openat", {SCMP_A2(SCMP_CMP_MASKED_EQ, kOpenForWriting, 0)});
  for (const unsigned command :
       {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GET_SEALS})
    rules->when(allow, "fcntl", {SCMP_A1(SCMP_CMP_EQ, command)});
  for (const unsigned request : {TCGETS, FIONREAD, TIOCGWINSZ})
    rules->when(allow, "ioctl", {SCMP_A1(SCMP_CMP_EQ, request)});
}

Result<FilterProgram> compile_kernel() {
  Rules rules(SCMP_ACT_ERRNO(EPERM));
  add_allowed_memory_and_threads(&rules);
  add_allowed_signals_and_time(&rules);
  add_allowed_descriptors(&rules);
  rules.all(SCMP_ACT_ERRNO(ENOSYS), {"clone3", "openat2"});
  // No honest kernel comes near these: the verdict should say so instead of "wrong answer".
  const std::uint32_t kill = SCMP_ACT_KILL_PROCESS;
  for (const char* name : kForbidden) rules.when(kill, name, {});
  rules.all(kill, {"fork",         "vfork",           "execve",
                   "execveat",     "socket",          "connect",
                   "bind",         "listen",          "accept",
                   "accept4",      "pidfd_open",      "pidfd_send_signal",
                   "tkill",        "rt_sigqueueinfo", "rt_tgsigqueueinfo",
                   "timer_create", "seccomp",         "setuid",
                   "setgid",       "setreuid",        "setregid",
                   "setresuid",    "setresgid",       "setgroups",
                   "setfsuid",     "setfsgid",        "capset"});
  rules.when(kill, "clone", {SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
  for (const char* name : {"kill", "tgkill"})
    rules.when(kill, name, {SCMP_A0(SCMP_CMP_NE, kSelfMark)});
  return rules.program();
}

}  // namespace

Result<FilterProgram> compile_filter(Filter filter) {
  switch (filter) {
    case Filter::tools:
      return compile_tools();
    case Filter::device:
      return compile_device();
    case Filter::worker:
      return compile_worker();
    case Filter::kernel:
      return compile_kernel();
  }
  return bug_error("no such filter");
}

void set_self(FilterProgram* program, pid_t self) {
  for (sock_filter& step : *program)
    if (step.code == (BPF_JMP | BPF_JEQ | BPF_K) && step.k == kSelfMark)
      step.k = static_cast<std::uint32_t>(self);
}

int load_filter(const FilterProgram& program) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  const sock_fprog code{static_cast<unsigned short>(program.size()),
                        const_cast<sock_filter*>(program.data())};
  // SPEC_ALLOW: before Linux 5.16 a filter also turned store-bypass speculation off, which slows
  // kernels.
  const unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &code);
  if (result < 0) return errno;
  return result == 0 ? 0 : EBUSY;  // the id of a thread that could not be brought along
}

}  // namespace hone::wire
