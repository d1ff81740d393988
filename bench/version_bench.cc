// Start-up: `hone --version` from spawn to exit, the median of 30.

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

extern char** environ;

int main() {
  std::vector<double> times_ms;
  for (int i = 0; i < 30; ++i) {
    char program[] = HONE_BINARY_DIR "/hone";
    char option[] = "--version";
    char* arguments[] = {program, option, nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    const auto start = std::chrono::steady_clock::now();
    pid_t child = 0;
    int status = -1;
    if (posix_spawn(&child, program, &actions, nullptr, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
      std::fprintf(stderr, "version_bench: %s --version failed\n", program);
      return 1;
    }
    times_ms.push_back(std::chrono::duration<double, std::milli>(
                           std::chrono::steady_clock::now() - start).count());
    posix_spawn_file_actions_destroy(&actions);
  }
  std::nth_element(times_ms.begin(), times_ms.begin() + 15, times_ms.end());
  std::printf("hone --version | %.1f ms | at most 20 ms | %s\n", times_ms[15],
              times_ms[15] < 20 ? "yes" : "no");
  return 0;
}
