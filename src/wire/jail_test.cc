// The jail from outside: what hostile code inside it (jail_probe.cc) can and cannot do.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "wire/arena.h"
#include "wire/sandbox.h"

namespace hone::wire {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
const char* const kWorker = HONE_BINARY_DIR "/hone-worker";

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // the runtimes want terabytes of address space and catch signals
#else
constexpr bool kSanitized = false;
#endif

std::string mount_namespace() { return fs::read_symlink("/proc/self/ns/mnt").string(); }

JailSpec jail_spec() {
  JailSpec spec;
  spec.worker = kWorker;
  spec.scratch_bytes = 8 << 20;
  spec.shm_bytes = 4 << 20;
  return spec;
}

SpawnSpec probe(std::vector<std::string> words) {
  SpawnSpec spec;
  spec.argv = {"probe", mount_namespace()};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  if (kSanitized) {
    spec.env = {{"ASAN_OPTIONS", "detect_leaks=0:handle_segv=0"},
                {"TSAN_OPTIONS", "handle_segv=0"}};
  } else {
    spec.limits.address_space_bytes = 1ULL << 30;
  }
  spec.limits.processes = 32;
  return spec;
}

/// One jail for the tests that do not end it.
class JailTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto jail = Jail::start(jail_spec());
    ASSERT_TRUE(jail.ok()) << jail.error().text();
    jail_ = new Jail(std::move(*jail));
  }
  static void TearDownTestSuite() {
    delete jail_;
    jail_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(jail_, nullptr); }

  static JailedProcess spawn(const SpawnSpec& spec) {
    auto process = jail_->spawn(spec);
    EXPECT_TRUE(process.ok()) << process.error().text();
    return process.ok() ? std::move(*process) : JailedProcess();
  }

  struct Ended {
    Exit exit;
    std::string output;
  };
  /// Runs a probe to its end and keeps what it printed.
  static Ended run(SpawnSpec spec) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd read_end(ends[0]), write_end(ends[1]);
    spec.output_fd = write_end.get();
    JailedProcess process = spawn(spec);
    write_end.reset();
    Ended ended;
    char text[4096];
    for (ssize_t got; (got = ::read(read_end.get(), text, sizeof text)) > 0;)
      ended.output.append(text, static_cast<std::size_t>(got));
    auto exit = process.wait(10 * kSecond);
    EXPECT_TRUE(exit.ok()) << exit.error().text();
    if (exit.ok()) ended.exit = *exit;
    return ended;
  }
  static Json report(const SpawnSpec& spec) {
    const Ended ended = run(spec);
    EXPECT_EQ(ended.exit.code, 0) << explain(ended.exit) << ": " << ended.output;
    auto json = parse_json(ended.output, "the probe's report");
    EXPECT_TRUE(json.ok()) << ended.output;
    return json.ok() ? *json : Json::object();
  }

  static Jail* jail_;
};
Jail* JailTest::jail_ = nullptr;

TEST_F(JailTest, EveryEscapeFails) {
  const Json escapes =
      report(probe({"escapes", HONE_SOURCE_DIR, HONE_BINARY_DIR, "/tmp/hone-jail-0", "/run"}));
  EXPECT_GE(escapes.size(), 50U);
  for (const auto& [name, outcome] : escapes.items()) EXPECT_NE(outcome, "allowed") << name;
}

/// Our own code around device code: a GPU driver makes memory files and asks a local socket for a service.
TEST_F(JailTest, TheDeviceProfileAllowsWhatADriverNeedsAndNoMore) {
  SpawnSpec spec = probe({"escapes", HONE_SOURCE_DIR, HONE_BINARY_DIR, "/tmp/hone-jail-0", "/run"});
  spec.profile = Profile::device;
  const Json escapes = report(spec);
  EXPECT_GE(escapes.size(), 50U);
  EXPECT_EQ(escapes["memfd_create"], "allowed");
  const std::set<std::string> allowed = {"memfd_create", "socket unix"};
  for (const auto& [name, outcome] : escapes.items()) {
    if (allowed.contains(name)) continue;
    EXPECT_NE(outcome, "allowed") << name;
  }
}

TEST_F(JailTest, LockedDownCodeCannotWriteOrLookAround) {
  const Json refused = report(probe({"locked"}));
  EXPECT_GE(refused.size(), 10U);
  for (const auto& [name, outcome] : refused.items()) EXPECT_NE(outcome, "allowed") << name;
}

