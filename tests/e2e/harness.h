#pragma once
// Runs the built `hone` as a user would: arguments in, exit code and both streams out. The test program is the reaper
// of whatever its children leave behind, so that a stray process is seen wherever it hangs in the tree.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "../json_schema.h"

namespace hone::e2e {

inline const fs::path kProgram = fs::path(HONE_BINARY_DIR) / "hone";

/// A folder of one test, with a `tmp` for what the program keeps while it runs.
class Folder {
 public:
  Folder() : folder_(make()) { fs::create_directory(temporary()); }

  fs::path path() const { return folder_.path(); }
  fs::path temporary() const { return path() / "tmp"; }
  std::string operator/(const std::string& name) const { return (path() / name).string(); }

  std::string write(const std::string& name, std::string_view text) const {
    fs::create_directories((path() / name).parent_path());
    const Status written = write_file(path() / name, text);
    EXPECT_TRUE(written.ok()) << written.error().text();
    return *this / name;
  }
  std::string read(const std::string& name) const {
    const auto text = read_file(path() / name);
    EXPECT_TRUE(text.ok()) << text.error().text();
    return text.ok() ? *text : "";
  }
  /// What the program left in its temporary folder.
  std::set<std::string> left_behind() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(temporary())) out.insert(entry.path().filename().string());
    return out;
  }

 private:
  static TemporaryFolder make() {
    auto folder = TemporaryFolder::make("hone-e2e-");
    if (!folder.ok()) {
      fmt::print(stderr, "{}\n", folder.error().text());
      std::abort();
    }
    return std::move(folder).value();
  }
  TemporaryFolder folder_;
};

/// Finished objects are shared by all tests of this program.
inline const fs::path& shared_cache() {
  static const Folder folder;
  static const fs::path path = folder.path() / "cache";
  return path;
}

struct Ran {
  int code = -1;  ///< exit status, or 128 + signal
  std::string out, err;
  double seconds = 0;

  std::string all() const { return fmt::format("exit {}\n--- out\n{}\n--- err\n{}", code, out, err); }
  Json json() const {
    const auto parsed = parse_json(out, "standard output");
    EXPECT_TRUE(parsed.ok()) << all();
    return parsed.ok() ? *parsed : Json::object();
  }
};

struct Call {
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  double limit_s = 120;
  std::function<void()> before = nullptr;  ///< in the child, before it becomes the program
};

