// Every source of the shipped examples is one that this room reads: references in all their builds,
// candidates at their default point, and the wrong ones too, for being wrong is the later gates'
// matter.
#include <gtest/gtest.h>

#include <filesystem>

#include "candidate/candidate.h"
#include "task/task_file.h"

namespace hone::candidate {
namespace {

namespace fs = std::filesystem;

std::string resolve_all(const fs::path& file, const task::Task& task,
                        const std::vector<Build>& builds) {
  auto c = read(file.string());
  if (!c) return c.error().text();
  auto a = default_assignment(*c, task);
  if (!a) return a.error().text();
  for (const Build build : builds) {
    const auto r = resolve(*c, *a, task, build);
    if (!r) return r.error().text();
    for (const auto& one : task.cases) {
      const auto threads = threads_for(*r, task, one.dims);
      if (!threads) return threads.error().text();
    }
  }
  return "";
}

TEST(Examples, EverySourceParsesAndBinds) {
  const fs::path root = fs::path(HONE_SOURCE_DIR) / "examples";
  if (!fs::exists(root)) GTEST_SKIP() << "no examples in this tree";
  int sources = 0;
  for (const auto& folder : fs::directory_iterator(root)) {
    if (!fs::exists(folder.path() / "task.toml")) continue;
    const auto task = task::read_task(folder.path());
    EXPECT_TRUE(task.ok()) << task.error().text();
    if (!task.ok()) continue;
    EXPECT_EQ(resolve_all(folder.path() / task->reference.at("cpu"), *task,
                          {Build::oracle, Build::rounded, Build::baseline}),
              "")
        << folder.path();
    for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "candidates")) {
      if (entry.path().extension() != ".cpp") continue;
      EXPECT_EQ(resolve_all(entry.path(), *task, {Build::candidate}), "") << entry.path();
      ++sources;
    }
  }
  EXPECT_GE(sources, 30) << "ten examples with at least three candidates each";
}

}  // namespace
}  // namespace hone::candidate
