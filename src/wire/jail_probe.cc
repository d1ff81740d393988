// What hostile code would try, as a program: one line of a table for each escape, and a few faults
// by name. Tests start it in a jail and look at what came of it. Outside a jail it refuses: some of
// these, where they succeed, harm the machine.

#include "wire/jail_probe.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "wire/sandbox.h"

namespace hone::wire {
namespace {

/// 0 when it succeeded, else errno.
int outcome(long result) { return result < 0 ? errno : 0; }

int call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  return outcome(::syscall(number, a, b, c, d, e));
}

int open_path(const char* path, int flags) {
  const int fd = ::open(path, flags | O_CLOEXEC, 0600);
  const int error = outcome(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

int make_socket(int family) {
  const int fd = ::socket(family, family == AF_UNIX ? SOCK_STREAM : SOCK_DGRAM, 0);
  const int error = outcome(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

int connect_by_path() {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "/run/dbus/system_bus_socket");
  const int error = outcome(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
  ::close(fd);
  return error;
}

/// Any other process of the jail whose memory can be opened.
int open_memory_of_others() {
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return errno;
  int result = ENOENT;
  while (const dirent* entry = ::readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 0 || pid == ::getpid()) continue;
    result = open_path(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY);
    if (result == 0) break;
  }
  ::closedir(folder);
  return result;
}

int nested_user_namespace() { return outcome(::unshare(CLONE_NEWUSER)); }
int clone_with_namespace() {
  const long pid = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0L);
  if (pid == 0) ::_exit(0);
  if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return outcome(pid);
}
int signal_by_descriptor() {
  int ends[2];
  if (::pipe(ends) != 0) return errno;
  return outcome(::fcntl(ends[0], F_SETSIG, SIGCONT));
}
int raise_priority() { return outcome(::setpriority(PRIO_PROCESS, 0, -5)); }
int realtime() {
  const sched_param parameter{1};
  return outcome(::sched_setscheduler(0, SCHED_FIFO, &parameter));
}
int become_root() { return outcome(::setuid(0)); }
int system_v_memory() { return outcome(::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)); }
int raise_hard_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
  return outcome(::setrlimit(RLIMIT_NOFILE, &limit));
}
int read_argument(const char* path) { return open_path(path, O_RDONLY); }

struct Escape {
  const char* name;
  int (*attempt)();
};

// DESIGN.md §3 and the table of leaks of a plain bubblewrap line: each must give an error.
const Escape kEscapes[] = {
    {"socket inet", [] { return make_socket(AF_INET); }},
    {"socket inet6", [] { return make_socket(AF_INET6); }},
    {"socket unix", [] { return make_socket(AF_UNIX); }},
    {"socket netlink", [] { return make_socket(AF_NETLINK); }},
    {"socket packet", [] { return make_socket(AF_PACKET); }},
    {"socket vsock", [] { return make_socket(AF_VSOCK); }},
    {"socket alg", [] { return make_socket(AF_ALG); }},
    {"connect by path", connect_by_path},
    {"read /etc/shadow", [] { return open_path("/etc/shadow", O_RDONLY); }},
    {"read /etc/passwd", [] { return open_path("/etc/passwd", O_RDONLY); }},
    {"read /root", [] { return open_path("/root", O_RDONLY); }},
    {"read /home", [] { return open_path("/home", O_RDONLY); }},
    {"read kernel memory", [] { return open_path("/proc/kcore", O_RDONLY); }},
    {"write drop_caches", [] { return open_path("/proc/sys/vm/drop_caches", O_WRONLY); }},
    {"write outside its folders",
     [] { return open_path("/usr/hone-was-here", O_WRONLY | O_CREAT); }},
    {"write the root", [] { return open_path("/hone-was-here", O_WRONLY | O_CREAT); }},
    {"write /dev", [] { return open_path("/dev/hone-was-here", O_WRONLY | O_CREAT); }},
    {"write its program", [] { return open_path("/hone/hone-worker", O_WRONLY); }},
    {"open /dev/kvm", [] { return open_path("/dev/kvm", O_RDWR); }},
    {"memory of the helper", [] { return open_path("/proc/1/mem", O_RDONLY); }},
    {"environment of the helper", [] { return open_path("/proc/1/environ", O_RDONLY); }},
    {"descriptors of the helper", [] { return open_path("/proc/1/fd", O_RDONLY); }},
    {"memory of others", open_memory_of_others},
    {"kill the helper", [] { return outcome(::kill(1, SIGKILL)); }},
    {"stop the helper", [] { return outcome(::kill(1, SIGSTOP)); }},
    {"kill everybody", [] { return outcome(::kill(-1, SIGKILL)); }},
    {"kill by thread", [] { return call(SYS_tkill, 1, SIGKILL); }},
    {"signal by descriptor", signal_by_descriptor},
    {"ptrace the helper", [] { return outcome(::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr)); }},
    {"process_vm_readv", [] { return call(SYS_process_vm_readv, 1); }},
    {"pidfd_getfd", [] { return call(SYS_pidfd_getfd, 0, 0, 0); }},
    {"memfd_create", [] { return outcome(::memfd_create("x", 0)); }},
    {"io_uring", [] { return call(SYS_io_uring_setup, 1, 0); }},
    {"userfaultfd", [] { return call(SYS_userfaultfd, 0); }},
    {"perf_event_open", [] { return call(SYS_perf_event_open, 0, 0, -1, -1, 0); }},
    {"bpf", [] { return call(SYS_bpf, 0, 0, 0); }},
    {"keyctl", [] { return call(SYS_keyctl, 0, -3, 1); }},
    {"system V memory", system_v_memory},
    {"message queue",
     [] { return call(SYS_mq_open, reinterpret_cast<long>("x"), O_CREAT | O_RDWR, 0600, 0); }},
    {"mount", [] { return outcome(::mount("none", "/tmp", "tmpfs", 0, nullptr)); }},
    {"unmount", [] { return outcome(::umount2("/tmp", MNT_DETACH)); }},
    {"chroot", [] { return outcome(::chroot("/tmp")); }},
    {"nested user namespace", nested_user_namespace},
    {"clone into a namespace", clone_with_namespace},
    {"clone3", [] { return call(SYS_clone3, 0, 0); }},
    {"setns", [] { return outcome(::setns(0, 0)); }},
    {"kexec", [] { return call(SYS_kexec_load, 0, 0, 0, 0); }},
    {"raise priority", raise_priority},
    {"realtime", realtime},
    {"raise a hard limit", raise_hard_limit},
    {"become root", become_root},
};

