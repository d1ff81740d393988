#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "lane/lane.h"
#include "wire/sandbox.h"

namespace hone::lane {
namespace {

using candidate::Build;
using candidate::Resolved;

/// A lane with a cache of its own.
class CpuLaneTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!wire::probe_sandbox().usable) GTEST_SKIP() << wire::probe_sandbox().problem;
    auto folder = TemporaryFolder::make("hone-lane-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    fs::permissions(folder_->path(), fs::perms(0755));  // the jail's user reads the precompiled headers in it
    lane_ = make();
  }

  std::unique_ptr<Lane> make(bool use_cache = true) {
    auto lane = make_cpu_lane({.compiler = "", .cache = folder_->path().string(), .use_cache = use_cache});
    EXPECT_TRUE(lane.ok()) << (lane.ok() ? "" : lane.error().text());
    return std::move(*lane);
  }

  static Resolved with(std::string source, std::vector<std::string> flags = {}) {
    Resolved resolved;
    resolved.source = std::move(source);
    resolved.flags = std::move(flags);
    return resolved;
  }

  Built built(const Resolved& resolved, Lane* lane = nullptr) {
    const auto outcome = (lane ? lane : lane_.get())->build(resolved, {});
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text());
    if (!outcome.ok()) return {};
    if (const auto* failure = std::get_if<candidate::Failure>(&*outcome)) {
      ADD_FAILURE() << failure->reason << ": " << failure->message << "\n" << failure->evidence.dump();
      return {};
    }
    return std::get<Built>(*outcome);
  }

  candidate::Failure failed(const Resolved& resolved, double limit_s = 30) {
    const auto outcome = lane_->build(resolved, {.limit_s = limit_s});
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text());
    if (!outcome.ok()) return {};
    EXPECT_TRUE(std::holds_alternative<candidate::Failure>(*outcome)) << "it built";
    return std::holds_alternative<candidate::Failure>(*outcome) ? std::get<candidate::Failure>(*outcome)
                                                                : candidate::Failure{};
  }

  std::optional<TemporaryFolder> folder_;
  std::unique_ptr<Lane> lane_;
};

/// Loads our own (trusted) test sources into this process. The descriptor stays open: dlopen takes an object of
/// the same path, and a reused number is the same path, for one it has already.
class Loaded {
 public:
  explicit Loaded(const Built& built) {
    const int fd = ::memfd_create("object", MFD_CLOEXEC);
    EXPECT_EQ(::write(fd, built.object.data(), built.object.size()), static_cast<ssize_t>(built.object.size()));
    handle_ = ::dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) ADD_FAILURE() << ::dlerror();
  }
  // Not closed: an OpenMP runtime cannot be unloaded.
  template <typename F>
  F* get(const char* name) const {
    void* symbol = handle_ ? ::dlsym(handle_, name) : nullptr;
    if (symbol == nullptr) throw std::runtime_error(std::string("no symbol ") + name);
    return reinterpret_cast<F*>(symbol);
  }

 private:
  void* handle_ = nullptr;
};

TEST_F(CpuLaneTest, AnObjectWithoutHeadersRuns) {
  const Built one = built(with("extern \"C\" int twice(int x) { return 2 * x; }"));
  const Loaded loaded(one);
  EXPECT_EQ(loaded.get<int(int)>("twice")(21), 42);
  EXPECT_FALSE(one.from_cache);
  EXPECT_FALSE(one.machine_code_hash.empty());
  for (const auto& word : one.command) EXPECT_NE(word, "-march=native") << "spelled out in the record";
}

// Mathematics, containers with exceptions, static objects with destructors and OpenMP each need another library.
TEST_F(CpuLaneTest, TheBareLinkFindsEveryRuntime) {
  Resolved resolved = with(R"(
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>
#include <omp.h>
static std::vector<int> kept(3, 5);
extern "C" float f(float x) { return expf(x); }
extern "C" int g(int n) {
  static std::string text(100, 'x');
  std::vector<int> v(n, 1);
  try { v.at(n); } catch (const std::out_of_range&) { return int(text.size()) + kept[2]; }
  return 0;
}
extern "C" int h() {
  int n = 0;
  #pragma omp parallel num_threads(2) reduction(+:n)
  n += 1;
  return n;
}
extern "C" __float128 q(__float128 x) { return x / 3; }
)");
  resolved.openmp = true;
  for (const char* compiler : {"g++", "clang++"}) {
    if (find_program(compiler).empty()) continue;
    resolved.compiler = compiler;
    const Loaded loaded(built(resolved));
    EXPECT_FLOAT_EQ(loaded.get<float(float)>("f")(1.0F), 2.7182818F) << compiler;
    EXPECT_EQ(loaded.get<int(int)>("g")(4), 105) << compiler;
    EXPECT_EQ(loaded.get<int()>("h")(), 2) << compiler;
    EXPECT_EQ(static_cast<double>(loaded.get<__float128(__float128)>("q")(6)), 2.0) << compiler;
  }
}