TEST_F(JailTest, LockedDownCodeDiesOfForbiddenCallsAndTheReasonIsTold) {
  for (const char* call : {"fork", "vfork", "exec", "system", "socket", "ptrace", "kill helper",
                           "memfd", "timer", "mount", "io_uring", "seccomp"}) {
    const Ended ended = run(probe({"locked", call}));
    EXPECT_EQ(ended.exit.signal, SIGSYS) << call << ": " << explain(ended.exit);
    EXPECT_EQ(explain(ended.exit), "killed by SIGSYS: forbidden system call");
  }
}

TEST_F(JailTest, SealedInputsCannotBeWrittenByAnyRoute) {
  auto arena = Arena::create(kPageBytes, "input");
  ASSERT_TRUE(arena.ok() && arena->seal_for_readers().ok());
  SpawnSpec spec = probe({"sealed"});
  spec.fds = {arena->fd()};
  const Json ways = report(spec);
  EXPECT_GE(ways.size(), 8U);
  for (const auto& [way, outcome] : ways.items())
    EXPECT_EQ(outcome == "allowed", way == "read-only map") << way << ": " << outcome;
  EXPECT_EQ(arena->bytes()[0], std::byte{0});
}

/// A shared object made from source, in a descriptor.
UniqueFd build(const std::string& source) {
  RunSpec spec;
  spec.argv = {"/usr/bin/g++", "-O1", "-fopenmp", "-shared", "-fPIC", "-o", "k.so", "k.cpp"};
  spec.files = {{"k.cpp", source}};
  spec.output_file = "k.so";
  auto output = run_jailed(spec);
  EXPECT_TRUE(output.ok() && output->code == 0)
      << (output.ok() ? output->err : output.error().text());
  UniqueFd file(::memfd_create("k.so", MFD_CLOEXEC));
  if (output.ok()) {
    const auto bytes = static_cast<ssize_t>(output->output.size());
    EXPECT_EQ(::write(file.get(), output->output.data(), output->output.size()), bytes);
  }
  return file;
}

TEST_F(JailTest, LockedDownCodeLoadsAndRunsThreads) {
  // 1 + 2 + … + 1000 = 500500; 500500 = 251 · 1994 + 6. Three threads, memory, exceptions and text
  // streams.
  const UniqueFd library = build(R"(
#include <omp.h>
#include <sstream>
#include <stdexcept>
#include <vector>
extern "C" int answer() {
  std::vector<int> seen(3);
  long sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum)
  for (int i = 1; i <= 1000; ++i) {
    seen[omp_get_thread_num()] = 1;
    sum += i;
  }
  std::vector<char> large(64 << 20, 1);
  try {
    std::ostringstream text;
    text << sum;
    if (seen[0] + seen[1] + seen[2] == 3 && large.back() == 1) throw std::runtime_error(text.str());
  } catch (const std::exception& error) {
    return std::stol(error.what()) % 251;
  }
  return 0;
})");
  for (const char* bind : {"false", "true"}) {
    SpawnSpec spec = probe({"load"});
    spec.fds = {library.get()};
    spec.env.emplace_back("OMP_PROC_BIND", bind);
    const Ended ended = run(spec);
    EXPECT_EQ(ended.exit.code, 6) << "OMP_PROC_BIND=" << bind << ": " << explain(ended.exit)
                                  << ended.output;
  }
}

TEST_F(JailTest, ForkBombIsBounded) {
  const Json bomb = report(probe({"fork-bomb"}));
  EXPECT_LT(bomb["started"].get<int>(), 32);
  EXPECT_GT(bomb["started"].get<int>(), 0) << "the bound must be the limit, not the filter";
  EXPECT_EQ(bomb["error"], "EAGAIN");
  // Its children wait for ever; the helper ends them with it, so the next one finds as much room.
  int again = 0;
  for (int i = 0; i < 100 && again < bomb["started"]; ++i)
    again = report(probe({"fork-bomb"}))["started"].get<int>();
#if defined(__SANITIZE_THREAD__)
  EXPECT_GE(again, bomb["started"].get<int>());  // the tool's own threads come and go
#else
  EXPECT_EQ(again, bomb["started"].get<int>());
#endif
}

TEST_F(JailTest, DisksAreBounded) {
  const Json filled = report(probe({"fill"}));
  EXPECT_LE(filled["/tmp"].get<std::uint64_t>(), 8U << 20);
  EXPECT_LE(filled["/dev/shm"].get<std::uint64_t>(), 4U << 20);
  EXPECT_EQ(filled["/dev"], 0);
}

