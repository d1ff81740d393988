// The examples are read, bound and described rightly; that their verdicts are as they say is an e2e matter.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "candidate/candidate.h"
#include "code/plan.h"
#include "judge/reasons.h"
#include "task/draw.h"
#include "task/task_file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
const fs::path kExamples = fs::path(HONE_SOURCE_DIR) / "examples";

std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kExamples)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<fs::path> sources_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cpp") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Example : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto read = task::read_task(folder_);
    ASSERT_TRUE(read.ok()) << read.error().text();
    task_ = std::move(read).value();
  }

  fs::path folder_ = kExamples / GetParam();
  task::Task task_;
};

TEST_P(Example, TaskHasTimedCasesEdgesAndHiddenShapes) {
  const auto timed = std::count_if(task_.cases.begin(), task_.cases.end(), [](const auto& c) { return c.time; });
  EXPECT_EQ(task_.name, GetParam());
  EXPECT_GE(timed, 1);
  EXPECT_GE(task_.cases.size() - static_cast<std::size_t>(timed), 3u);
  EXPECT_GT(task_.hidden.draws, 0);
  for (const task::Case& c : task_.cases) {
    for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
      const auto bytes = task::bytes_of(task_.inputs[i], c.dims);
      ASSERT_TRUE(bytes.ok()) << c.label << ": " << bytes.error().text();
      std::vector<std::byte> buffer(static_cast<std::size_t>(*bytes));
      const Status drawn = task::draw_input(task_, i, c.dims, {.seed = 7}, buffer);
      EXPECT_TRUE(drawn.ok()) << c.label << ": " << drawn.error().text();
    }
  }
}

TEST_P(Example, HiddenShapesCanBeDrawn) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto cases = task::draw_hidden_cases(task_, seed, std::int64_t{1} << 30);
    ASSERT_TRUE(cases.ok()) << cases.error().text();
    for (const task::Case& c : *cases) {
      for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
        const auto bytes = task::bytes_of(task_.inputs[i], c.dims);
        ASSERT_TRUE(bytes.ok()) << c.label << ": " << bytes.error().text();
        std::vector<std::byte> buffer(static_cast<std::size_t>(*bytes));
        const Status drawn = task::draw_input(task_, i, c.dims, {.seed = seed}, buffer);
        ASSERT_TRUE(drawn.ok()) << c.label << ": " << drawn.error().text();
      }
    }
  }
}

TEST_P(Example, ReferenceBindsInEachOfItsBuilds) {
  const auto reference = candidate::read(folder_ / task_.reference.at("cpu"));
  ASSERT_TRUE(reference.ok()) << reference.error().text();
  for (const auto build : {candidate::Build::oracle, candidate::Build::rounded, candidate::Build::baseline}) {
    const auto resolved = candidate::resolve(*reference, {}, task_, build);
    EXPECT_TRUE(resolved.ok()) << resolved.error().text();
  }
}

TEST_P(Example, ATunableCandidateHasASpaceWorthSearching) {
  const auto files = sources_in(folder_ / "candidates");
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    const auto read = candidate::read(file);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_GE(read->tunables.size(), 2u) << file;
    EXPECT_LE(read->tunables.size(), 6u) << file;
    const auto points = candidate::all_assignments(*read, task_, 5000);
    ASSERT_TRUE(points.ok()) << points.error().text();
    EXPECT_GE(points->size(), 12u) << file;
    for (const candidate::Assignment& point : *points) {
      const auto resolved = candidate::resolve(*read, point, task_);
      ASSERT_TRUE(resolved.ok()) << resolved.error().text();
      for (const task::Case& c : task_.cases) {
        const auto threads = candidate::threads_for(*resolved, task_, c.dims);
        ASSERT_TRUE(threads.ok()) << threads.error().text();
      }
    }
  }
}

TEST_P(Example, WrongCandidatesBindAndSayHowTheyFail) {
  const auto files = sources_in(folder_ / "candidates" / "wrong");
  EXPECT_GE(files.size(), 2u);
  for (const fs::path& file : files) {
    const auto text = read_file(file);
    ASSERT_TRUE(text.ok()) << text.error().text();
    const auto plan = code::read_plan(*text, file.string());
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    EXPECT_FALSE(plan->expects.empty()) << file;
    for (const auto& expect : plan->expects) {
      EXPECT_NE(judge::find_reason(expect.gate, expect.reason), nullptr)
          << file << ":" << expect.line << ": no such failure: " << expect.gate << " " << expect.reason;
    }
    const auto read = candidate::parse(*text, file.string());
    ASSERT_TRUE(read.ok()) << read.error().text();
    const auto resolved = candidate::resolve(*read, {}, task_);
    EXPECT_TRUE(resolved.ok()) << resolved.error().text();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Example, testing::ValuesIn(examples()), [](const auto& example) { return example.param; });

}  // namespace
}  // namespace hone
