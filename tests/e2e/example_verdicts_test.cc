// The examples get the verdicts that they claim: tunable candidates pass a whole verification, memory gate and all, and
// each wrong one fails in one of the ways its source expects.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "candidate/candidate.h"
#include "code/plan.h"
#include "judge/judge.h"
#include "lane/lane.h"
#include "runner/session.h"
#include "task/task_file.h"

namespace hone {
namespace {

const fs::path kExamples = fs::path(HONE_SOURCE_DIR) / "examples";

std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kExamples))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}
std::vector<fs::path> sources_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".cpp") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class ExampleVerdictsLongTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto task = task::read_task(folder_);
    ASSERT_TRUE(task.ok()) << task.error().text();
    auto lane = lane::make_cpu_lane({});
    ASSERT_TRUE(lane.ok()) << lane.error().text();
    lane_ = std::move(*lane);
    runner::SessionOptions options;
    options.lane = lane_.get();
    auto session = runner::Session::open(*task, options);
    ASSERT_TRUE(session.ok()) << session.error().text();
    session_ = std::move(*session);
  }

  Result<judge::Verdict> verify(const std::string& source, const fs::path& file) {
    HONE_TRY(const candidate::Candidate candidate, candidate::parse(source, file.string()));
    HONE_TRY(const auto assignment, candidate::default_assignment(candidate, session_->task()));
    HONE_TRY(const judge::Entry entry, judge::enter(*lane_, session_->task(), candidate, assignment));
    judge::VerifyOptions options;
    options.memory_options.allow_missing_tools = true;
    return judge::verify(*session_, entry, options);
  }

  fs::path folder_ = kExamples / GetParam();
  std::unique_ptr<lane::Lane> lane_;
  std::unique_ptr<runner::Session> session_;
};

TEST_P(ExampleVerdictsLongTest, TheCandidatePasses) {
  for (const fs::path& file : sources_in(folder_ / "candidates")) {
    const auto source = read_file(file);
    ASSERT_TRUE(source.ok());
    const auto verdict = verify(*source, file);
    ASSERT_TRUE(verdict.ok()) << verdict.error().text();
    EXPECT_TRUE(verdict->correct) << file << ": " << verdict->failure->gate << ": " << verdict->failure->reason << ": "
                                  << verdict->failure->message << "\n" << verdict->failure->evidence.dump(1);
  }
}

TEST_P(ExampleVerdictsLongTest, EachWrongOneFailsAsItSays) {
  for (const fs::path& file : sources_in(folder_ / "candidates" / "wrong")) {
    const auto source = read_file(file);
    ASSERT_TRUE(source.ok());
    const auto plan = code::read_plan(*source, file.string());
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const auto verdict = verify(*source, file);
    ASSERT_TRUE(verdict.ok()) << file << ": " << verdict.error().text();
    if (verdict->correct) {
      // Only timing can tell some of them; nothing is timed here.
      const bool timed = std::any_of(plan->expects.begin(), plan->expects.end(),
                                     [](const auto& e) { return e.gate == "performance"; });
      EXPECT_TRUE(timed) << file << " passed";
      continue;
    }
    const candidate::Failure& failure = *verdict->failure;
    const bool expected = std::any_of(plan->expects.begin(), plan->expects.end(), [&](const auto& e) {
      return e.gate == failure.gate && e.reason == failure.reason;
    });
    EXPECT_TRUE(expected) << file << ": " << failure.gate << " " << failure.reason << ": " << failure.message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExampleVerdictsLongTest, testing::ValuesIn(examples()),
                         [](const auto& example) { return example.param; });

}  // namespace
}  // namespace hone
