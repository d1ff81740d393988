#include "code/plan.h"

#include <gtest/gtest.h>

#include "code/tokens.h"

namespace hone::code {
namespace {

std::string error_of(std::string_view source) {
  const auto plan = read_plan(source, "k.cc");
  return plan.ok() ? "no error" : plan.error().text();
}

TEST(Tokens, CommentsStringsAndDirectivesAreToldApart) {
  // Worked out by hand from the lexical rules of C++: what looks like a comment in a string is
  // none, a raw string ends at its own delimiter, a directive ends where no backslash continues it.
  const auto tokens = tokenize(
      "#define A \\\n  \"//\" 1 // end\nconst char* s = \"/* \\\" */\"; /* x */ R\"q()\" )q\" "
      "1'000.5e-3f a::b",
      "t");
  ASSERT_TRUE(tokens.ok());
  std::vector<std::string> text;
  for (const auto& t : *tokens) text.emplace_back(t.text);
  const std::vector<std::string> expected = {"#define A \\\n  \"//\" 1 ",
                                             "// end",
                                             "const",
                                             "char",
                                             "*",
                                             "s",
                                             "=",
                                             "\"/* \\\" */\"",
                                             ";",
                                             "/* x */",
                                             "R\"q()\" )q\"",
                                             "1'000.5e-3f",
                                             "a",
                                             "::",
                                             "b"};
  EXPECT_EQ(text, expected);
  EXPECT_EQ((*tokens)[2].line, 3);
}

TEST(Tokens, UnfinishedConstructsNameTheirLine) {
  for (const char* source : {"\n/* a", "\n\"a\n", "\nR\"x(a)\"", "\n'a"}) {
    const auto tokens = tokenize(source, "t.cc");
    ASSERT_FALSE(tokens.ok()) << source;
    EXPECT_NE(tokens.error().message.find("t.cc:2: found the start of a"), std::string::npos)
        << tokens.error().message;
  }
  EXPECT_FALSE(tokenize("int a <% 1 %>;", "t").ok());
  EXPECT_FALSE(tokenize(std::string(kMaxSourceBytes + 1, ' '), "t").ok());
  EXPECT_TRUE(tokenize(std::string(kMaxSourceBytes, ' '), "t").ok());
}

TEST(Plan, EveryLineOfTheFormat) {
  const auto plan = read_plan(
      "// hone:tune    TILE = 8 16, -32\n"
      "//hone:tune OPT = -O2 -O3 none\n"
      "// hone:require TILE * 4 <= 4096 && TILE > 1\n"
      "// hone:scratch partial f32 [N, ceil_div(D, TILE)] zero\n"
      "// hone:scratch one i32 []\n"
      "/// hone:function first threads=(min(T, 2))\n"
      "int x;  // hone:function second\n"
      "// hone:flags $OPT -funroll-loops\n"
      "// hone:compiler clang++\n"
      "// hone:kernel k grid=(ceil_div(N, 4), D) block=(32, 4, 1) shared=(TILE * 4)\n"
      "// hone:tune LONG = 1 2 \\\n   3\n"
      "// hone:expect memory race\n"
      "// about hone:tune: this is prose\n"
      "const char* s = \"// hone:tune NOT = 1\";\n",
      "k.cc");
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  ASSERT_EQ(plan->tunables.size(), 3u);
  EXPECT_EQ(plan->tunables[0].values, (std::vector<std::string>{"8", "16", "-32"}));
  EXPECT_EQ(plan->tunables[1].values, (std::vector<std::string>{"-O2", "-O3", "none"}));
  EXPECT_EQ(plan->tunables[2].values, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(plan->tunables[2].line, 11);
  ASSERT_EQ(plan->expects.size(), 1u);
  EXPECT_EQ(plan->expects[0].gate + "/" + plan->expects[0].reason, "memory/race");
  ASSERT_EQ(plan->requires_.size(), 1u);
  EXPECT_EQ(plan->requires_[0].expression, "TILE * 4 <= 4096 && TILE > 1");
  ASSERT_EQ(plan->scratch.size(), 2u);
  EXPECT_EQ(plan->scratch[0].shape, (std::vector<std::string>{"N", "ceil_div(D, TILE)"}));
  EXPECT_TRUE(plan->scratch[0].zero);
  EXPECT_TRUE(plan->scratch[1].shape.empty());
  EXPECT_FALSE(plan->scratch[1].zero);
  ASSERT_EQ(plan->functions.size(), 2u);
  EXPECT_EQ(plan->functions[0].threads, "min(T, 2)");
  EXPECT_EQ(plan->functions[1].name, "second");
  EXPECT_EQ(plan->functions[1].threads, "1");
  EXPECT_EQ(plan->functions[1].line, 7);
  ASSERT_EQ(plan->flags.size(), 2u);
  EXPECT_EQ(plan->flags[0].text, "$OPT");
  EXPECT_EQ(plan->compiler, "clang++");
  ASSERT_EQ(plan->kernels.size(), 1u);
  EXPECT_EQ(plan->kernels[0].grid, (std::vector<std::string>{"ceil_div(N, 4)", "D"}));
  EXPECT_EQ(plan->kernels[0].block.size(), 3u);
  EXPECT_EQ(plan->kernels[0].shared, "TILE * 4");
}

TEST(Plan, EachMistakeNamesFileLineFoundAndExpected) {
  struct Mistake {
    const char* source;
    const char* said;
  };
  const Mistake mistakes[] = {
      {"\n// hone:tuen A = 1", "k.cc:2: found 'hone:tuen', expected hone: and one of tune"},
      {"// hone:tuen A = 1", "did you mean 'tune'?"},
      {"// hone:", "found 'hone:', expected hone: and one of"},
      {"// hone:tune A 1", "found '1', expected '=' after 'A'"},
      {"// hone:tune 9A = 1", "found '9A', expected NAME"},
      {"// hone:tune A =", "found no value"},
      {"// hone:tune A = 1 1", "the value '1' twice"},
      {"// hone:tune A = 1;2", "found '1;2', expected integers"},
      {"// hone:tune A = 99999999999999999999",
       "found '99999999999999999999', expected integers of 64 bits"},
      {"// hone:tune A = 1\n// hone:tune A = 2",
       "k.cc:2: found the tunable 'A' again (first on line 1)"},
      {"// hone:require", "found nothing, expected an expression"},
      {"// hone:scratch p f32 N", "found 'N', expected '['"},
      {"// hone:scratch p f32 [N", "expected a ']' that closes '['"},
      {"// hone:scratch p f32 [N,,D]", "an extent between its commas"},
      {"// hone:scratch p f32 [N] zro", "did you mean 'zero'?"},
      {"// hone:function f thread=(2)", "did you mean 'threads'?"},
      {"// hone:function f threads=2", "found '2', expected '('"},
      {"// hone:function f threads=(1) threads=(2)", "found 'threads' twice"},
      {"// hone:function f threads=()", "an expression in the brackets"},
      {"// hone:kernel k grid=(1)", "found no block=(…)"},
      {"// hone:kernel k grid=(1,2,3,4) block=(1)", "found 4 extents"},
      {"// hone:flags O3", "found 'O3', expected a flag that begins with -"},
      {"// hone:compiler", "found nothing, expected g++ or clang++"},
      {"// hone:compiler g++\n// hone:compiler g++", "found a second compiler (first on line 1)"},
      {"// hone:expect correctness", "found 'correctness', expected GATE REASON"},
      {"/* hone:tune A = 1 */", "found a plan line in /* */"},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_NE(error_of(mistake.source).find(mistake.said), std::string::npos)
        << mistake.source << "\n said: " << error_of(mistake.source) << "\n not:  " << mistake.said;
  }
}

TEST(Plan, IsBounded) {
  std::string values = "// hone:tune A =", tunables, lines;
  for (std::size_t i = 0; i <= kMaxTunableValues; ++i) values += " " + std::to_string(i);
  for (std::size_t i = 0; i <= kMaxTunables; ++i)
    tunables += "// hone:tune A" + std::to_string(i) + " = 1\n";
  for (std::size_t i = 0; i <= kMaxPlanLines; ++i) lines += "// hone:require 1\n";
  EXPECT_NE(error_of(values).find("more than 4096 values"), std::string::npos);
  EXPECT_NE(error_of(tunables).find("more than 64 tunables"), std::string::npos);
  EXPECT_NE(error_of(lines).find("more than 1024 plan lines"), std::string::npos);
}

TEST(Plan, TerminalCodesAreNotEchoed) {
  EXPECT_EQ(error_of("// hone:tune A = \x1b[31m").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace hone::code
