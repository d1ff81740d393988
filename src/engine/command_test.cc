#include "engine/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "report/style.h"

namespace hone::engine {
namespace {

TEST(CommandOf, RepeatsTheCandidatesThatWereNamed) {
  OptimizeRequest request;
  request.task = "my_kernel";
  request.candidates = {"tuned.cpp"};
  request.budget = "20s";
  EXPECT_EQ(command_of(request), "hone optimize my_kernel tuned.cpp --budget 20s");
}

TEST(CommandOf, SaysNothingOfWhatWasNotAsked) {
  OptimizeRequest request;
  request.task = ".";
  request.stats = request.explain = true;
  EXPECT_EQ(command_of(request), "hone optimize . --budget 60s");
}

TEST(CommandOf, RepeatsEveryOptionThatDecidesTheRun) {
  OptimizeRequest request;
  request.task = "t";
  request.candidates = {"a b.cpp", "-c.cpp"};
  request.proposers = {"descent", "random"};
  request.seed = 18446744073709551615u;
  request.margin = 0.025;
  request.verify_limit_s = 0;
  request.accept_c = request.accept_x = request.unsafe = true;
  request.compiler = "clang++";
  request.archive = "it's.db";
  EXPECT_EQ(command_of(request),
            "hone optimize t 'a b.cpp' ./-c.cpp --budget 60s --proposers descent,random --seed 18446744073709551615 "
            "--margin 0.025 --verify-limit 0s --accept-c --accept-x --compiler clang++ --archive 'it'\\''s.db' --unsafe");
}

// The shell itself says what it reads.
TEST(CommandOf, AShellReadsEachWordBackAsItWas) {
  for (const std::string word : {"plain.cpp", "", "two words", "a'b", "$HOME", "`id`", "a;b", "*", "~", "x\\y", "\"q\"", "#c", "{a,b}",
                                 "line\nbreak", "caf\xc3\xa9"}) {
    const std::string command = "printf '%s' " + report::shell_word(word);
    FILE* pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::array<char, 256> buffer{};
    const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    EXPECT_EQ(std::string(buffer.data(), n), word) << command;
  }
}

}  // namespace
}  // namespace hone::engine