/// One `hone` at work. Killed when it goes out of scope.
class Process {
 public:
  Process(const Folder& folder, const Call& call) : start_ns_(monotonic_ns()), limit_s_(call.limit_s) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    static int count = 0;
    out_ = folder.path() / fmt::format("stdout.{}", ++count);
    err_ = folder.path() / fmt::format("stderr.{}", count);
    std::map<std::string, std::string> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", folder.path()},
                                              {"TMPDIR", folder.temporary()}, {"HONE_CACHE", shared_cache()}, {"LC_ALL", "C"}};
    for (const auto& [key, value] : call.env) env[key] = value;
    std::vector<std::string> words = {kProgram.string()}, settings;
    words.insert(words.end(), call.args.begin(), call.args.end());
    for (const auto& [key, value] : env) settings.push_back(key + "=" + value);
    std::vector<char*> argv, envp;
    for (std::string& w : words) argv.push_back(w.data());
    for (std::string& s : settings) envp.push_back(s.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    const int none = ::open("/dev/null", O_RDONLY), out = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666),
              err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (none < 0 || out < 0 || err < 0 || ::dup2(none, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(99);
    if (::chdir(folder.path().c_str()) != 0) ::_exit(98);
    if (call.before) call.before();
    ::execve(kProgram.c_str(), argv.data(), envp.data());
    ::_exit(97);
  }
  Process(const Process&) = delete;
  ~Process() {
    if (pid_ > 0 && !done_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  pid_t pid() const { return pid_; }
  void signal(int number) const {
    if (!done_) ::kill(pid_, number);
  }
  bool ended() { return done_ || poll(); }
  std::string err_so_far() const {
    const auto text = read_file(err_);
    return text.ok() ? *text : "";
  }

  Ran wait() {
    while (!ended()) {
      if (static_cast<double>(monotonic_ns() - start_ns_) * 1e-9 > limit_s_) {
        ADD_FAILURE() << "hone did not end within " << limit_s_ << " s:\n" << err_so_far();
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, &status_, 0);
        done_ = true;
      }
      ::usleep(5000);
    }
    Ran ran;
    ran.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    ran.seconds = static_cast<double>(monotonic_ns() - start_ns_) * 1e-9;
    if (const auto text = read_file(out_); text.ok()) ran.out = *text;
    if (const auto text = read_file(err_); text.ok()) ran.err = *text;
    return ran;
  }

 private:
  bool poll() {
    if (::waitpid(pid_, &status_, WNOHANG) == pid_) done_ = true;
    return done_;
  }
  pid_t pid_ = -1;
  std::int64_t start_ns_;
  double limit_s_;
  fs::path out_, err_;
  int status_ = 0;
  bool done_ = false;
};

inline Ran hone(const Folder& folder, const Call& call) { return Process(folder, call).wait(); }
inline Ran hone(const Folder& folder, std::vector<std::string> args) { return hone(folder, Call{std::move(args), {}, 120, nullptr}); }

/// What bubblewrap leaves when it is killed in its first milliseconds: its child, which waits for ever to be let go on, and
/// has run nothing of ours (docs/sandbox.md). A jail that lives has processes below this one.
inline bool is_unborn_jail(const std::string& command, std::string_view pid) {
  const auto children = read_file(fmt::format("/proc/{0}/task/{0}/children", pid));
  return command.starts_with("bwrap ") && children.ok() && trim(*children).empty();
}

/// Processes that outlive every `hone` of this test: none may, within three seconds. Returns their names.
inline std::vector<std::string> strays() {
  std::vector<std::string> names;
  const std::string children = fmt::format("/proc/self/task/{}/children", ::gettid());
  for (int i = 0; i < 300; ++i) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    names.clear();
    const auto list = read_file(children);
    const std::string pids = list.ok() ? *list : "";
    for (const std::string_view word : words(pids)) {
      const auto command = read_file(fmt::format("/proc/{}/cmdline", word));
      std::string name = command.ok() ? *command : "?";
      for (char& c : name)
        if (c == '\0') c = ' ';
      if (i > 100 && is_unborn_jail(name, word)) {
        ::kill(static_cast<pid_t>(std::stol(std::string(word))), SIGKILL);
        continue;
      }
      names.push_back(name);
    }
    if (names.empty()) return names;
    ::usleep(10'000);
  }
  return names;
}

/// "" when the document holds to docs/schema/NAME.json.
inline std::string against_schema(const Json& document, const std::string& name) {
  return testing::JsonSchema(fs::path(HONE_SOURCE_DIR) / "docs" / "schema").check(document, name);
}

/// The running maximum, by looking at all that came before: quadratic, so that a sensible kernel is far faster and no
/// noise of a loaded machine hides it. The maximum is exact, so every right kernel is bitwise equal.
inline constexpr const char* kTask = R"([task]
name = "running_maximum"
about = "The largest element so far."
lanes = ["cpu"]
precision = "f32"
[dims]
N = "elements"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
values = { kind = "normal" }
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "reference.cpp" }
[limits]
threads = 1
call_s = 0.7
[[case]]
N = 1024
[[case]]
N = 7
time = false
[hidden]
draws = 1
N = [1, 1500]
)";
inline constexpr const char* kReference = R"(// hone:function running_maximum
extern "C" void running_maximum(const float* x, HONE_OUT* y, int N) {
  for (int i = 0; i < N; ++i) {
    HONE_REAL m = x[0];
    for (int j = 1; j <= i; ++j) m = m < HONE_REAL(x[j]) ? HONE_REAL(x[j]) : m;
    y[i] = m;
  }
}
)";
/// Right, some ten times as fast as the reference. BLOCK: how far back an element looks.
inline constexpr const char* kGood = R"(// hone:tune BLOCK = 32 64 16 8 128 4 2 256
// hone:tune STEP = 1 2 4
// hone:function running_maximum
extern "C" void running_maximum(const float* x, float* y, int N) {
  float before = x[0];
  for (int from = 0; from < N; from += BLOCK) {
    const int to = from + BLOCK < N ? from + BLOCK : N;
#pragma GCC unroll STEP
    for (int i = from; i < to; ++i) {
      float m = before;
      for (int j = from; j <= i; ++j) m = m < x[j] ? x[j] : m;
      y[i] = m;
    }
    before = y[to - 1];
  }
}
)";

inline void write_task(const Folder& folder, const std::string& task = kTask) {
  folder.write("task.toml", task);
  folder.write("reference.cpp", kReference);
  folder.write("candidates/good.cpp", kGood);
}

}  // namespace hone::e2e