/// The ways to write to an input that was sealed for readers; `fd` is its memfd.
Json write_sealed(int fd) {
  Json report = Json::object();
  const auto note = [&](const char* way, int error) {
    report[way] = error == 0 ? "allowed" : ::strerrorname_np(error);
  };
  const auto map = [](int file, int protection) {
    void* data = ::mmap(nullptr, 4096, protection, MAP_SHARED, file, 0);
    return data == MAP_FAILED ? nullptr : data;
  };
  void* reading = map(fd, PROT_READ);
  report["read-only map"] = reading != nullptr ? "allowed" : ::strerrorname_np(errno);
  if (reading != nullptr)
    note("mprotect", outcome(::mprotect(reading, 4096, PROT_READ | PROT_WRITE)));
  note("new writable map", map(fd, PROT_READ | PROT_WRITE) != nullptr ? 0 : errno);
  note("pwrite", outcome(::pwrite(fd, "x", 1, 0)));
  note("shrink", outcome(::ftruncate(fd, 0)));
  note("grow", outcome(::ftruncate(fd, 1 << 20)));
  note("punch a hole",
       outcome(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096)));
  note("another seal", outcome(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE)));
  const int again = ::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDWR);
  if (again >= 0) {
    note("write after reopening", outcome(::pwrite(again, "x", 1, 0)));
    note("map after reopening", map(again, PROT_READ | PROT_WRITE) != nullptr ? 0 : errno);
  }
  const int memory = ::open("/proc/self/mem", O_RDWR);
  if (memory >= 0 && reading != nullptr)
    note("/proc/self/mem",
         outcome(::pwrite(memory, "x", 1,
                          static_cast<off_t>(reinterpret_cast<std::uintptr_t>(reading)))));
  return report;
}

