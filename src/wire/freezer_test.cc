// On a folder of plain files: what is written where, and what is waited for. No control group is
// made.

#include "wire/freezer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "base/files.h"

namespace hone::wire {
namespace {

std::string text_of(const fs::path& file) { return read_file(file).value(); }

TEST(Freezer, Version2WritesFreezeAndWaitsForTheEvent) {
  auto folder = TemporaryFolder::make("hone-group");
  ASSERT_TRUE(folder.ok());
  const fs::path group = folder->path();
  ASSERT_TRUE(write_file(group / "cgroup.freeze", "0").ok());
  ASSERT_TRUE(write_file(group / "cgroup.events", "populated 1\nfrozen 0\n").ok());
  auto freezer = Freezer::open(group);
  ASSERT_TRUE(freezer.ok());
  EXPECT_EQ(freezer->version(), 2);
  std::thread kernel([&] {
    while (text_of(group / "cgroup.freeze") != "1") ::usleep(1000);
    ::usleep(20'000);
    ASSERT_TRUE(write_file(group / "cgroup.events", "populated 1\nfrozen 1\n").ok());
  });
  EXPECT_FALSE(freezer->frozen());
  EXPECT_TRUE(freezer->freeze().ok());
  EXPECT_TRUE(freezer->frozen());
  kernel.join();
  EXPECT_TRUE(freezer->thaw().ok());
  EXPECT_EQ(text_of(group / "cgroup.freeze"), "0");
}

TEST(Freezer, Version1WritesItsState) {
  auto folder = TemporaryFolder::make("hone-group");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file(folder->path() / "freezer.state", "THAWED").ok());
  auto freezer = Freezer::open(folder->path());
  ASSERT_TRUE(freezer.ok());
  EXPECT_EQ(freezer->version(), 1);
  EXPECT_TRUE(freezer->freeze().ok());
  EXPECT_EQ(text_of(folder->path() / "freezer.state"), "FROZEN");
  EXPECT_TRUE(freezer->thaw().ok());
  EXPECT_EQ(text_of(folder->path() / "freezer.state"), "THAWED");
}

TEST(Freezer, OneThatNeverFreezesIsAnError) {
  auto folder = TemporaryFolder::make("hone-group");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file(folder->path() / "cgroup.freeze", "0").ok());
  ASSERT_TRUE(write_file(folder->path() / "cgroup.events", "frozen 0\n").ok());
  EXPECT_FALSE(Freezer::open(folder->path())->freeze().ok());
}

TEST(Freezer, AFolderWithoutOneIsNamedAndLeftAsItWas) {
  auto folder = TemporaryFolder::make("hone-group");
  ASSERT_TRUE(folder.ok());
  auto freezer = Freezer::open(folder->path());
  ASSERT_FALSE(freezer.ok());
  EXPECT_NE(freezer.error().message.find(folder->path().string()), std::string::npos);
  EXPECT_FALSE(Freezer::make(folder->path(), ::getpid()).ok());
  EXPECT_TRUE(fs::is_empty(folder->path()));
  EXPECT_FALSE(Freezer::make("/nowhere/group", ::getpid()).ok());
}

}  // namespace
}  // namespace hone::wire