TEST_F(JailTest, AddressSpaceIsBounded) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime cannot live with this limit";
  SpawnSpec spec = probe({"memory"});
  spec.limits.address_space_bytes = 256 << 20;
  EXPECT_LE(report(spec)["bytes"].get<std::uint64_t>(), 256U << 20);
}

TEST_F(JailTest, ResidentMemoryIsWatched) {
  SpawnSpec spec = probe({"memory"});
  spec.limits.address_space_bytes = 0;
  spec.memory_bytes = 96 << 20;
  const Exit exit = run(spec).exit;
  EXPECT_TRUE(exit.out_of_memory);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(explain(exit), "killed: it used more memory than allowed");
}

TEST_F(JailTest, ProcessorTimeIsBounded) {
  SpawnSpec spec = probe({"spin"});
  spec.limits.cpu_seconds = 1;
  const Exit exit = run(spec).exit;
  EXPECT_EQ(exit.signal, SIGXCPU);
  EXPECT_NEAR(static_cast<double>(exit.cpu_ns) * 1e-9, 1.0, 0.3);
}

TEST_F(JailTest, ExitsAreToldAsTheyWere) {
  EXPECT_EQ(run(probe({"exit", "7"})).exit.code, 7);
  EXPECT_EQ(run(probe({"exit", "0"})).exit.code, 0);
  EXPECT_EQ(run(probe({"abort"})).exit.signal, SIGABRT);
  const Exit crash = run(probe({"crash"})).exit;
  EXPECT_EQ(crash.signal, SIGSEGV);
  EXPECT_EQ(crash.code, -1);
  EXPECT_EQ(explain(crash), "killed by SIGSEGV: invalid memory access");
  EXPECT_GT(crash.max_rss_bytes, 100'000U);
}

TEST_F(JailTest, KilledFromOutsideIsAnExitToo) {
  JailedProcess process = spawn(probe({"hang"}));
  auto early = process.wait(20'000'000);
  ASSERT_FALSE(early.ok());
  EXPECT_TRUE(is_timeout(early.error()));
  EXPECT_GT(process.memory_bytes(), 100'000U);
  ASSERT_EQ(::kill(process.host_pid(), SIGKILL), 0);
  auto exit = process.wait(kSecond);
  ASSERT_TRUE(exit.ok());
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_EQ(process.wait(0)->signal, SIGKILL) << "asking again gives the same";
  EXPECT_FALSE(process.freeze().ok());
}

TEST_F(JailTest, DescriptorsArePlacedAndNothingElseIsInherited) {
  // The arena is 3 in the worker; the pipe of the output is 1 and 2. The probe refuses when 3 is
  // absent.
  UniqueFd stray(::open("/", O_RDONLY));  // inheritable on purpose
  SpawnSpec spec = probe({"sealed"});
  const Json ways = report(spec);
  EXPECT_EQ(ways["read-only map"], "EBADF");
}

TEST_F(JailTest, FreezeStopsEveryThreadAndThawContinues) {
  for (const char* kind : {"count", "count-locked"}) {
    auto arena = Arena::create(kPageBytes, "counters");
    ASSERT_TRUE(arena.ok() && arena->seal_size().ok());
    SpawnSpec spec = probe({kind, "3"});
    spec.fds = {arena->fd()};
    JailedProcess process = spawn(spec);
    auto* counters = reinterpret_cast<std::atomic<std::uint64_t>*>(arena->bytes().data());
    const auto all_count = [&] {
      const std::uint64_t before[3] = {counters[0], counters[1], counters[2]};
      const std::int64_t end = monotonic_ns() + 5 * kSecond;
      while (monotonic_ns() < end) {
        if (counters[0] != before[0] && counters[1] != before[1] && counters[2] != before[2])
          return true;
        ::usleep(1000);
      }
      return false;
    };
    ASSERT_TRUE(all_count()) << kind;
    for (int round = 0; round < 20; ++round) {
      ASSERT_TRUE(process.freeze().ok());
      const std::uint64_t before[3] = {counters[0], counters[1], counters[2]};
      EXPECT_TRUE(process.frozen());
      ::usleep(2000);
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(counters[i], before[i]) << "thread " << i << " ran while frozen";
      ASSERT_TRUE(process.thaw().ok());
      ASSERT_TRUE(all_count());
    }
    // A stop that somebody lifted is noticed.
    ASSERT_TRUE(process.freeze().ok());
    ASSERT_EQ(::kill(process.host_pid(), SIGCONT), 0);
    for (int i = 0; i < 1000 && process.frozen(); ++i) ::usleep(1000);
    EXPECT_FALSE(process.thaw().ok());
  }
}

TEST_F(JailTest, ManyThreadsSpawnAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 5; ++j) {
        auto process = jail_->spawn(probe({"exit", std::to_string(10 * i + j)}));
        if (!process.ok()) continue;
        auto exit = process->wait(10 * kSecond);
        right += exit.ok() && exit->code == 10 * i + j;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

TEST_F(JailTest, LayersSayWhatHolds) {
  const auto layers = jail_->layers();
  const auto has = [&](const std::string& start) {
    return std::any_of(layers.begin(), layers.end(),
                       [&](const std::string& layer) { return layer.starts_with(start); });
  };
  EXPECT_TRUE(has("user "));
  EXPECT_EQ(has("user not changed"), ::geteuid() != 0);
  EXPECT_TRUE(has("bubblewrap "));
  EXPECT_TRUE(has("seccomp"));
  // The worker's own user is what the layer says.
  JailedProcess process = spawn(probe({"hang"}));
  struct stat info {};
  ASSERT_EQ(::stat(fmt::format("/proc/{}", jail_->helper_host_pid()).c_str(), &info), 0);
  std::ifstream status(fmt::format("/proc/{}/status", process.host_pid()));
  std::stringstream text;
  text << status.rdbuf();
  EXPECT_NE(text.str().find("Seccomp:\t2"), std::string::npos);
  EXPECT_NE(text.str().find("NoNewPrivs:\t1"), std::string::npos);
  EXPECT_NE(text.str().find("CapBnd:\t0000000000000000"), std::string::npos);
  if (::geteuid() == 0) {
    EXPECT_EQ(text.str().find("Uid:\t0"), std::string::npos);
  }
}

TEST(Jail, HasAUserOfItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root changes the user";
  auto first = Jail::start(jail_spec());
  auto second = Jail::start(jail_spec());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->layers()[0], second->layers()[0]);
}

bool is_gone(int pid) {
  for (int i = 0; i < 3000; ++i) {
    std::ifstream stat(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(stat, text);
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos || text[name_end + 2] == 'Z' || text[name_end + 2] == 'X')
      return true;
    ::usleep(1000);
  }
  return false;
}

TEST(Jail, EndOfTheJailEndsItsProcesses) {
  auto jail = Jail::start(jail_spec());
  ASSERT_TRUE(jail.ok());
  auto process = jail->spawn(probe({"hang"}));
  ASSERT_TRUE(process.ok());
  const int pid = process->host_pid();
  ASSERT_GT(pid, 0);
  { const Jail ended = std::move(*jail); }
  EXPECT_TRUE(is_gone(pid));
  auto exit = process->wait(kSecond);
  EXPECT_FALSE(exit.ok()) << "the helper could not tell how it ended";
}

TEST(Jail, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<Jail> jail;
  std::thread([&] {
    auto started = Jail::start(jail_spec());
    ASSERT_TRUE(started.ok());
    jail = std::make_unique<Jail>(std::move(*started));
  }).join();
  ASSERT_NE(jail, nullptr);
  ::usleep(20'000);
  auto process = jail->spawn(probe({"exit", "5"}));
  ASSERT_TRUE(process.ok()) << process.error().text();
  EXPECT_EQ(process->wait(10 * kSecond)->code, 5);
}

TEST(Jail, KillOfTheCoordinatorLeavesNothingBehind) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pid_t coordinator = ::fork();
  if (coordinator == 0) {
    auto jail = Jail::start(jail_spec());
    int pids[3] = {-1, -1, -1};
    if (jail.ok()) {
      auto first = jail->spawn(probe({"hang"}));
      auto second = jail->spawn(probe({"spin"}));
      if (first.ok() && second.ok())
        pids[0] = first->host_pid(), pids[1] = second->host_pid(),
        pids[2] = jail->helper_host_pid();
      [[maybe_unused]] const ssize_t wrote = ::write(write_end.get(), pids, sizeof pids);
      ::pause();
    }
    ::_exit(1);
  }
  write_end.reset();
  int pids[3] = {-1, -1, -1};
  ASSERT_EQ(::read(read_end.get(), pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  ASSERT_EQ(::kill(coordinator, SIGKILL), 0);
  ::waitpid(coordinator, nullptr, 0);
  for (const int pid : pids) {
    ASSERT_GT(pid, 0);
    EXPECT_TRUE(is_gone(pid)) << pid;
  }
}

TEST(Jail, AnOrdinaryUserHasOneToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "the other tests show it";
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setgid(60'500) != 0 || ::setuid(60'500) != 0) ::_exit(10);
    auto jail = Jail::start(jail_spec());
    if (!jail.ok()) ::_exit(11);
    if (jail->layers()[0] != "user not changed") ::_exit(12);
    SpawnSpec spec = probe({"exit", "5"});
    auto process = jail->spawn(spec);
    if (!process.ok()) ::_exit(13);
    const auto exit = process->wait(10 * kSecond);
    if (!exit.ok() || exit->code != 5) ::_exit(14);
    auto frozen = jail->spawn(probe({"hang"}));
    if (!frozen.ok() || !frozen->freeze().ok() || !frozen->thaw().ok()) ::_exit(15);
    RunSpec run;
    run.argv = {"/usr/bin/true"};
    run.limits.processes = 8;
    auto output = run_jailed(run);
    ::_exit(output.ok() && output->code == 0 ? 0 : 16);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the step that failed";
}

TEST(Jail, ProbeRefusesToRunOutside) {
  const std::string command =
      fmt::format("{} probe '{}' exit 0 2>/dev/null", kWorker, mount_namespace());
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3);
}

TEST(Jail, WorkerBehindAClosedFolderIsCopied) {
  auto folder = TemporaryFolder::make("hone-closed");
  ASSERT_TRUE(folder.ok());
  fs::copy_file(kWorker, folder->path() / "hone-worker");
  ASSERT_EQ(::chmod(folder->path().c_str(), 0700), 0);
  JailSpec spec = jail_spec();
  spec.worker = folder->path() / "hone-worker";
  auto jail = Jail::start(spec);
  ASSERT_TRUE(jail.ok()) << jail.error().text();
  auto process = jail->spawn(probe({"exit", "4"}));
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->wait(10 * kSecond)->code, 4);
}

TEST(Jail, UnsafeHasLimitsAndFiltersAndSaysSo) {
  JailSpec spec = jail_spec();
  spec.unsafe = true;
  auto jail = Jail::start(spec);
  ASSERT_TRUE(jail.ok()) << jail.error().text();
  const auto layers = jail->layers();
  EXPECT_NE(std::find(layers.begin(), layers.end(), "no bubblewrap (unsafe)"), layers.end());
  auto process = jail->spawn(probe({"escapes"}));
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->wait(10 * kSecond)->code, 3) << "the probe sees that there is no jail";
}

