#include "wire/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hone::wire {
namespace {

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void unmap(std::byte* data, std::size_t size) {
  if (data != nullptr) ::munmap(data, size);
}

Status add_seals(int fd, int seals) {
  if (::fcntl(fd, F_ADD_SEALS, seals) == 0) return {};
  return system_error("sealing shared memory failed", errno, "Linux 5.1 or later is needed.");
}

}  // namespace

Arena::Arena(UniqueFd fd, std::byte* data, std::size_t size)
    : fd_(std::move(fd)), data_(data), size_(size) {}
Arena::Arena(Arena&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}
Arena& Arena::operator=(Arena&& other) noexcept {
  if (this != &other) {
    unmap(data_, size_);
    fd_ = std::move(other.fd_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}
Arena::~Arena() { unmap(data_, size_); }

Result<Arena> Arena::create(std::size_t bytes, const char* name, bool populate) {
  const std::size_t size = whole_pages(bytes == 0 ? 1 : bytes);
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return system_error("creating shared memory failed", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    return system_error(fmt::format("sizing shared memory to {} bytes failed", size), errno);
  // Touching the pages here, once, is what makes every later use cheap: a fault costs 2-4 us a
  // page.
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | (populate ? MAP_POPULATE : 0), fd.get(), 0);
  if (data == MAP_FAILED)
    return system_error(fmt::format("mapping {} bytes of shared memory failed", size), errno,
                        "Free memory, or use smaller cases.");
  return Arena(std::move(fd), static_cast<std::byte*>(data), size);
}

Status Arena::seal_for_readers() {
  return add_seals(fd_.get(), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
}
Status Arena::seal_size() {
  return add_seals(fd_.get(), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      base_(std::exchange(other.base_, nullptr)),
      reserved_(std::exchange(other.reserved_, 0)) {}
Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    unmap(base_, reserved_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    base_ = std::exchange(other.base_, nullptr);
    reserved_ = std::exchange(other.reserved_, 0);
  }
  return *this;
}
Mapping::~Mapping() { unmap(base_, reserved_); }

Result<Mapping> map_guarded(int fd, std::uint64_t offset, std::size_t bytes, bool writable,
                            std::uint64_t at) {
  Mapping mapping;
  if (bytes == 0) return mapping;
  if (offset % kPageBytes != 0) return bug_error("a shared tensor must start at a page");
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error("looking at shared memory failed", errno);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (offset > size || bytes > size - offset)
    return environment_error(
        fmt::format("shared memory of {} bytes does not hold {} bytes at {}", size, bytes, offset));
  const std::size_t inside = whole_pages(bytes);
  const std::size_t reserved = inside + 2 * kGuardBytes;
  constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* base = MAP_FAILED;
  if (at > kGuardBytes)
    base = ::mmap(reinterpret_cast<void*>(at - kGuardBytes), reserved, PROT_NONE, kReserve | MAP_FIXED_NOREPLACE, -1, 0);
  if (base == MAP_FAILED) base = ::mmap(nullptr, reserved, PROT_NONE, kReserve, -1, 0);
  if (base == MAP_FAILED) return system_error("reserving address space failed", errno);
  mapping.base_ = static_cast<std::byte*>(base);
  mapping.reserved_ = reserved;
  mapping.data_ = mapping.base_ + kGuardBytes;
  mapping.size_ = bytes;
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* data = ::mmap(mapping.data_, inside, protection,
                      MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                      static_cast<off_t>(offset));
  if (data == MAP_FAILED)
    return system_error(fmt::format("mapping {} bytes of shared memory failed", bytes), errno,
                        writable ? "Sealed inputs cannot be mapped for writing." : "");
  return mapping;
}

}  // namespace hone::wire
