#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "task/task_check.h"
#include "task/task_file.h"

namespace hone::task {
namespace {

constexpr std::int64_t kNoCap = INT64_MAX;

Result<Task> parse(const std::string& inputs, const std::string& rest) {
  return parse_task(R"([task]
name = "t"
[dims]
N = "n"
D = "d"
NNZ = "stored"
)" + inputs + R"([[output]]
name = "y"
dtype = "f32"
shape = ["N", "D"]
[reference]
source = { cpu = "r.cpp" }
[[case]]
N = 3
D = 5
NNZ = 7
time = false
[[case]]
N = 16
D = 32
NNZ = 64
)" + rest,
                    "task.toml", false);
}
bool prime(std::int64_t n) {
  if (n < 2) return false;
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

TEST(Hidden, ShapesLieInRangeWithAPrimeAndATailAndTheRestFromTheFirstTimedCase) {
  const auto task = parse("", "[hidden]\ndraws = 3\nN = [1, 8192]\nD = [2, 16384]\n");
  ASSERT_TRUE(task.ok()) << task.error().text();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto cases = draw_hidden_cases(*task, seed, kNoCap);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    ASSERT_EQ(cases->size(), 3u);
    bool has_prime = false, has_tail = false;
    for (const Case& c : *cases) {
      const std::int64_t n = c.dims.at("N"), d = c.dims.at("D");
      EXPECT_TRUE(n >= 1 && n <= 8192 && d >= 2 && d <= 16384) << c.label;
      EXPECT_EQ(c.dims.at("NNZ"), 64);
      EXPECT_FALSE(c.time);
      has_prime |= prime(n) || prime(d);
      has_tail |= (n > 16 && n % 16) || (d > 16 && d % 16);
    }
    EXPECT_TRUE(has_prime && has_tail) << seed;
  }
  EXPECT_NE(draw_hidden_cases(*task, 1, kNoCap)->at(1).label,
            draw_hidden_cases(*task, 2, kNoCap)->at(1).label);
  EXPECT_EQ(draw_hidden_cases(*task, 1, kNoCap)->at(1).label,
            draw_hidden_cases(*task, 1, kNoCap)->at(1).label);
}

TEST(Hidden, SizesAreLogUniform) {
  const auto task = parse("", "[hidden]\ndraws = 64\nN = [1, 1023]\n");
  ASSERT_TRUE(task.ok()) << task.error().text();
  int counts[10] = {};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto cases = draw_hidden_cases(*task, seed, kNoCap);
    for (std::size_t i = 1; i + 1 < 64; ++i)  // the first and the last are bent
      ++counts[static_cast<int>(std::log2(static_cast<double>(cases->at(i).dims.at("N"))))];
  }
  // 6,200 values over ten octaves, each with a chance of 1 in 10 (within a rounding of 1023 to
  // 1024).
  for (const int count : counts) EXPECT_NEAR(count, 620, 5 * std::sqrt(620.0));
}

TEST(Hidden, ZeroOnlyIfTheRangeHasIt) {
  const auto without = parse("", "[hidden]\ndraws = 64\nN = [1, 9]\n"),
             with = parse("", "[hidden]\ndraws = 64\nN = [0, 9]\n");
  const auto zeros = [](const Task& task) {
    std::int64_t out = 0;
    const auto cases = draw_hidden_cases(task, 3, kNoCap);
    for (const Case& c : *cases) out += c.dims.at("N") == 0;
    return out;
  };
  EXPECT_EQ(zeros(*without), 0);
  EXPECT_GT(zeros(*with), 0);
  EXPECT_LT(zeros(*with), 20);
}

TEST(Hidden, TheCapHolds) {
  const auto task = parse(
      "", "[limits]\nmemory_gb = 0.001\n[hidden]\ndraws = 5\nN = [1, 100000]\nD = [1, 100000]\n");
  ASSERT_TRUE(task.ok()) << task.error().text();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto own = draw_hidden_cases(*task, seed, kNoCap);
    ASSERT_TRUE(own.ok());
    for (const Case& c : *own)
      EXPECT_LE(6 * total_bytes(*task, c.dims).value(), 1073741) << c.label;
    const auto tight = draw_hidden_cases(*task, seed, 64);
    ASSERT_TRUE(tight.ok());
    for (const Case& c : *tight) EXPECT_LE(total_bytes(*task, c.dims).value(), 64) << c.label;
  }
  const auto narrow = parse("", "[hidden]\nN = [1000, 2000]\n");
  const auto none = draw_hidden_cases(*narrow, 1, 64);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("N = [1000, 2000]"), std::string::npos)
      << none.error().text();
}

TEST(Hidden, StoredValuesOfASparseGroupStayWithinTheMatrix) {
  const std::string csr = R"([[input]]
name = "p"
dtype = "i32"
shape = ["N + 1"]
values = { kind = "csr", group = "A", part = "rowptr" }
[[input]]
name = "c"
dtype = "i32"
shape = ["NNZ"]
values = { kind = "csr", group = "A", part = "col", columns = "D" }
[[input]]
name = "v"
dtype = "f32"
shape = ["NNZ"]
values = { kind = "csr", group = "A", part = "val" }
)";
  for (const char* ranges : {"N = [0, 50]\nD = [1, 50]\nNNZ = [1, 100000]\n", "N = [1, 4]\n"}) {
    const auto task = parse(csr, std::string("[hidden]\ndraws = 8\n") + ranges);
    ASSERT_TRUE(task.ok()) << task.error().text();
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const auto cases = draw_hidden_cases(*task, seed, kNoCap);
      ASSERT_TRUE(cases.ok()) << cases.error().text();
      for (const Case& c : *cases)
        EXPECT_LE(c.dims.at("NNZ"), c.dims.at("N") * c.dims.at("D")) << c.label;
    }
  }
}

// A dim beyond 2^31 is no prime that anybody looks for: dividing it by all numbers up to its root
// would take seconds.
TEST(Hidden, HugeDimsAreDrawnAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const auto task = parse(
      "", "[hidden]\ndraws = 8\nNNZ = [2305843009213693951, 4611686018427387904]\n");  // no tensor's
  ASSERT_TRUE(task.ok()) << task.error().text();
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    ASSERT_TRUE(draw_hidden_cases(*task, seed, kNoCap).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

// As a [[case]] such a shape is refused; so none may be drawn.
TEST(Hidden, IndicesFitTheirDtype) {
  const auto task = parse(R"([[input]]
name = "p"
dtype = "i8"
shape = ["N"]
values = { kind = "permutation" }
)",
                          "[hidden]\ndraws = 16\nN = [1, 100000]\n");
  ASSERT_TRUE(task.ok()) << task.error().text();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto cases = draw_hidden_cases(*task, seed, kNoCap);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    for (const Case& c : *cases) EXPECT_LE(c.dims.at("N"), 128) << c.label;  // 0 to 127
  }
}

TEST(Hidden, WithoutASectionThereAreNone) {
  EXPECT_TRUE(draw_hidden_cases(*parse("", ""), 1, kNoCap)->empty());
}

}  // namespace
}  // namespace hone::task
