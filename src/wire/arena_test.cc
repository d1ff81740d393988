#include "wire/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace hone::wire {
namespace {

bool maps_for_writing(int fd) {
  void* data = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return false;
  ::munmap(data, kPageBytes);
  return true;
}

/// The signal that touching this byte ends a process with; 0: none.
int signal_of_touch(const std::byte* at) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    ::signal(SIGBUS, SIG_DFL);
    [[maybe_unused]] const volatile std::byte value = *const_cast<const volatile std::byte*>(at);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(Arena, ReadersSeeTheOwnersWritesButHaveNoWayToWrite) {
  auto arena = Arena::create(3 * kPageBytes, "input");
  ASSERT_TRUE(arena.ok());
  ASSERT_TRUE(arena->seal_for_readers().ok());
  auto reader = map_guarded(arena->fd(), 0, 3 * kPageBytes, false);
  ASSERT_TRUE(reader.ok());
  arena->bytes()[5] = std::byte{42};  // the owner refills after sealing
  EXPECT_EQ(reader->bytes()[5], std::byte{42});

  EXPECT_FALSE(map_guarded(arena->fd(), 0, kPageBytes, true).ok());
  EXPECT_FALSE(maps_for_writing(arena->fd()));
  EXPECT_NE(::mprotect(reader->bytes().data(), kPageBytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(::pwrite(arena->fd(), "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(arena->fd(), kPageBytes), -1);
  EXPECT_EQ(::ftruncate(arena->fd(), 4 * kPageBytes), -1);
  EXPECT_EQ(::fallocate(arena->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPageBytes),
            -1);
  UniqueFd again(::open(fmt::format("/proc/self/fd/{}", arena->fd()).c_str(), O_RDWR | O_CLOEXEC));
  if (again.valid()) {
    EXPECT_FALSE(maps_for_writing(again.get()));
    EXPECT_EQ(::pwrite(again.get(), "x", 1, 0), -1);
  }
  EXPECT_EQ(arena->bytes()[0], std::byte{0});
}

TEST(Arena, OutputsCanBeWrittenButNotResized) {
  auto arena = Arena::create(kPageBytes, "output");
  ASSERT_TRUE(arena.ok());
  ASSERT_TRUE(arena->seal_size().ok());
  auto writer = map_guarded(arena->fd(), 0, kPageBytes, true);
  ASSERT_TRUE(writer.ok());
  writer->bytes()[7] = std::byte{9};
  EXPECT_EQ(arena->bytes()[7], std::byte{9});
  EXPECT_EQ(::ftruncate(arena->fd(), 0), -1);
  EXPECT_EQ(::ftruncate(arena->fd(), 2 * kPageBytes), -1);
  EXPECT_EQ(::fcntl(arena->fd(), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST(Arena, RoundsUpToPagesAndIsCloseOnExec) {
  for (const std::size_t bytes : {0UL, 1UL, kPageBytes, kPageBytes + 1}) {
    auto arena = Arena::create(bytes, "size", false);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ(arena->bytes().size() % kPageBytes, 0U);
    EXPECT_GE(arena->bytes().size(), std::max(bytes, kPageBytes));
    EXPECT_LT(arena->bytes().size(), bytes + 2 * kPageBytes);
    EXPECT_EQ(::fcntl(arena->fd(), F_GETFD), FD_CLOEXEC);
  }
}

TEST(Arena, MovesKeepTheMemory) {
  auto made = Arena::create(kPageBytes, "move");
  ASSERT_TRUE(made.ok());
  Arena first = std::move(*made);
  first.bytes()[0] = std::byte{1};
  Arena second = std::move(first);
  EXPECT_EQ(second.bytes()[0], std::byte{1});
  EXPECT_TRUE(first.bytes().empty());  // NOLINT: that is the question
}

TEST(Mapping, LiesBetweenGuards) {
  auto arena = Arena::create(4 * kPageBytes, "guards");
  ASSERT_TRUE(arena.ok());
  auto mapping = map_guarded(arena->fd(), kPageBytes, 2 * kPageBytes, true);
  ASSERT_TRUE(mapping.ok());
  const std::byte* data = mapping->bytes().data();
  const std::size_t size = mapping->bytes().size();
  ASSERT_EQ(size, 2 * kPageBytes);
  EXPECT_EQ(signal_of_touch(data), 0);
  EXPECT_EQ(signal_of_touch(data + size - 1), 0);
  for (const std::size_t distance : {std::size_t{1}, kGuardBytes})
    EXPECT_EQ(signal_of_touch(data - distance), SIGSEGV) << distance;
  for (const std::size_t distance : {std::size_t{0}, kGuardBytes - 1})
    EXPECT_EQ(signal_of_touch(data + size + distance), SIGSEGV) << distance;
  arena->bytes()[kPageBytes] = std::byte{77};
  EXPECT_EQ(data[0], std::byte{77}) << "the offset is kept";
}

TEST(Mapping, RefusesWhatTheFileDoesNotHold) {
  auto arena = Arena::create(2 * kPageBytes, "short");
  ASSERT_TRUE(arena.ok());
  EXPECT_FALSE(map_guarded(arena->fd(), 0, 2 * kPageBytes + 1, true).ok());
  EXPECT_FALSE(map_guarded(arena->fd(), 2 * kPageBytes, 1, true).ok());
  EXPECT_FALSE(map_guarded(arena->fd(), 1ULL << 40, 1, true).ok());
  EXPECT_FALSE(map_guarded(arena->fd(), 100, 1, true).ok());
  EXPECT_FALSE(map_guarded(arena->fd(), 0, ~std::size_t{0}, true).ok());
  auto empty = map_guarded(arena->fd(), 0, 0, true);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->bytes().empty());
}

}  // namespace
}  // namespace hone::wire
