#include "wire/jailed_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "wire/jail_protocol.h"

namespace hone::wire {
namespace {

constexpr std::int64_t kFreezeLimit_ns = 1'000'000'000;

/// The state letter of one thread; 0 when it is gone. proc(5): "pid (name) S …", the name may hold
/// anything.
char thread_state(int tasks, const char* thread) {
  char path[64];
  std::snprintf(path, sizeof path, "%s/stat", thread);
  UniqueFd file(::openat(tasks, path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return 0;
  char text[256];
  const ssize_t got = ::read(file.get(), text, sizeof text - 1);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : 0;
}

struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

const char* signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? name : "?";
}

const char* likely_reason(int signal) {
  switch (signal) {
    case SIGSYS:
      return "forbidden system call";
    case SIGSEGV:
      return "invalid memory access";
    case SIGBUS:
      return "invalid memory access";
    case SIGILL:
      return "illegal instruction";
    case SIGFPE:
      return "arithmetic fault, e.g. integer division by zero";
    case SIGABRT:
      return "it aborted";
    case SIGKILL:
      return "killed from outside";
    case SIGXCPU:
      return "processor time used up";
    case SIGXFSZ:
      return "file size limit reached";
    default:
      return "";
  }
}

}  // namespace

std::string explain(const Exit& exit) {
  if (exit.out_of_memory) return "killed: it used more memory than allowed";
  if (exit.signal == 0) return fmt::format("exit code {}", exit.code);
  const char* reason = likely_reason(exit.signal);
  return fmt::format("killed by SIG{}{}{}", signal_name(exit.signal), *reason != '\0' ? ": " : "",
                     reason);
}

Result<int> host_pid_of(int pidfd) {
  std::array<char, 512> text{};
  UniqueFd file(::open(fmt::format("/proc/self/fdinfo/{}", pidfd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return system_error("reading /proc/self/fdinfo failed", errno, "Mount /proc.");
  if (::read(file.get(), text.data(), text.size() - 1) <= 0)
    return system_error("reading /proc/self/fdinfo failed", errno);
  const char* line = std::strstr(text.data(), "\nPid:");
  int pid = -1;
  if (line == nullptr || std::sscanf(line, "\nPid: %d", &pid) != 1)
    return environment_error("this kernel does not tell the pid behind a pidfd",
                             "Linux 5.4 or later is needed.");
  return pid;
}

Status JailedProcess::State::attach(UniqueFd process, UniqueFd status_pipe) {
  pidfd = std::move(process);
  status = std::move(status_pipe);
  HONE_TRY(host_pid, host_pid_of(pidfd.get()));
  if (host_pid <= 0) return {};  // it has ended already; wait() tells how
  tasks = UniqueFd(
      ::open(fmt::format("/proc/{}/task", host_pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  statm = UniqueFd(::open(fmt::format("/proc/{}/statm", host_pid).c_str(), O_RDONLY | O_CLOEXEC));
  // Only now is it sure that the two belong to it and not to a later process with the same number.
  pollfd item{pidfd.get(), POLLIN, 0};
  if (::poll(&item, 1, 0) != 0) {
    tasks.reset();
    statm.reset();
  }
  return {};
}

JailedProcess::State::Threads JailedProcess::State::look() const {
  if (!tasks.valid() || ::lseek(tasks.get(), 0, SEEK_SET) < 0) return Threads::gone;
  alignas(Entry) std::array<char, 8192> entries;
  bool any = false;
  while (true) {
    const long got = ::syscall(SYS_getdents64, tasks.get(), entries.data(), entries.size());
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries.data() + at);
      at += entry->length;
      if (entry->name[0] == '.') continue;
      const char state = thread_state(tasks.get(), entry->name);
      // A thread that ended (X, Z: the first one may, with others left) does nothing any more.
      if (state == 0 || state == 'X' || state == 'Z') continue;
      if (state != 'T') return Threads::running;
      any = true;
    }
  }
  return any ? Threads::stopped : Threads::gone;
}

void JailedProcess::State::signal(int number) const {
  if (pidfd.valid()) ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0);
}

JailedProcess::JailedProcess() = default;
JailedProcess::JailedProcess(JailedProcess&&) noexcept = default;
JailedProcess& JailedProcess::operator=(JailedProcess&& other) noexcept {
  if (this != &other) {
    kill();
    state_ = std::move(other.state_);
  }
  return *this;
}
JailedProcess::~JailedProcess() { kill(); }

int JailedProcess::pidfd() const { return state_ ? state_->pidfd.get() : -1; }
int JailedProcess::host_pid() const { return state_ ? state_->host_pid : -1; }

void JailedProcess::kill() {
  if (!state_ || state_->exit) return;
  state_->signal(SIGKILL);
  // A group of version 1 keeps even a killed process until it thaws.
  if (state_->freezer) [[maybe_unused]]
    const Status thawed = state_->freezer->thaw();
}

bool JailedProcess::frozen() const {
  if (!state_) return false;
  if (state_->freezer) return state_->freezer->frozen();
  return state_->look() == State::Threads::stopped;
}

Status JailedProcess::freeze() {
  if (!state_) return bug_error("no process to freeze");
  if (state_->freezer) return state_->freezer->freeze();
  state_->signal(SIGSTOP);
  const std::int64_t end = monotonic_ns() + kFreezeLimit_ns;
  for (int look = 0;; ++look) {
    switch (state_->look()) {
      case State::Threads::stopped:
        return {};
      case State::Threads::gone:
        return environment_error("the process has ended, it cannot be frozen");
      case State::Threads::running:
        break;
    }
    if (monotonic_ns() > end) return environment_error("the process did not stop within a second");
    // A look takes some 10 us and the second mostly finds it stopped. Yielding would give a whole
    // time slice to whoever else is ready, 4 ms on a busy machine; a short sleep gives the
    // processor to it.
    if (look < 5) continue;
    const timespec pause{0, 20'000};
    ::nanosleep(&pause, nullptr);
  }
}

Status JailedProcess::thaw() {
  if (!state_) return bug_error("no process to thaw");
  if (state_->freezer) {
    const bool stayed = state_->freezer->frozen();
    HONE_CHECK(state_->freezer->thaw());
    return stayed ? Status() : environment_error("the process did not stay frozen");
  }
  const State::Threads found = state_->look();
  state_->signal(SIGCONT);
  if (found == State::Threads::stopped) return {};
  return environment_error(found == State::Threads::gone
                               ? "the process has ended while it was frozen"
                               : "the process did not stay frozen");
}

Result<Exit> JailedProcess::wait(std::int64_t timeout_ns) {
  if (!state_) return bug_error("no process to wait for");
  if (state_->exit) return *state_->exit;
  const std::int64_t end = timeout_ns < 0 ? -1 : monotonic_ns() + timeout_ns;
  while (true) {
    pollfd item{state_->status.get(), POLLIN, 0};
    const std::int64_t rest = end < 0 ? -1 : std::max<std::int64_t>(0, end - monotonic_ns());
    const int ready =
        ::poll(&item, 1, rest < 0 ? -1 : static_cast<int>((rest + 999'999) / 1'000'000));
    if (ready == 0)
      return environment_error("the process has not ended in time").with("reason", "timeout");
    if (ready > 0) break;
    if (errno != EINTR) return system_error("waiting for a process failed", errno);
  }
  ExitRecord record{};
  if (::read(state_->status.get(), &record, sizeof record) != static_cast<ssize_t>(sizeof record))
    return environment_error("the jail itself has ended", "Start a new one.");
  state_->exit = Exit{record.code, record.signal, record.max_rss_bytes, record.cpu_ns,
                      record.out_of_memory != 0};
  return *state_->exit;
}

std::uint64_t JailedProcess::memory_bytes() const {
  if (!state_ || !state_->statm.valid()) return 0;
  std::array<char, 128> text{};
  if (::pread(state_->statm.get(), text.data(), text.size() - 1, 0) <= 0) return 0;
  unsigned long long total = 0, resident = 0;
  if (std::sscanf(text.data(), "%llu %llu", &total, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace hone::wire
