#include "task/toml_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "task/toml_section.h"

namespace hone::task {
namespace {

std::string ascii(std::string_view text) {
  const AsciiToml out = to_ascii(text);
  EXPECT_EQ(out.bad_line, 0) << text;
  EXPECT_TRUE(std::all_of(out.text.begin(), out.text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; }));
  return out.text;
}

/// What the parser makes of key `a` of the rewritten text.
std::string value(std::string_view text) {
  const toml::table table = toml::parse(ascii(text));
  return table["a"].value_or<std::string>("no string");
}

TEST(TomlText, StringsKeepTheirMeaning) {
  EXPECT_EQ(value("a = \"größer als 𝟙\""), "größer als 𝟙");
  EXPECT_EQ(value("a = 'ä\\n\"q\"'"), "ä\\n\"q\"");        // a literal string escapes nothing
  EXPECT_EQ(value("a = \"ä\\t\\\"\\u00C4\""), "ä\t\"Ä");    // what is escaped already stays so
  EXPECT_EQ(value("a = '''\nit's 'ä' \\ '''''"), "it's 'ä' \\ ''");  // two marks before the closing three
  EXPECT_EQ(value("a = \"\"\"\nä \"ö\" \\\n   ü\"\"\""), "ä \"ö\" ü");
  EXPECT_EQ(value("a = 'plain' # ä"), "plain");
  EXPECT_EQ(value("\xEF\xBB\xBF" "a = \"x\""), "x");
}

TEST(TomlText, KeysToo) {
  const toml::table table = toml::parse(ascii("'ä' = 1\n[\"ö\".x]\nb = 2\n"));
  EXPECT_EQ(table["ä"].value_or(0), 1);
  EXPECT_EQ(table["ö"]["x"]["b"].value_or(0), 2);
}

TEST(TomlText, LinesStayWhereTheyAre) {
  const std::string text = "a = \"\"\"ä\nö\"\"\"\n# ü\nb = 'ä'\n";
  const std::string out = ascii(text);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 4);
  EXPECT_EQ(ascii("a = 1\nb = [2]\n"), "a = 1\nb = [2]\n");
}

TEST(TomlText, ElsewhereTheLineIsTold) {
  EXPECT_EQ(to_ascii("a = 1\nä = 1\n").bad_line, 2);
  EXPECT_EQ(to_ascii("a = \"x\" ä\n").bad_line, 1);
  EXPECT_EQ(to_ascii("a = \"\"\"\nä\n\"\"\"\nä").bad_line, 4);
  EXPECT_EQ(to_ascii("a = \"open\nä\n").bad_line, 2);  // a line ends a short string
  EXPECT_EQ(to_ascii("a = \"\\ä\"").bad_line, 1);      // no escape
  EXPECT_EQ(to_ascii("a = \"\xC3\"").bad_line, 1);     // half a character
  EXPECT_EQ(to_ascii("a = \"\xED\xA0\x80\"").bad_line, 1);  // a surrogate
  EXPECT_EQ(to_ascii("").bad_line, 0);
}

}  // namespace
}  // namespace hone::task
