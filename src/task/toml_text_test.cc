#include "task/toml_text.h"

#include <gtest/gtest.h>

namespace hone::task {
namespace {

TEST(TomlText, OnlyStringsAndCommentsMayLeaveAscii) {
  EXPECT_EQ(line_beyond_ascii("a = \"ä\" # ä\n'ä' = 'ä'\n"), 0);
  EXPECT_EQ(line_beyond_ascii("\xEF\xBB\xBF"
                              "a = 1\n"),
            0);
  EXPECT_EQ(line_beyond_ascii("a = 1\nä = 1\n"), 2);
  EXPECT_EQ(line_beyond_ascii("a = \"x\" ä\n"), 1);
  EXPECT_EQ(line_beyond_ascii("a = \"\\\"\" ä\n"), 1);  // an escaped mark closes nothing
  EXPECT_EQ(line_beyond_ascii("a = '\\' ä\n"), 1);      // in a literal string \ escapes nothing
  EXPECT_EQ(line_beyond_ascii("a = \"\"\"\nä \" ä\n\"\"\"\nä"), 4);
  EXPECT_EQ(line_beyond_ascii("a = '''x''''' # ä\n"), 0);  // two marks before the closing three
  EXPECT_EQ(line_beyond_ascii("a = '''x''''' ä\n"), 1);
  EXPECT_EQ(line_beyond_ascii("a = \"open\nä\n"), 2);  // a line ends a short string
  EXPECT_EQ(line_beyond_ascii("a = \"\" ä"), 1);
  EXPECT_EQ(line_beyond_ascii(""), 0);
}

}  // namespace
}  // namespace hone::task