Json try_escapes(char** paths, int count) {
  Json report = Json::object();
  for (const Escape& escape : kEscapes) {
    const int error = escape.attempt();
    report[escape.name] = error == 0 ? "allowed" : ::strerrorname_np(error);
  }
  for (int i = 0; i < count; ++i) {
    const int error = read_argument(paths[i]);
    report[fmt::format("read {}", paths[i])] = error == 0 ? "allowed" : ::strerrorname_np(error);
  }
  return report;
}

/// How many processes could be started, at most 300; they end with this one.
Json fork_bomb() {
  int started = 0;
  int error = 0;
  while (started < 300) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    if (pid < 0) {
      error = errno;
      break;
    }
    ++started;
  }
  return {{"started", started}, {"error", error == 0 ? "none" : ::strerrorname_np(error)}};
}

/// Bytes that could be written to `folder`, at most 1 GiB, in files of 1 MiB.
std::uint64_t fill(const std::string& folder) {
  const std::string block(1 << 20, 'x');
  std::uint64_t total = 0;
  for (int file = 0; total < (1ULL << 30); ++file) {
    const int fd = ::open(fmt::format("{}/{}", folder, file).c_str(), O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return total;
    const ssize_t wrote = ::write(fd, block.data(), block.size());
    ::close(fd);
    if (wrote <= 0) return total;
    total += static_cast<std::uint64_t>(wrote);
  }
  return total;
}

/// Bytes that could be had and touched, at most 4 GiB.
std::uint64_t fill_memory() {
  constexpr std::size_t kStep = 16 << 20;
  std::uint64_t total = 0;
  while (total < (4ULL << 30)) {
    void* block =
        ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    std::memset(block, 1, kStep);
    total += kStep;
  }
  return total;
}

/// Loads the shared object behind descriptor 3 after lock_down and gives back what its `answer()`
/// says.
int load_and_call() {
  void* library = ::dlopen("/proc/self/fd/3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 90;
  }
  auto* answer = reinterpret_cast<int (*)()>(::dlsym(library, "answer"));
  return answer != nullptr ? answer() : 91;
}

/// Threads that count in the shared memory behind descriptor 3, for ever.
int count_for_ever(int threads) {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
  if (memory == MAP_FAILED) return 92;
  auto* counters = static_cast<std::atomic<std::uint64_t>*>(memory);
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i)
    others.emplace_back([counters, i] {
      while (true) counters[i].fetch_add(1);
    });
  while (true) counters[0].fetch_add(1);
}

int chatter() {
  const std::string block(1 << 16, 'y');
  while (::write(1, block.data(), block.size()) > 0) {
  }
  return 0;
}

struct Fatal {
  const char* name;
  void (*attempt)();
};