TEST_F(CpuLaneTest, OneThreadStillHonoursOmpSimdButStartsNoTeam) {
  const Loaded loaded(built(with(R"(
extern "C" int f() {
  int n = 0;
  #pragma omp parallel num_threads(4)
  n += 1;
  return n;
})")));
  EXPECT_EQ(loaded.get<int()>("f")(), 1);
}

TEST_F(CpuLaneTest, TheSecondBuildComesFromTheCacheAndADamagedEntryDoesNot) {
  const Resolved resolved = with("extern \"C\" int f() { return 7; }");
  const Built first = built(resolved);
  const Built second = built(resolved);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.object, second.object);
  EXPECT_EQ(first.machine_code_hash, second.machine_code_hash);
  EXPECT_EQ(first.command, second.command);
  for (const auto& entry : fs::recursive_directory_iterator(folder_->path() / "objects")) {
    if (!entry.is_regular_file()) continue;
    std::string bytes = read_file(entry.path()).value();
    bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
    ASSERT_TRUE(write_file(entry.path(), bytes).ok());
  }
  const Built third = built(resolved);
  EXPECT_FALSE(third.from_cache) << "one flipped bit is a miss";
  EXPECT_EQ(third.object, first.object) << "and the build is reproducible";
  EXPECT_TRUE(built(resolved).from_cache);
  EXPECT_FALSE(built(with(resolved.source, {"-O1"})).from_cache) << "other flags are another object";
}

TEST_F(CpuLaneTest, TheMachineCodeHashIgnoresNamesAndSeesConstants) {
  const auto hash = [this](const char* text) { return built(with(text)).machine_code_hash; };
  EXPECT_EQ(hash("extern \"C\" int f(int x) { return x * 3 + 1; }"), hash("extern \"C\" int g(int y) { return y * 3 + 1; } // g"));
  EXPECT_NE(hash("extern \"C\" int f(int x) { return x * 3 + 1; }"), hash("extern \"C\" int f(int x) { return x * 3 + 2; }"));
}

TEST_F(CpuLaneTest, AMistakeNamesItsLineAndNothingOfThisMachine) {
  const auto failure = failed(with("int f() {\n  return undeclared;\n}\n"));
  EXPECT_EQ(failure.gate, "static");
  EXPECT_EQ(failure.reason, "compile_error");
  EXPECT_NE(failure.message.find("candidate.cpp:2:"), std::string::npos) << failure.message;
  EXPECT_NE(failure.message.find("undeclared"), std::string::npos) << failure.message;
  EXPECT_NE(failure.evidence["log"].get<std::string>().find("return undeclared;"), std::string::npos);
  EXPECT_EQ(failure.evidence.dump().find(folder_->path().string()), std::string::npos);
}

// The linker is given few libraries first; what a source without headers calls all the same must come from the rest,
// and be named in the object, not found by chance in the program that loads it.
TEST_F(CpuLaneTest, WithoutHeadersALibraryIsLinkedWhereOneIsCalled) {
  const struct {
    const char* source;
    const char* needs;
  } rows[] = {
      {"extern \"C\" int f(int x) { return x + 1; }", ""},
      {"extern \"C\" double exp(double); extern \"C\" int f(int x) { volatile double zero = 0; return x + int(exp(zero)); }",
       "libm.so.6"},
      {"extern \"C\" int f(int x) { int* volatile p = new int(x); int y = *p; delete p; return y + 1; }", "libstdc++.so.6"}};
  for (const auto& row : rows) {
    const Built one = built(with(row.source));
    for (const char* library : {"libm.so.6", "libstdc++.so.6"})
      EXPECT_EQ(one.object.find(library) != std::string::npos, std::string(library) == row.needs) << library << "\n" << row.source;
    EXPECT_EQ(Loaded(one).get<int(int)>("f")(41), 42) << row.source;
  }
}

TEST_F(CpuLaneTest, AMissingFunctionIsFoundAtTheLinkNotAtTheLoad) {
  const auto failure = failed(with("extern \"C\" int absent(int); extern \"C\" int f() { return absent(1); }"));
  EXPECT_EQ(failure.reason, "link_error");
  EXPECT_NE(failure.message.find("absent"), std::string::npos) << failure.message;
}

TEST_F(CpuLaneTest, FlagsAndCompilersOutsideTheListAreTheCandidatesFailure) {
  EXPECT_EQ(failed(with("int x;", {"-fplugin=/tmp/x.so"})).reason, "flag_refused");
  Resolved resolved = with("int x;");
  resolved.compiler = "/bin/sh";
  EXPECT_EQ(failed(resolved).reason, "compiler_refused");
  resolved.compiler = "g++-99";
  const auto outcome = lane_->build(resolved, {});
  ASSERT_FALSE(outcome.ok()) << "a compiler this machine lacks is the machine's matter";
  EXPECT_EQ(outcome.error().code, ErrorCode::environment);
  EXPECT_FALSE(outcome.error().cure.empty());
}

// ---- sources that attack the compiler; each is compiled in the jail and none is ever loaded.

TEST_F(CpuLaneTest, FilesOfTheHostCannotBeRead) {
  const std::string marker = folder_->path().string() + "/answer";
  ASSERT_TRUE(write_file(marker, "the true values\n").ok());
  for (const std::string& path : {std::string("/etc/shadow"), marker, std::string("../../../../../..") + marker, std::string("/root/.profile"),
                                  std::string(HONE_SOURCE_DIR) + "/CMakeLists.txt"}) {
    const auto embedded = failed(with("asm(\".incbin \\\"" + path + "\\\"\"); extern \"C\" int f() { return 1; }"));
    EXPECT_EQ(embedded.reason, "compile_error") << path;
    EXPECT_NE(embedded.message.find(path), std::string::npos) << embedded.message;
    const auto included = failed(with("#include \"" + path + "\"\nint x;\n"));
    EXPECT_EQ(included.reason, "compile_error") << path;
    EXPECT_NE(included.message.find("the toolchain's own headers alone"), std::string::npos) << included.message;
    EXPECT_EQ(included.evidence.dump().find("the true values"), std::string::npos);
    // A probe learns nothing either: the path is not there.
    built(with("#if __has_include(\"" + path + "\")\n#error seen\n#endif\nextern \"C\" int f() { return 1; }"));
  }
}

// What can be read without end, or waits for a writer that never comes, would cost the whole time limit. An include may
// also be computed, so no reading of the source finds them all: they are not there.
TEST_F(CpuLaneTest, NothingEndlessCanBeRead) {
  const auto before = monotonic_ns();
  int tried = 0;
  const auto fails = [&](const char* compiler, const std::string& text) {
    Resolved resolved = with(text);
    resolved.compiler = compiler;
    EXPECT_EQ(failed(resolved).reason, "compile_error") << compiler << "\n" << text;
    ++tried;
  };
  for (const char* compiler : {"g++", "clang++"})
    for (const char* path : {"/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/tty", "/dev/stdin", "/dev/fd/2",
                             "/proc/self/fd/2", "/proc/self/pagemap", "/proc/self/mem", "/dev", "/tmp/work", "../../dev/zero"}) {
      const std::string name = fmt::format("\"{}\"", path);
      fails(compiler, "#include " + name + "\n");
      fails(compiler, "#define WHAT " + name + "\n#include WHAT\n");
      fails(compiler, fmt::format("asm(\".incbin \\\"{}\\\"\");\n", path));
    }
  // Each is a build of its own, some 50 ms; a single one that waits takes 30 s.
  EXPECT_LT(monotonic_ns() - before, 28'000'000'000) << tried;
  // Asking whether such a file is there takes no time and gives no answer.
  built(with("#if __has_include(\"/dev/zero\") || __has_include(\"/proc/self/maps\")\n#error seen\n#endif\n"
             "extern \"C\" int f() { return 1; }"));
}

TEST_F(CpuLaneTest, BombsEndWithAWord) {
  const auto before = monotonic_ns();
  EXPECT_EQ(failed(with("constexpr unsigned long f() { unsigned long n = 0; for (unsigned long i = 0; i < ~0ul; ++i) n += i; return n; }\n"
                        "constexpr unsigned long v = f();\nextern \"C\" unsigned long g() { return v; }"))
                .reason,
            "compile_error");
  EXPECT_EQ(failed(with("#include __FILE__\n")).reason, "compile_error");
  const auto large = failed(with("extern \"C\" { char big[8ull << 30] = {1}; }"));
  EXPECT_TRUE(large.reason == "compile_limits" || large.reason == "compile_timeout") << large.reason << ": " << large.message;
  EXPECT_LT(monotonic_ns() - before, 90'000'000'000);
}

TEST_F(CpuLaneTest, ACompilerThatHangsIsKilled) {
  // Each level instantiates the one below twice with distinct types: 2^40 of them.
  const auto before = monotonic_ns();
  const auto failure = failed(with("template <int N, long K> struct T { static constexpr long v = T<N - 1, 2 * K>::v + T<N - 1, 2 * K + 1>::v; };\n"
                                   "template <long K> struct T<0, K> { static constexpr long v = K; };\n"
                                   "extern \"C\" long f() { return T<40, 0>::v; }\n"),
                              1.0);
  EXPECT_EQ(failure.reason, "compile_timeout") << failure.message;
  EXPECT_LT(monotonic_ns() - before, 10'000'000'000);
}

TEST_F(CpuLaneTest, WhatACompilerPrintsCannotDriveATerminal) {
  const auto failure = failed(with("#error \x1b]0;owned\x07 \x1b[2J\n"));
  EXPECT_EQ(failure.message.find('\x1b'), std::string::npos);
  EXPECT_EQ(failure.evidence.dump().find("\\u001b"), std::string::npos);
}

TEST_F(CpuLaneTest, TwoBuildsGoAtOnce) {
  std::vector<std::thread> threads;
  std::string objects[4];
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      objects[t] = built(with("extern \"C\" int f() { return " + std::to_string(t) + "; }")).object;
    });
  for (auto& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    Built one;
    one.object = objects[t];
    EXPECT_EQ(Loaded(one).get<int()>("f")(), t);
  }
}

TEST_F(CpuLaneTest, ThePrecompiledHeaderGivesTheSameMachineCode) {
  const auto source = [](int tag) {
    return "#include <cmath>\nextern \"C\" float f(float x) { return std::sqrt(x) + " +
           std::to_string(tag) + "; }";
  };
  for (const char* compiler : {"g++", "clang++"}) {
    if (find_program(compiler).empty()) continue;
    Resolved resolved = with(source(0));
    resolved.compiler = compiler;
    const Built plain = built(resolved);
    for (int tag = 1; tag < 4; ++tag) {
      Resolved other = with(source(tag));
      other.compiler = compiler;
      built(other);
    }
    bool made = false;
    for (const auto& entry : fs::recursive_directory_iterator(folder_->path()))
      made = made || entry.path().filename() == (std::string(compiler) == "g++" ? "prelude.h.gch" : "prelude.pch");
    EXPECT_TRUE(made) << compiler;
    auto uncached = make(false);
    EXPECT_EQ(built(resolved, uncached.get()).machine_code_hash, plain.machine_code_hash) << compiler;
  }
}

// ---- references

/// hone_entry-less sources: what HONE_REAL, HONE_MUL and HONE_OUT mean, seen by running them.
Resolved reference(Build build, task::Precision precision, task::DType stored, std::string source) {
  Resolved resolved;
  resolved.source = std::move(source);
  resolved.build = build;
  resolved.precision = precision;
  resolved.outputs = {{"y", stored}};
  return resolved;
}

constexpr const char* kSizes = "extern \"C\" int real() { return sizeof(HONE_REAL); }\nextern \"C\" int out() { return sizeof(HONE_OUT) * 100 + sizeof(HONE_OUT_y); }";

TEST_F(CpuLaneTest, TheArithmeticOfEachBuild) {
  using task::DType;
  using task::Precision;
  struct Row {
    Build build;
    Precision precision;
    DType stored;
    int real, out;
  };
  // DESIGN.md §5: the oracle one type wider than the class; t and r store what they compute, the baseline its dtype.
  const Row rows[] = {{Build::oracle, Precision::f32, DType::f32, 8, 808},   {Build::rounded, Precision::f32, DType::f32, 4, 404},
                      {Build::baseline, Precision::f32, DType::f32, 4, 404}, {Build::oracle, Precision::f64, DType::f64, 16, 1616},
                      {Build::rounded, Precision::f64, DType::f64, 8, 808},  {Build::baseline, Precision::f64, DType::f64, 8, 808},
                      {Build::oracle, Precision::bf16, DType::bf16, 8, 808}, {Build::rounded, Precision::bf16, DType::bf16, 4, 404},
                      {Build::baseline, Precision::bf16, DType::bf16, 4, 202}, {Build::baseline, Precision::f16, DType::f16, 4, 202},
                      {Build::candidate, Precision::f16, DType::f16, 4, 202}};
  for (const Row& row : rows) {
    const Loaded loaded(built(reference(row.build, row.precision, row.stored, kSizes)));
    EXPECT_EQ(loaded.get<int()>("real")(), row.real) << int(row.build) << " " << task::name_of(row.precision);
    EXPECT_EQ(loaded.get<int()>("out")(), row.out) << int(row.build) << " " << task::name_of(row.precision);
  }
}

TEST_F(CpuLaneTest, OutputsOfSeveralTypesAreNamed) {
  Resolved resolved = reference(Build::baseline, task::Precision::f32, task::DType::f32,
                                "extern \"C\" int f() { return sizeof(HONE_OUT_y) * 100 + sizeof(HONE_OUT_h) * 10 + sizeof(HONE_OUT_i); }");
  resolved.outputs = {{"y", task::DType::f32}, {"h", task::DType::bf16}, {"i", task::DType::i64}};
  EXPECT_EQ(Loaded(built(resolved)).get<int()>("f")(), 428);
  resolved.source = "HONE_OUT x;";
  EXPECT_NE(failed(resolved).message.find("HONE_OUT_name"), std::string::npos);
}

TEST_F(CpuLaneTest, MultiplicandsAreRoundedToTheClass) {
  const auto product = [this](Build build, task::Precision precision) {
    const Built one = built(reference(build, precision, task::DType::f32, "extern \"C\" double f(float a, float b) { return (double)HONE_MUL(a, b); }"));
    return Loaded(one).get<double(float, float)>("f");
  };
  using task::Precision;
  // 1 + 2^-k times 1: kept where the class has k bits after the point, else rounded to even, that is to 1.
  struct Row {
    Precision precision;
    int bits;
  };
  for (const Row row : {Row{Precision::tf32, 10}, Row{Precision::f16, 10}, Row{Precision::bf16, 7}, Row{Precision::fp8, 3}, Row{Precision::f32, 23}}) {
    auto* f = product(Build::rounded, row.precision);
    const float last = 1.0F + std::ldexp(1.0F, -row.bits), below = 1.0F + std::ldexp(1.0F, -row.bits - 1);
    EXPECT_EQ(f(last, 1.0F), last) << task::name_of(row.precision);
    if (row.bits < 23) {
      EXPECT_EQ(f(below, 1.0F), 1.0) << task::name_of(row.precision);
      EXPECT_EQ(f(1.0F, below), 1.0) << task::name_of(row.precision);
    }
    EXPECT_EQ(product(Build::oracle, row.precision)(below, below), double(below) * double(below)) << "t does not round";
  }
}

TEST_F(CpuLaneTest, AnOracleOfClassF64ComputesBeyondDouble) {
  // 1 + 2^-80 - 1 is 2^-80 in binary128 (113 bits) and 0 in double; exp(1) to 33 digits is 2.71828182845904523536028747135266.
  const char* source =
      "extern \"C\" double f(double x) { HONE_REAL y = HONE_REAL(1) + HONE_REAL(x); return (double)(y - 1); }\n"
      "extern \"C\" double g() { return (double)(hone::exp(HONE_REAL(1)) - HONE_REAL(2.718281828459045)); }";
  const Loaded wide(built(reference(Build::oracle, task::Precision::f64, task::DType::f64, source)));
  EXPECT_EQ(wide.get<double(double)>("f")(std::ldexp(1.0, -80)), std::ldexp(1.0, -80));
  // e minus the double nearest it: 1.4456468917292502e-16 (e = 2.7182818284590452353602874713526625, double 2.71828182845904509079…).
  EXPECT_NEAR(wide.get<double()>("g")(), 1.4456468917292502e-16, 1e-25);
  const Loaded narrow(built(reference(Build::rounded, task::Precision::f64, task::DType::f64, source)));
  EXPECT_EQ(narrow.get<double(double)>("f")(std::ldexp(1.0, -80)), 0.0);
}

TEST_F(CpuLaneTest, ExactBuildsDoNotContract) {
  // a*a - fl(a*a) is the rounding error with a fused multiply-add, 0 without: a = 1 + 2^-12, a*a needs 25 bits.
  const char* source = "extern \"C\" float f(float a) { HONE_REAL p = a * a; volatile float q = float(p); return float(HONE_REAL(a) * HONE_REAL(a) - HONE_REAL(q)); }";
  const float a = 1.0F + std::ldexp(1.0F, -12);
  Resolved resolved = reference(Build::rounded, task::Precision::f32, task::DType::f32, source);
  resolved.flags = {"-Ofast", "-ffp-contract=fast"};
  EXPECT_EQ(Loaded(built(resolved)).get<float(float)>("f")(a), 0.0F);
}

}  // namespace
}  // namespace hone::lane
