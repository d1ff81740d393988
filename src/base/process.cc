#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"

extern char** environ;

namespace hone {
namespace {

constexpr std::size_t kMaxStream = std::size_t{1} << 20;

std::vector<std::string> c_locale_environment() {
  std::vector<std::string> out;
  for (char** at = environ; *at != nullptr; ++at)
    if (std::strncmp(*at, "LC_", 3) != 0 && std::strncmp(*at, "LANG", 4) != 0) out.emplace_back(*at);
  out.emplace_back("LC_ALL=C");
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// Reads both streams to their ends; false when the time is up first.
bool drain(UniqueFd& out, UniqueFd& err, CommandOutput& output, std::int64_t deadline_ns) {
  pollfd polled[2] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
  std::string* const texts[2] = {&output.out, &output.err};
  int open = 2;
  while (open > 0) {
    const std::int64_t left_ms = (deadline_ns - monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return false;
    const int ready = ::poll(polled, 2, static_cast<int>(std::min<std::int64_t>(left_ms + 1, 1'000'000)));
    if (ready < 0 && errno != EINTR) return false;
    for (int i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || (polled[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      char buffer[16384];
      const ssize_t n = ::read(polled[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        if (texts[i]->size() < kMaxStream) texts[i]->append(buffer, static_cast<std::size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        polled[i].fd = -1;
        --open;
      }
    }
  }
  return true;
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& argv, double limit_s) {
  if (argv.empty()) return bug_error("run_command without a command");
  HONE_TRY(Pipe out, make_pipe());
  HONE_TRY(Pipe err, make_pipe());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  auto words = argv;
  auto environment = c_locale_environment();
  auto arguments = pointers(words), variables = pointers(environment);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return system_error("cannot start " + argv[0], failed, "Install it, or check PATH");
  out.write.reset();
  err.write.reset();
  CommandOutput output;
  const auto deadline = monotonic_ns() + static_cast<std::int64_t>(limit_s * 1e9);
  const bool finished = drain(out.read, err.read, output, deadline);
  if (!finished) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!finished) return environment_error(argv[0] + " did not answer within its time limit");
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

std::string find_program(const std::string& name) {
  const auto runnable = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) return runnable(name) ? name : "";
  const char* path = std::getenv("PATH");
  for (const auto folder : split(path ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    if (folder.empty()) continue;
    std::string full = std::string(folder) + "/" + name;
    if (runnable(full)) return full;
  }
  return "";
}

}  // namespace hone
