#include "lane/cpu/sanitize.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/process.h"
#include "wire/sandbox.h"

namespace hone::lane {
namespace {

using State = SanitizeOutcome::State;

struct Case {
  candidate::Resolved resolved;
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  std::int64_t n = 8;
  SanitizeInputs inputs;

  explicit Case(std::string body, bool openmp = false) {
    resolved.source = "#line 1 \"kernel.cc\"\n#include <cstdlib>\n#include <cstdio>\nextern \"C\" void hone_entry(void* const* a, const int* threads) {\n"
                      "const float* x = (const float*)a[0]; float* y = (float*)a[1]; long n = *(const long*)a[2]; int t = threads[0];\n" +
                      body + "\n(void)x; (void)y; (void)n; (void)t; }\n";
    resolved.openmp = openmp;
    inputs.threads = {openmp ? 2 : 1};
  }
  SanitizeOutcome run(Tool tool, SanitizeLimits limits = {}) {
    inputs.arguments.assign(3, {});
    inputs.arguments[0].size = x.size() * 4;
    inputs.arguments[0].bytes = std::as_bytes(std::span(x));
    inputs.arguments[1].size = x.size() * 4;
    inputs.arguments[1].writable = inputs.arguments[1].output = true;
    inputs.arguments[2].size = 8;
    inputs.arguments[2].bytes = std::as_bytes(std::span(&n, 1));
    const auto outcome = run_sanitized(tool, resolved, inputs, limits);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text());
    return outcome.ok() ? *outcome : SanitizeOutcome{};
  }
};

class SanitizeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!wire::probe_sandbox().usable) GTEST_SKIP() << wire::probe_sandbox().problem;
  }
  static bool have_clang() { return !find_program("clang++").empty(); }
};

TEST_F(SanitizeTest, ACleanKernelGivesItsOutputs) {
  Case twice("for (long i = 0; i < n; ++i) y[i] = 2 * x[i]; printf(\"chatter\\n\");");
  const auto outcome = twice.run(Tool::address);
  ASSERT_EQ(outcome.state, State::clean) << outcome.kind << ": " << outcome.message;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  ASSERT_EQ(outcome.outputs[0].size(), 32u);
  for (std::size_t i = 0; i < 8; ++i) {
    float y = 0;
    std::memcpy(&y, outcome.outputs[0].data() + 4 * i, 4);
    EXPECT_EQ(y, 2.0F * static_cast<float>(i + 1));
  }
}

TEST_F(SanitizeTest, OneElementBeyondEitherEndIsFound) {
  const auto beyond = Case("y[n] = 1;").run(Tool::address);
  EXPECT_EQ(beyond.state, State::finding);
  EXPECT_EQ(beyond.kind, "heap-buffer-overflow");
  EXPECT_EQ(beyond.line, 5) << beyond.message;
  const auto before = Case("float s = x[-1];\nfor (long i = 0; i < n; ++i) y[i] = s;").run(Tool::address);
  EXPECT_EQ(before.state, State::finding);
  EXPECT_EQ(before.kind, "heap-buffer-overflow");
}

TEST_F(SanitizeTest, UndefinedArithmeticIsFound) {
  const auto outcome = Case("int big = 2147483647;\nbig += (int)x[0];\nfor (long i = 0; i < n; ++i) y[i] = (float)big;").run(Tool::address);
  EXPECT_EQ(outcome.state, State::finding);
  EXPECT_EQ(outcome.kind, "undefined behaviour");
  EXPECT_EQ(outcome.line, 6) << outcome.message;
}

TEST_F(SanitizeTest, PrematureEndsAreFindings) {
  EXPECT_EQ(Case("_Exit(0);").run(Tool::address).kind, "exit");
  EXPECT_EQ(Case("abort();").run(Tool::address).state, State::finding);
  EXPECT_EQ(Case("((float*)x)[2] = 9;").run(Tool::address).kind, "input changed");
  const auto hang = Case("volatile long k = 0; while (k == 0) {}").run(Tool::address, {.run_s = 1});
  EXPECT_EQ(hang.state, State::finding);
  EXPECT_EQ(hang.kind, "timeout");
}

TEST_F(SanitizeTest, ARaceIsFoundAndAReductionIsNot) {
  if (!have_clang()) GTEST_SKIP() << "clang++ is not installed";
  const auto clean = Case("float s = 0;\n#pragma omp parallel for num_threads(t) reduction(+:s)\nfor (long i = 0; i < n; ++i) s += x[i];\n"
                          "for (long i = 0; i < n; ++i) y[i] = s;",
                          true)
                         .run(Tool::thread);
  EXPECT_EQ(clean.state, State::clean) << clean.message;
  const auto race = Case("float s = 0;\n#pragma omp parallel for num_threads(t)\nfor (long i = 0; i < n; ++i)\ns += x[i];\n"
                         "for (long i = 0; i < n; ++i) y[i] = s;",
                         true)
                        .run(Tool::thread);
  EXPECT_EQ(race.state, State::finding);
  EXPECT_EQ(race.kind, "data race");
  EXPECT_EQ(race.line, 8) << race.message;
}

TEST_F(SanitizeTest, AnOutputThatWasNotWrittenIsFound) {
  if (!have_clang()) GTEST_SKIP() << "clang++ is not installed";
  const auto hole = Case("for (long i = 0; i < n - 1; ++i) y[i] = x[i];").run(Tool::memory);
  EXPECT_EQ(hole.state, State::finding) << hole.message;
  const auto branch = Case("for (long i = 0; i < n; ++i) y[i] = y[i] > 0 ? 1.0f : 2.0f;").run(Tool::memory);
  EXPECT_EQ(branch.state, State::finding) << branch.message;
  const auto clean = Case("for (long i = 0; i < n; ++i) y[i] = __builtin_expf(x[i]);").run(Tool::memory);
  EXPECT_EQ(clean.state, State::clean) << clean.kind << ": " << clean.message;
}

TEST_F(SanitizeTest, EachToolProvesItself) {
  EXPECT_EQ(self_test(Tool::address)->state, State::clean) << self_test(Tool::address)->message;
  for (const Tool tool : {Tool::thread, Tool::memory}) {
    const auto outcome = self_test(tool);
    ASSERT_TRUE(outcome.ok());
    if (have_clang()) {
      EXPECT_EQ(outcome->state, State::clean) << outcome->message;
    } else {
      EXPECT_EQ(outcome->state, State::unavailable);
      EXPECT_NE(outcome->message.find("clang"), std::string::npos);
    }
  }
}

TEST_F(SanitizeTest, ASourceTheToolCannotBuildIsNotItsFault) {
  const auto outcome = Case("this is no C++").run(Tool::address);
  EXPECT_EQ(outcome.state, State::unavailable);
  EXPECT_NE(outcome.message.find("does not build"), std::string::npos);
}

}  // namespace
}  // namespace hone::lane
