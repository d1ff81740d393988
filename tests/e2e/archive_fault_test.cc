// Archives that cannot be written or read: each gives a clear message and exit code, and loses nothing.

#include <grp.h>

#include "harness.h"
#include "store/archive.h"

namespace hone::e2e {
namespace {

void expect_error(const Ran& ran, int code, const std::vector<std::string>& says) {
  EXPECT_EQ(ran.code, code) << ran.all();
  for (const std::string& text : says) EXPECT_NE(ran.err.find(text), std::string::npos) << text << "\n" << ran.all();
  EXPECT_EQ(ran.out, "") << ran.all();
}

TEST(ArchiveFault, AForeignFileIsNotTouched) {
  const Folder folder;
  write_task(folder);
  const std::string letters = "these are letters, and no archive\n" + std::string(5000, 'x');
  folder.write("letters.db", letters);
  for (const std::vector<std::string>& args : {std::vector<std::string>{"runs"}, {"show", "latest"}, {"export"}, {"optimize", ".", "--budget", "1evals"}}) {
    std::vector<std::string> all = args;
    all.insert(all.end(), {"--archive", "letters.db"});
    expect_error(hone(folder, all), 3, {"letters.db"});
  }
  EXPECT_EQ(folder.read("letters.db"), letters);
}

TEST(ArchiveFault, ACutOffFileIsToldAsSuch) {
  const Folder folder;
  write_task(folder);
  {
    auto archive = store::Archive::open_writer(folder / "archive.db");
    ASSERT_TRUE(archive.ok()) << archive.error().text();
    store::RunStart start;
    start.task_name = "running_maximum";
    start.task_text = std::string(100'000, '#');
    ASSERT_TRUE(archive->begin_run(start).ok());
  }
  ASSERT_EQ(hone(folder, {"runs", "--archive", "archive.db"}).code, 0);
  const std::string whole = folder.read("archive.db");
  ASSERT_GT(whole.size(), 50'000u);
  for (const std::size_t size : {whole.size() / 2, std::size_t{5000}, std::size_t{50}}) {
    folder.write("cut.db", whole.substr(0, size));
    expect_error(hone(folder, {"show", "latest", "--archive", "cut.db"}), 3, {"cut.db"});
  }
}

TEST(ArchiveFault, NoFolderToWriteIn) {
  const Folder folder;
  write_task(folder);
  expect_error(hone(folder, {"optimize", ".", "--budget", "1evals", "--archive", "/proc/hone/archive.db"}), 3, {"/proc/hone"});
}

TEST(ArchiveFault, AReadOnlyFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const Folder folder;
  write_task(folder);
  fs::create_directory(folder / "kept");
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec);
  fs::permissions(folder.temporary(), fs::perms::all);
  Call call{{"optimize", ".", "--budget", "1evals", "--archive", "kept/archive.db"}, {{"HONE_CACHE", folder.temporary() / "cache"}}, 60, [] {
              if (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(96);
            }};
  const Ran ran = hone(folder, call);
  if (ran.code == 97) GTEST_SKIP() << "the build folder is closed to others";
  expect_error(ran, 3, {"read-only", "--archive"});
}

// The disk is full as soon as the archive has some size: here by a limit on the size of a file.
TEST(ArchiveFault, AFullDisk) {
  const Folder folder;
  write_task(folder);
  const Call call{{"optimize", ".", "--budget", "1evals", "--archive", "archive.db"}, {}, 60, [] {
                    ::signal(SIGXFSZ, SIG_IGN);
                    const rlimit limit{8192, RLIM_INFINITY};
                    ::setrlimit(RLIMIT_FSIZE, &limit);
                  }};
  const Ran ran = hone(folder, call);
  EXPECT_EQ(ran.code, 3) << ran.all();
  EXPECT_NE(ran.err.find("archive.db"), std::string::npos) << ran.all();
  EXPECT_EQ(strays(), std::vector<std::string>());
}

}  // namespace
}  // namespace hone::e2e
