#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "wire/cell.h"
#include "wire/jail_protocol.h"
#include "wire/jailed_process.h"
#include "wire/launch.h"
#include "wire/sandbox.h"

namespace hone::wire {
namespace {

/// "Die with the parent" means the parent's *thread*. A jail outlives the thread that asks for it,
/// so jails are launched from one thread that stays for the life of the program.
class Launcher {
 public:
  static Result<Child> launch_from_lasting_thread(const LaunchSpec& spec) {
    static std::mutex mutex;
    static Launcher* launcher = nullptr;  // never destroyed: its thread may outlive static objects
    Launcher* mine = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (launcher == nullptr || launcher->owner_ != ::getpid()) launcher = new Launcher;
      mine = launcher;
    }
    return mine->submit(spec);
  }

 private:
  Launcher() : owner_(::getpid()) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { serve(); }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  struct Order {
    const LaunchSpec* spec;
    std::optional<Result<Child>> answer;
  };

  Result<Child> submit(const LaunchSpec& spec) {
    Order order{&spec, std::nullopt};
    std::unique_lock<std::mutex> lock(mutex_);
    orders_.push_back(&order);
    ordered_.notify_one();
    answered_.wait(lock, [&order] { return order.answer.has_value(); });
    return std::move(*order.answer);
  }

  [[noreturn]] void serve() {
    while (true) {
      std::unique_lock<std::mutex> lock(mutex_);
      ordered_.wait(lock, [this] { return !orders_.empty(); });
      Order* const order = orders_.front();
      orders_.pop_front();
      lock.unlock();
      Result<Child> child = launch(*order->spec);
      lock.lock();
      order->answer = std::move(child);
      answered_.notify_all();
    }
  }

  pid_t owner_;
  std::mutex mutex_;
  std::condition_variable ordered_, answered_;
  std::deque<Order*> orders_;
};

std::string read_rest(int fd) {
  std::array<char, 4096> text;
  std::string all;
  pollfd item{fd, POLLIN, 0};
  while (all.size() < 65536 && ::poll(&item, 1, 200) > 0) {
    const ssize_t got = ::read(fd, text.data(), text.size());
    if (got <= 0) break;
    all.append(text.data(), static_cast<std::size_t>(got));
  }
  return all;
}

struct Pair {
  UniqueFd ours, theirs;
};

Result<Pair> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("making a pipe failed", errno);
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Pair> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("making a socket pair failed", errno);
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// The command line that becomes the helper, inside bubblewrap or, unsafe, as it is.
Result<LaunchSpec> helper_launch(const JailSpec& spec, std::optional<std::uint32_t> user) {
  fs::path worker = spec.worker;
  if (worker.empty()) {
    HONE_TRY(worker, worker_program());
  }
  LaunchSpec result;
  result.user = user;
  if (spec.unsafe) {
    HONE_TRY(result.program, reachable(worker, user.has_value()));
    result.argv = {"hone-worker", "jail"};
    return result;
  }
  Cell cell;
  cell.read_only = spec.read_only;
  cell.devices = spec.devices;
  cell.read_only.push_back({worker, kWorkerInJail});
  cell.scratch_bytes = spec.scratch_bytes;
  cell.shm_bytes = spec.shm_bytes;
  cell.other_user = user.has_value();
  HONE_TRY(result.argv, bubblewrap_arguments(cell));
  result.argv.insert(result.argv.end(), {kWorkerInJail, "jail"});
  result.program = bubblewrap().program;
  return result;
}

}  // namespace

struct Jail::State {
  Child outer;  ///< bubblewrap, or the helper itself when unsafe
  UniqueFd control;
  UniqueFd helper;  ///< pidfd of process 1
  int helper_host_pid = -1;
  std::optional<std::uint32_t> user;
  bool walled = true;
  std::mutex mutex;  ///< one request at a time on `control`

  /// One request and its answer. After an error the connection is ended: a late answer must not be
  /// taken for that of the next request.
  Result<std::optional<Frame>> ask(const Json& request, std::span<const int> fds) {
    const std::lock_guard<std::mutex> lock(mutex);
    const Status sent = send_frame(control.get(), request, {}, fds, kJailAnswer_ns);
    auto answer = sent.ok() ? receive_frame(control.get(), kJailFrames, kJailAnswer_ns)
                            : Result<std::optional<Frame>>(sent.error());
    if (!answer.ok()) ::shutdown(control.get(), SHUT_RDWR);
    return answer;
  }

