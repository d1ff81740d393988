#include "base/process.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace hone {
namespace {

TEST(RunCommand, GivesBothStreamsAndTheStatus) {
  const auto result = run_command({"sh", "-c", "echo one; echo two >&2; exit 3"});
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->out, "one\n");
  EXPECT_EQ(result->err, "two\n");
  EXPECT_EQ(result->code, 3);
}

TEST(RunCommand, ASignalIs128AndItsNumber) {
  const auto result = run_command({"sh", "-c", "kill -9 $$"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->code, 137);
}

TEST(RunCommand, ManyBytesOnBothStreamsDoNotBlock) {
  const auto result = run_command({"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out.size(), 300000u);
  EXPECT_EQ(result->err.size(), 300000u);
}

TEST(RunCommand, KillsWhatOutlivesItsLimit) {
  const auto before = monotonic_ns();
  const auto result = run_command({"sleep", "30"}, 0.2);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::environment);
  EXPECT_LT(monotonic_ns() - before, 10'000'000'000);
}

TEST(RunCommand, AMissingProgramNamesTheCure) {
  const auto result = run_command({"no-such-program-of-hone"});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("no-such-program-of-hone"), std::string::npos);
  EXPECT_EQ(result.error().code, ErrorCode::environment);
}

TEST(FindProgram, KnowsPathAndAbsoluteNames) {
  const std::string sh = find_program("sh");
  ASSERT_FALSE(sh.empty());
  EXPECT_EQ(find_program(sh), sh);
  EXPECT_EQ(find_program("no-such-program-of-hone"), "");
  EXPECT_EQ(find_program("/etc/passwd"), "") << "not executable";
}

}  // namespace
}  // namespace hone
