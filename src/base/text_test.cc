#include "base/text.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Text, NearestSpellingFindsSlipsAndNothingElse) {
  const std::vector<std::string> known = {"dtype", "shape", "values"};
  EXPECT_EQ(nearest_spelling("dtpye", known), "dtype");
  EXPECT_EQ(nearest_spelling("Shape", known), "shape");
  EXPECT_EQ(nearest_spelling("f23", {"f64", "f32"}), "f32");  // neighbours swapped: one slip, not two
  EXPECT_EQ(nearest_spelling("frobnicate", known), std::nullopt);
}

TEST(Text, ScrubRemovesWhatDrivesATerminal) {
  EXPECT_EQ(scrub("a\x1b[31mb\r\n"), "a?[31mb\n");
  EXPECT_EQ(scrub("\xc2\x9b" "31m"), "??31m");      // C1 control sequence introducer
  EXPECT_EQ(scrub("\xc0\x9b"), "??");               // overlong escape
  EXPECT_EQ(scrub("ä€😀"), "ä€😀");
  EXPECT_EQ(scrub("\xff"), "?");
  EXPECT_EQ(scrub("abcdef", 3), "abc\n[3 bytes left out]");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(words("  a  b ").size(), 2u);
}

TEST(Text, TimesOfPeople) {
  std::string_view unit;
  EXPECT_EQ(leading_number("1.5min,", unit), 1.5);
  EXPECT_EQ(unit, "min,");
  EXPECT_FALSE(leading_number("soon", unit).has_value());
  EXPECT_FALSE(leading_number("inf", unit).has_value());
  EXPECT_EQ(seconds_in("ms"), 1e-3);
  EXPECT_EQ(seconds_in("h"), 3600);
  EXPECT_EQ(seconds_in("days"), 0);
}

TEST(Text, DurationsChooseTheirUnit) {
  EXPECT_EQ(format_duration_ns(1500), "1.5 us");
  EXPECT_EQ(format_duration_ns(2.5e6), "2.5 ms");
}

}  // namespace
}  // namespace hone