// After lock_down each of these is to end the process with SIGSYS.
const Fatal kFatal[] = {
    {"fork",
     [] {
       if (::fork() == 0) ::_exit(0);
     }},
    {"vfork", [] { call(SYS_vfork); }},
    {"exec",
     [] {
       char* const none[] = {nullptr};
       ::execve("/usr/bin/true", none, none);
     }},
    {"system", [] { [[maybe_unused]] const int code = std::system("true"); }},
    {"socket", [] { make_socket(AF_UNIX); }},
    {"ptrace", [] { ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"kill helper", [] { ::kill(1, SIGKILL); }},
    {"memfd", [] { ::memfd_create("x", 0); }},
    {"timer",
     [] {
       timer_t timer;
       ::timer_create(CLOCK_MONOTONIC, nullptr, &timer);
     }},
    {"mount", [] { ::mount("none", "/tmp", "tmpfs", 0, nullptr); }},
    {"io_uring", [] { call(SYS_io_uring_setup, 1, 0); }},
    {"seccomp", [] { call(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, 0); }},
};

// After lock_down these fail without ending the process.
const Escape kRefused[] = {
    {"write a file", [] { return open_path("/tmp/x", O_WRONLY | O_CREAT); }},
    {"write /dev/shm", [] { return open_path("/dev/shm/x", O_RDWR | O_CREAT); }},
    {"read its program", [] { return open_path("/hone/hone-worker", O_RDONLY); }},
    {"read another process", [] { return open_path("/proc/1/stat", O_RDONLY); }},
    {"remove a file", [] { return outcome(::unlink("/tmp/x")); }},
    {"make a folder", [] { return outcome(::mkdir("/tmp/y", 0700)); }},
    {"become dumpable", [] { return outcome(::prctl(PR_SET_DUMPABLE, 1)); }},
    {"signal by descriptor", signal_by_descriptor},
    {"interval timer",
     [] {
       const itimerval value{};
       return outcome(::setitimer(ITIMER_REAL, &value, nullptr));
     }},
    {"raise a limit", raise_hard_limit},
    {"truncate", [] { return outcome(::ftruncate(1, 0)); }},
    {"clone3", [] { return call(SYS_clone3, 0, 0); }},
};

bool in_a_jail(const char* host_namespace) {
  char mine[128] = {};
  if (::readlink("/proc/self/ns/mnt", mine, sizeof mine - 1) <= 0) return false;
  return std::strcmp(mine, host_namespace) != 0 && std::strncmp(host_namespace, "mnt:[", 5) == 0;
}

int print(const Json& report) {
  const std::string text = report.dump() + "\n";
  return ::write(1, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 93;
}

int lock_or_exit() {
  const Status status = lock_down(Profile::kernel);
  if (status) return 0;
  std::fprintf(stderr, "%s\n", status.error().text().c_str());
  std::exit(94);
}

int after_lock_down(const char* name) {
  lock_or_exit();
  for (const Fatal& fatal : kFatal)
    if (std::strcmp(fatal.name, name) == 0) {
      fatal.attempt();
      return 0;
    }
  Json report = Json::object();
  for (const Escape& refused : kRefused) {
    const int error = refused.attempt();
    report[refused.name] = error == 0 ? "allowed" : ::strerrorname_np(error);
  }
  return print(report);
}

int run(const std::string& what, int argc, char** argv) {
  const char* first = argc > 0 ? argv[0] : "";
  if (what == "escapes") return print(try_escapes(argv, argc));
  if (what == "locked") return after_lock_down(first);
  if (what == "sealed") return print(write_sealed(3));
  if (what == "fork-bomb") return print(fork_bomb());
  if (what == "fill")
    return print({{"/tmp", fill("/tmp")}, {"/dev/shm", fill("/dev/shm")}, {"/dev", fill("/dev")}});
  if (what == "memory") return print({{"bytes", fill_memory()}});
  if (what == "load") return lock_or_exit(), load_and_call();
  if (what == "count") return count_for_ever(std::atoi(first));
  if (what == "count-locked") return lock_or_exit(), count_for_ever(std::atoi(first));
  if (what == "chatter") return chatter();
  if (what == "exit") return std::atoi(first);
  if (what == "abort") std::abort();
  if (what == "crash") return ::raise(SIGSEGV);
  if (what == "spin")
    while (true) std::atomic_signal_fence(std::memory_order_seq_cst);
  if (what == "hang")
    while (true) ::pause();
  return 95;
}

}  // namespace

int probe_main(int argc, char** argv) {
  if (argc < 3 || !in_a_jail(argv[1])) {
    std::fputs("probe: refused, this is not a jail\n", stderr);
    return 3;
  }
  return run(argv[2], argc - 3, argv + 3);
}

}  // namespace hone::wire
