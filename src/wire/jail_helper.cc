// The trusted helper: process 1 of a jail. It forks workers on request, waits for them, says how
// they ended, and kills those that outgrow their memory. As process 1 it cannot be killed or
// stopped from inside, and its end, by whatever cause, ends every process of the jail.

#include "wire/jail_helper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/text.h"
#include "wire/filter.h"
#include "wire/jail_protocol.h"
#include "wire/launch.h"

namespace hone::wire {
namespace {

constexpr int kControlFd = 3;
constexpr int kMemoryPoll_ms = 20;

struct Worker {
  UniqueFd status;
  UniqueFd statm;  ///< open on /proc/PID/statm when memory is bounded
  std::uint64_t memory_bytes = 0;
  bool out_of_memory = false;
};

std::int64_t nanoseconds(const timeval& time) {
  return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1000;
}

/// Resident bytes; 0 when it cannot be told.
std::uint64_t resident_bytes(int statm) {
  char text[128];
  const ssize_t got = ::pread(statm, text, sizeof text - 1, 0);
  if (got <= 0) return 0;
  text[got] = '\0';
  unsigned long long total = 0, resident = 0;
  if (std::sscanf(text, "%llu %llu", &total, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

int load_worker_filter(void* context) {
  auto* program = static_cast<FilterProgram*>(context);
  set_self(program, static_cast<pid_t>(::syscall(SYS_getpid)));
  return load_filter(*program);
}

class Helper {
 public:
  int run() {
    if (!prepare()) return 1;
    while (true) {
      pollfd items[2] = {{kControlFd, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
      const int ready = ::poll(items, 2, any_bounded() ? kMemoryPoll_ms : -1);
      if (ready < 0 && errno != EINTR) return 1;
      if (items[1].revents != 0) reap_all();
      if (any_bounded()) enforce_memory();
      // A closed or broken connection is the end of the coordinator, and so of the jail.
      if (items[0].revents != 0 && !serve()) return 0;
    }
  }

 private:
  bool prepare() {
    ::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0,
            0);  // for a jail without walls, where it is not process 1
    sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, nullptr);
    signals_ = UniqueFd(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    null_ = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
    UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (!signals_.valid() || !null_.valid() || !self.valid()) return false;
    const int fd = self.get();
    return send_frame(kControlFd, {{"ready", true}}, {}, {&fd, 1}).ok();
  }

  /// The pid of the mark is overwritten, so each process gets a copy.
  Result<FilterProgram> filter(const std::string& name) {
    std::optional<FilterProgram>& program = name == "tools" ? tools_ : name == "device" ? device_ : worker_;
    if (!program) {
      HONE_TRY(program, compile_filter(name == "tools"    ? Filter::tools
                                       : name == "device" ? Filter::device
                                                          : Filter::worker));
    }
    return *program;
  }

  bool serve() {
    auto frame = receive_frame(kControlFd, kJailFrames, kJailAnswer_ns);
    if (!frame || !frame->has_value()) return false;
    auto child = start(std::move(**frame));
    if (!child) return send_frame(kControlFd, {{"error", child.error().message}}).ok();
    const int fd = child->pidfd.get();
    return send_frame(kControlFd, Json::object(), {}, {&fd, 1}).ok();
  }

  Result<Child> start(Frame request) {
    HONE_CHECK(check_schema(request.header, spawn_request_schema()));
    const Json& header = request.header;
    LaunchSpec spec;
    spec.program = "/proc/self/exe";
    spec.argv = header["argv"].get<std::vector<std::string>>();
    spec.env = header["env"].get<std::vector<std::string>>();
    spec.cpus = header["cpus"].get<std::vector<int>>();
    const auto limits = header["limits"].get<std::vector<std::uint64_t>>();
    const bool has_output = header["has_output"].get<bool>();
    const std::size_t first = has_output ? 2 : 1;
    if (limits.size() != 6 || request.fds.size() < first)
      return bug_error("malformed spawn request");
    spec.limits = {limits[0], limits[1], limits[2], limits[3], limits[4], limits[5]};
    const int output = has_output ? request.fds[1].get() : null_.get();
    spec.fds = {{null_.get(), 0}, {output, 1}, {output, 2}};
    for (std::size_t i = first; i < request.fds.size(); ++i)
      spec.fds.emplace_back(request.fds[i].get(), static_cast<int>(i - first) + 3);
    HONE_TRY(FilterProgram program, filter(header["filter"].get<std::string>()));
    spec.prepare = load_worker_filter;
    spec.context = &program;
    HONE_TRY(Child child, launch(spec));
    Worker worker;
    worker.status = std::move(request.fds[0]);
    worker.memory_bytes = header["memory_bytes"].get<std::uint64_t>();
    if (worker.memory_bytes != 0)
      worker.statm =
          UniqueFd(::open(fmt::format("/proc/{}/statm", child.pid).c_str(), O_RDONLY | O_CLOEXEC));
    workers_[child.pid] = std::move(worker);
    return child;
  }

  void reap_all() {
    signalfd_siginfo drop;
    while (::read(signals_.get(), &drop, sizeof drop) > 0) {
    }
    int status = 0;
    rusage usage{};
    // Orphans of workers end up here too; they are only reaped.
    for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
      const auto found = workers_.find(pid);
      if (found == workers_.end()) continue;
      ExitRecord record{};
      record.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      record.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      record.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
      record.cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
      record.out_of_memory = found->second.out_of_memory ? 1 : 0;
      // A pipe takes so few bytes whole; a reader that is gone does not matter.
      [[maybe_unused]] const ssize_t written =
          ::write(found->second.status.get(), &record, sizeof record);
      workers_.erase(found);
    }
    kill_orphans();
  }

  /// What a worker leaves behind becomes ours; nobody may outlive its worker. Each round frees the
  /// next generation; the limit on processes bounds how long that can go on.
  void kill_orphans() {
    UniqueFd list(::open(fmt::format("/proc/{0}/task/{0}/children", ::getpid()).c_str(),
                         O_RDONLY | O_CLOEXEC));
    std::array<char, 8192> text;
    const ssize_t got = list.valid() ? ::read(list.get(), text.data(), text.size()) : -1;
    if (got <= 0) return;
    std::string_view pids(text.data(), static_cast<std::size_t>(got));
    pids = pids.substr(0, pids.rfind(' ') + 1);  // never half a number
    for (const std::string_view word : words(pids)) {
      const auto pid = static_cast<pid_t>(std::strtol(std::string(word).c_str(), nullptr, 10));
      if (pid > 0 && workers_.find(pid) == workers_.end()) ::kill(pid, SIGKILL);
    }
  }

  bool any_bounded() const {
    for (const auto& [pid, worker] : workers_)
      if (worker.statm.valid() && !worker.out_of_memory) return true;
    return false;
  }

  void enforce_memory() {
    for (auto& [pid, worker] : workers_) {
      if (!worker.statm.valid() || worker.out_of_memory) continue;
      if (resident_bytes(worker.statm.get()) <= worker.memory_bytes) continue;
      worker.out_of_memory = true;
      ::kill(pid, SIGKILL);
    }
  }

  UniqueFd signals_, null_;
  std::optional<FilterProgram> tools_, device_, worker_;
  std::map<pid_t, Worker> workers_;
};

}  // namespace

int jail_main(int, char**) {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return Helper().run();
}

}  // namespace hone::wire
