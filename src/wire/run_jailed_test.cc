// Single runs in a jail of their own: compilers and sanitizer drivers.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "wire/sandbox.h"

namespace hone::wire {
namespace {

RunSpec shell(std::string script) {
  RunSpec spec;
  spec.argv = {"/bin/sh", "-c", std::move(script)};
  return spec;
}

RunOutput run(const RunSpec& spec) {
  auto output = run_jailed(spec);
  EXPECT_TRUE(output.ok()) << output.error().text();
  return output.ok() ? std::move(*output) : RunOutput();
}

TEST(RunJailed, GivesBackCodeAndStreams) {
  RunSpec spec = shell("cat; echo said >&2; exit 3");
  spec.stdin_bytes = "asked";
  const RunOutput output = run(spec);
  EXPECT_EQ(output.code, 3);
  EXPECT_EQ(output.signal, 0);
  EXPECT_EQ(output.out, "asked");
  EXPECT_EQ(output.err, "said\n");
  EXPECT_FALSE(output.timed_out || output.out_truncated || output.err_truncated);
  EXPECT_GT(output.wall_ms, 0);
}

TEST(RunJailed, SignalsAreTold) {
  EXPECT_EQ(run(shell("kill -SEGV $$")).signal, SIGSEGV);
  EXPECT_EQ(run(shell("kill -ABRT $$")).signal, SIGABRT);
  const RunOutput code = run(shell("exit 100"));
  EXPECT_EQ(code.code, 100);
  EXPECT_EQ(code.signal, 0);
}

TEST(RunJailed, FilesAreThereReadOnlyAndTheWorkFolderIsWritable) {
  RunSpec spec = shell(
      "cat note.txt /given/data; ./tool; echo x > note.txt; echo x > /given/data; echo fine > made "
      "&& cat made");
  spec.files = {{"note.txt", "one "}, {"/given/data", "two "}, {"tool", "#!/bin/sh\necho three\n"}};
  const RunOutput output = run(spec);
  EXPECT_EQ(output.out, "one two three\nfine\n");
}

TEST(RunJailed, CompilesAndGivesTheObjectBack) {
  RunSpec spec;
  spec.argv = {"/usr/bin/g++", "-O1", "-shared", "-fPIC", "-o", "k.so", "k.cpp"};
  spec.files = {{"k.cpp", "extern \"C\" int answer() { return 42; }\n"}};
  spec.output_file = "k.so";
  spec.limits.processes = 64;
  spec.limits.file_bytes = 64 << 20;
  spec.limits.address_space_bytes = 4ULL << 30;
  const RunOutput output = run(spec);
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_TRUE(output.output.starts_with("\177ELF"));
  spec.files["k.cpp"] = "int answer( { }\n";
  const RunOutput wrong = run(spec);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("error"), std::string::npos);
  EXPECT_TRUE(wrong.output.empty());
}

TEST(RunJailed, ACompilerCannotReadTheHost) {
  // Both ways were seen to work without a jail: the file in the object, or in the diagnostics.
  auto folder = TemporaryFolder::make("hone-secret");
  ASSERT_TRUE(folder.ok());
  const fs::path secret = folder->path() / "secret.h";
  ASSERT_TRUE(write_file(secret, "the secret\n").ok());
  ::chmod(folder->path().c_str(), 0755);
  ::chmod(secret.c_str(), 0644);
  for (const std::string& path : {secret.string(), std::string("/etc/passwd"),
                                  std::string(HONE_SOURCE_DIR "/CMakeLists.txt")}) {
    RunSpec spec;
    spec.argv = {"/usr/bin/g++", "-c", "-o", "k.o", "k.cpp"};
    for (const std::string& source : {fmt::format("asm(\".incbin \\\"{}\\\"\");\n", path),
                                      fmt::format("#include \"{}\"\n", path)}) {
      spec.files = {{"k.cpp", source}};
      const RunOutput output = run(spec);
      EXPECT_NE(output.code, 0) << source;
      EXPECT_EQ(output.err.find("the secret"), std::string::npos);
      EXPECT_EQ(output.err.find("root:"), std::string::npos);
    }
  }
}

TEST(RunJailed, ABareOneHasNoDevicesAndNoProc) {
  RunSpec spec = shell("echo /dev/* /proc/* /dev/null/*; echo lost > /dev/null && cat /dev/null && touch made && ls");
  spec.bare = true;
  const RunOutput output = run(spec);
  EXPECT_EQ(output.out, "/dev/null /proc/* /dev/null/*\nmade\n");  // a pattern that matches nothing stays as it is
  EXPECT_EQ(output.code, 0) << output.err;
}

TEST(RunJailed, TimeOutKillsEverything) {
  const std::string mark = fmt::format("86400.{}", entropy64() % 1'000'000'000);
  RunSpec spec = shell(fmt::format("setsid sleep {0} & sleep {0} & echo started; sleep {0}", mark));
  spec.limit_s = 0.3;
  const std::int64_t start = monotonic_ns();
  const RunOutput output = run(spec);
  EXPECT_TRUE(output.timed_out);
  EXPECT_EQ(output.signal, SIGKILL);
  EXPECT_EQ(output.out, "started\n");
  EXPECT_LT(monotonic_ns() - start, 5'000'000'000);
  const std::string search = fmt::format("pgrep -f 'sleep {}' > /dev/null", "[8]" + mark.substr(1));
  EXPECT_EQ(WEXITSTATUS(std::system(search.c_str())), 1) << "a sleeper was left behind";
}

TEST(RunJailed, OutputsAreCutAtTheirLimits) {
  RunSpec spec =
      shell("head -c 3000000 /dev/zero; head -c 200 /dev/zero >&2; head -c 5000 /dev/zero > big");
  spec.stdout_limit = 1000;
  spec.stderr_limit = 200;
  spec.output_limit = 4096;
  spec.output_file = "big";
  const RunOutput output = run(spec);
  EXPECT_EQ(output.code, 0);
  EXPECT_EQ(output.out.size(), 1000U);
  EXPECT_TRUE(output.out_truncated);
  EXPECT_EQ(output.err.size(), 200U);
  EXPECT_FALSE(output.err_truncated);
  EXPECT_EQ(output.output.size(), 4096U);
  EXPECT_TRUE(output.output_truncated);
}

TEST(RunJailed, EndlessOutputEndsAtTheTimeOut) {
  RunSpec spec = shell("yes");
  spec.limit_s = 0.3;
  spec.stdout_limit = 100;
  const RunOutput output = run(spec);
  EXPECT_TRUE(output.timed_out);
  EXPECT_EQ(output.out.size(), 100U);
}

TEST(RunJailed, LimitsHold) {
  RunSpec disk = shell("head -c 50000000 /dev/zero > big; wc -c < big");
  disk.scratch_bytes = 4 << 20;
  EXPECT_LE(std::stol(run(disk).out), 4 << 20);
  RunSpec file = shell("head -c 5000000 /dev/zero > big");
  file.limits.file_bytes = 1 << 20;
  EXPECT_NE(run(file).code, 0);
  RunSpec memory = shell("a=xxxxxxxxxxxxxxxx; while true; do a=$a$a; done");
  memory.memory_bytes = 64 << 20;
  EXPECT_TRUE(run(memory).out_of_memory);
  RunSpec processes = shell("for i in $(seq 60); do sleep 20 & done; echo all");
  processes.limits.processes = 20;
  processes.limit_s = 3;
  EXPECT_EQ(run(processes).out.find("all"), std::string::npos);
}

TEST(RunJailed, EnvironmentIsEmptyButForWhatWasGiven) {
  ::setenv("HONE_TEST_SECRET", "1", 1);
  RunSpec spec;
  spec.argv = {"/usr/bin/env"};
  spec.env = {{"OMP_NUM_THREADS", "2"}};
  const RunOutput output = run(spec);
  ::unsetenv("HONE_TEST_SECRET");
  EXPECT_EQ(output.out.find("SECRET"), std::string::npos);
  EXPECT_NE(output.out.find("OMP_NUM_THREADS=2\n"), std::string::npos);
  EXPECT_NE(output.out.find("PATH=/usr/bin:/bin\n"), std::string::npos);
}

TEST(RunJailed, NoDescriptorsAreInherited) {
  UniqueFd stray(::dup(1));  // inheritable on purpose
  const RunOutput output = run(shell("ls /proc/self/fd"));
  EXPECT_EQ(output.out, "0\n1\n2\n3\n") << "3 is the folder that ls reads";
}

TEST(RunJailed, AMissingProgramIsAnError) {
  RunSpec spec;
  spec.argv = {"/usr/bin/no-such-compiler"};
  auto output = run_jailed(spec);
  if (output.ok()) {
    EXPECT_NE(output->code, 0);
    EXPECT_NE(output->err.find("no-such-compiler"), std::string::npos);
  } else {
    EXPECT_NE(output.error().message.find("no-such-compiler"), std::string::npos);
  }
}

TEST(RunJailed, FromManyThreadsAtOnce) {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 4; ++j) {
        RunSpec spec = shell("cat");
        spec.stdin_bytes = fmt::format("{} {}", i, j);
        auto output = run_jailed(spec);
        right += output.ok() && output->code == 0 && output->out == spec.stdin_bytes;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 16);
}

TEST(RunJailed, UnsafeRunsWithoutWalls) {
  RunSpec spec = shell("cat note.txt; echo made > made");
  spec.files = {{"note.txt", "one"}};
  spec.output_file = "made";
  spec.unsafe = true;
  const RunOutput output = run(spec);
  EXPECT_EQ(output.out, "one");
  EXPECT_EQ(output.output, "made\n");
  RunSpec hang = shell("sleep 1000");
  hang.unsafe = true;
  hang.limit_s = 0.2;
  EXPECT_TRUE(run(hang).timed_out);
}

TEST(RunJailed, UnreachableFolderIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root runs the jail as another user";
  auto folder = TemporaryFolder::make("hone-closed");
  ASSERT_TRUE(folder.ok());
  ::chmod(folder->path().c_str(), 0700);
  RunSpec spec = shell("true");
  spec.read_only = {{folder->path(), "/given"}};
  auto output = run_jailed(spec);
  ASSERT_FALSE(output.ok());
  EXPECT_NE(output.error().message.find(folder->path().string()), std::string::npos);
}

TEST(Sandbox, ReportsThatItIsUsableAndWhatHolds) {
  const SandboxReport& report = probe_sandbox();
  EXPECT_TRUE(report.usable) << report.problem << " " << report.cure;
  EXPECT_GE(report.layers.size(), 5U);
  EXPECT_EQ(to_json(report)["usable"], true);
}

// Printed, not judged.
TEST(RunJailed, HowLongARunTakes) {
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) {
    RunSpec spec;
    spec.argv = {"/usr/bin/true"};
    const std::int64_t start = monotonic_ns();
    EXPECT_EQ(run(spec).code, 0);
    times.push_back(static_cast<double>(monotonic_ns() - start) * 1e-6);
  }
  std::sort(times.begin(), times.end());
  std::printf("run_jailed of true: %.1f ms (median)\n", times[10]);
}

}  // namespace
}  // namespace hone::wire