TEST(Jail, MissingWorkerIsAnErrorThatNamesIt) {
  JailSpec spec = jail_spec();
  spec.worker = "/nowhere/hone-worker";
  auto jail = Jail::start(spec);
  ASSERT_FALSE(jail.ok());
  EXPECT_NE(jail.error().message.find("/nowhere/hone-worker"), std::string::npos);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Printed, not judged: a test that judges time fails on a busy machine.
TEST(Jail, HowLongThingsTake) {
  std::vector<double> starts, spawns, freezes;
  const auto ms_since = [](std::int64_t start) {
    return static_cast<double>(monotonic_ns() - start) * 1e-6;
  };
  for (int i = 0; i < 10; ++i) {
    const std::int64_t start = monotonic_ns();
    auto jail = Jail::start(jail_spec());
    starts.push_back(ms_since(start));
    ASSERT_TRUE(jail.ok());
  }
  auto jail = Jail::start(jail_spec());
  ASSERT_TRUE(jail.ok());
  for (int i = 0; i < 20; ++i) {
    const std::int64_t start = monotonic_ns();
    auto process = jail->spawn(probe({"hang"}));
    spawns.push_back(ms_since(start));
    ASSERT_TRUE(process.ok());
    ::usleep(5000);
    const std::int64_t freeze = monotonic_ns();
    ASSERT_TRUE(process->freeze().ok());
    freezes.push_back(ms_since(freeze));
  }
  std::printf("jail start %.1f ms, spawn %.2f ms, freeze %.3f ms (medians)\n", median(starts),
              median(spawns), median(freezes));
  EXPECT_EQ(spawns.size(), 20U);
}

}  // namespace
}  // namespace hone::wire
