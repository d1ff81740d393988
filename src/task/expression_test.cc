#include "task/expression.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone::task {
namespace {

struct Row {
  const char* text;
  std::int64_t value;
};
const Dims kNames = {{"N", 10}, {"D", 3}, {"Z", 0}, {"BIG", INT64_MAX}};

TEST(Expression, Values) {
  // Each value by hand, with the rules of C for precedence, / and %.
  const Row rows[] = {
      {"1", 1},
      {" N ", 10},
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"10 - 3 - 2", 5},
      {"100 / 10 / 5", 2},
      {"7 / 2", 3},
      {"-7 / 2", -3},
      {"7 % 3", 1},
      {"-7 % 3", -1},
      {"--3", 3},
      {"-(N + 1)", -11},
      {"ceil_div(N, D)", 4},
      {"ceil_div(9, D)", 3},
      {"ceil_div(-7, 2)", -3},
      {"ceil_div(7, -2)", -3},
      {"ceil_div(-7, -2)", 4},
      {"ceil_div(0, 5)", 0},
      {"min(3, 1, 2)", 1},
      {"max(3, 1, N)", 10},
      {"min(4)", 4},
      {"max(min(N, 4), D) * 2", 8},
      {"N < D", 0},
      {"D <= 3", 1},
      {"N == 10", 1},
      {"N != 10", 0},
      {"N >= 10 && D > 2", 1},
      {"N > 10 || D > 2", 1},
      {"!N", 0},
      {"!Z", 1},
      {"!(N == 3)", 1},
      {"2 && 3", 1},
      {"0 || 7", 1},
      {"1 || 0 && 0", 1},
      {"Z == 0 || N / Z > 2", 1},
      {"Z != 0 && N / Z > 2", 0},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775807 - 1", INT64_MIN},
      {"1 + 2 == 3", 1},
  };
  for (const Row& row : rows) {
    const auto expression = Expression::parse(row.text);
    ASSERT_TRUE(expression.ok()) << row.text << ": " << expression.error().text();
    const auto value = expression->evaluate(kNames);
    ASSERT_TRUE(value.ok()) << row.text << ": " << value.error().text();
    EXPECT_EQ(*value, row.value) << row.text;
  }
}

TEST(Expression, EvaluationFaultsNameTheExpression) {
  const std::pair<const char*, const char*> rows[] = {
      {"BIG + 1", "overflows"},
      {"-BIG - 2", "overflows"},
      {"BIG * 2", "overflows"},
      {"(-BIG - 1) / -1", "overflows"},
      {"(-BIG - 1) % -1", "overflows"},
      {"-(-BIG - 1)", "overflows"},
      {"ceil_div(-BIG - 1, -1)", "overflows"},
      {"N / Z", "divides by zero"},
      {"N % Z", "divides by zero"},
      {"ceil_div(N, Z)", "divides by zero"},
      {"M + 1", "unknown name 'M'"},
      {"1.5 * N", "decimal"},
      {"log2(N)", "log2"},
  };
  for (const auto& [text, expected] : rows) {
    const auto expression = Expression::parse(text);
    ASSERT_TRUE(expression.ok()) << text;
    const auto value = expression->evaluate(kNames);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_NE(value.error().message.find(expected), std::string::npos) << value.error().message;
    EXPECT_NE(value.error().message.find(text), std::string::npos) << value.error().message;
  }
}

TEST(Expression, ParseFaultsSayWhereAndWhatWasExpected) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "found the end at character 1"},
      {"1 +", "found the end at character 4"},
      {"(1", "expected ')'"},
      {"1 2", "found '2' at character 3"},
      {"1 $ 2", "found '$' at character 3"},
      {"12abc", "expected an operator"},
      {"9223372036854775808", "below 2^63"},
      {"celi_div(1, 2)", "did you mean 'ceil_div'?"},
      {"ceil_div(1)", "two arguments"},
      {"ceil_div(1, 2, 3)", "two arguments"},
      {"log2(1, 2)", "one argument"},
      {"min()", "found ')' at character 5"},
      {"min(1,", "found the end"},
      {"1 < 2 < 3", "do not chain"},
      {"1 = 2", "found '=' at character 3"},
      {"N & D", "found '&' at character 3"},
      {".", "decimal number"},
  };
  for (const auto& [text, expected] : rows) {
    const auto expression = Expression::parse(text);
    ASSERT_FALSE(expression.ok()) << text;
    EXPECT_NE(expression.error().message.find(expected), std::string::npos)
        << expression.error().message;
  }
}

TEST(Expression, DepthAndLengthAreBoundedButLongChainsAreNot) {
  EXPECT_FALSE(Expression::parse(std::string(2000, '(') + "1" + std::string(2000, ')')).ok());
  EXPECT_FALSE(Expression::parse(std::string(2000, '-') + "1").ok());
  EXPECT_FALSE(Expression::parse(std::string(5000, ' ') + "1").ok());
  std::string chain = "1";
  for (int i = 0; i < 1000; ++i) chain += "+1";
  EXPECT_EQ(Expression::parse(chain)->evaluate({}).value(), 1001);
}

TEST(Expression, RealEvaluation) {
  const std::pair<const char*, double> rows[] = {
      {"5*N*D", 150.0},    {"N / 4", 2.5},          {"1.5e1 + .5", 15.5}, {"N * log2(8)", 30.0},
      {"BIG * 4", 0x1p65}, {"ceil_div(N, 4)", 3.0}, {"N > 9.5", 1.0},
  };
  for (const auto& [text, expected] : rows) {
    const auto expression = Expression::parse(text);
    ASSERT_TRUE(expression.ok()) << text;
    EXPECT_DOUBLE_EQ(expression->evaluate_real(kNames).value(), expected) << text;
  }
  EXPECT_FALSE(Expression::parse("log2(Z)")->evaluate_real(kNames).ok());
  EXPECT_FALSE(Expression::parse("1 / Z")->evaluate_real(kNames).ok());
}

TEST(Expression, NamesAreSortedAndStillBindRight) {
  const auto expression = Expression::parse("N * 100 + D * 10 + N - A");
  ASSERT_TRUE(expression.ok());
  EXPECT_EQ(expression->names(), (std::vector<std::string>{"A", "D", "N"}));
  EXPECT_EQ(expression->evaluate({{"A", 1}, {"D", 2}, {"N", 3}}).value(), 322);
  EXPECT_EQ(Expression().evaluate({}).value(), 0);
  EXPECT_EQ(Expression::constant(-5).evaluate({}).value(), -5);
  EXPECT_EQ(Expression::constant(-5).text(), "-5");
}

}  // namespace
}  // namespace hone::task