  ~State() {
    control.reset();
    if (!outer.pidfd.valid()) return;
    ::syscall(SYS_pidfd_send_signal, outer.pidfd.get(), SIGKILL, nullptr, 0);
    int status = 0;
    reap(outer, -1, &status);
    // Process 1 is gone only when every other process of the jail is.
    pollfd item{helper.get(), POLLIN, 0};
    if (helper.valid()) ::poll(&item, 1, 2000);
  }
};

Jail::Jail(std::unique_ptr<State> state) : state_(std::move(state)) {}
Jail::Jail(Jail&&) noexcept = default;
Jail& Jail::operator=(Jail&&) noexcept = default;
Jail::~Jail() = default;

Result<Jail> Jail::start(const JailSpec& spec) {
  if (!spec.unsafe && bubblewrap().program.empty()) return no_sandbox("");
  auto state = std::make_unique<State>();
  state->user = unused_user();
  state->walled = !spec.unsafe;
  HONE_TRY(LaunchSpec command, helper_launch(spec, state->user));
  HONE_TRY(Pair control, make_socket_pair());
  HONE_TRY(Pair errors, make_pipe());
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  command.fds = {
      {null.get(), 0}, {null.get(), 1}, {errors.theirs.get(), 2}, {control.theirs.get(), 3}};
  HONE_TRY(state->outer, Launcher::launch_from_lasting_thread(command));
  control.theirs.reset();
  errors.theirs.reset();
  auto hello = receive_frame(control.ours.get(), kJailFrames, kJailAnswer_ns);
  if (!hello || !hello->has_value() || (*hello)->fds.size() != 1) {
    if (spec.unsafe)
      return environment_error("the helper of the jail did not start: " +
                               read_rest(errors.ours.get()));
    return no_sandbox(read_rest(errors.ours.get()));
  }
  state->helper = std::move((*hello)->fds[0]);
  state->control = std::move(control.ours);
  HONE_TRY(state->helper_host_pid, host_pid_of(state->helper.get()));
  return Jail(std::move(state));
}

Result<JailedProcess> Jail::spawn(const SpawnSpec& spec) {
  if (spec.argv.empty()) return bug_error("a worker needs a role");
  HONE_TRY(Pair status, make_pipe());
  std::vector<std::string> argv = {"hone-worker"}, env;
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  for (const auto& [key, value] : spec.env) env.push_back(key + "=" + value);
  const ProcessLimits& limits = spec.limits;
  const Json request = {{"argv", argv},
                        {"env", env},
                        {"limits",
                         {limits.address_space_bytes, limits.cpu_seconds, limits.processes,
                          limits.file_bytes, limits.open_files, limits.stack_bytes}},
                        {"memory_bytes", spec.memory_bytes},
                        {"cpus", spec.cpus},
                        {"filter", spec.profile == Profile::tools    ? "tools"
                                    : spec.profile == Profile::device ? "device"
                                                                      : "worker"},
                        {"has_output", spec.output_fd >= 0}};
  std::vector<int> fds = {status.theirs.get()};
  if (spec.output_fd >= 0) fds.push_back(spec.output_fd);
  fds.insert(fds.end(), spec.fds.begin(), spec.fds.end());
  if (fds.size() > kJailFrames.fds) return bug_error("too many descriptors for a worker");
  HONE_TRY(std::optional<Frame> answer, state_->ask(request, fds));
  if (!answer) return environment_error("the jail has ended", "Start a new one.");
  HONE_CHECK(check_schema(answer->header, spawn_answer_schema()));
  if (const auto error = answer->header.find("error"); error != answer->header.end())
    return environment_error("the jail could not start a worker: " + error->get<std::string>());
  if (answer->fds.size() != 1) return bug_error("a spawn answer without its process");
  JailedProcess process;  // from here on an error kills it
  process.state_ = std::make_unique<JailedProcess::State>();
  JailedProcess::State& state = *process.state_;
  HONE_CHECK(state.attach(std::move(answer->fds[0]), std::move(status.ours)));
  if (const auto group = delegated_group(); group && state.host_pid > 0) {
    HONE_TRY(state.freezer, Freezer::make(*group, state.host_pid));
  }
  return process;
}

std::vector<std::string> Jail::layers() const {
  return describe_layers(state_->user, state_->walled);
}
int Jail::helper_host_pid() const { return state_->helper_host_pid; }

}  // namespace hone::wire
