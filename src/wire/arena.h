#pragma once
// Shared tensors: memory that one process owns and another maps between guards. The seals, not the
// protection bits, keep a receiver from writing: mprotect could be undone by the code that is
// judged.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace hone::wire {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kGuardBytes = 64 * 1024;

/// A memfd and its owner's read-write map. Move-only.
class Arena {
 public:
  /// `bytes` is rounded up to whole pages; zero-filled; every page touched once when `populate`.
  static Result<Arena> create(std::size_t bytes, const char* name, bool populate = true);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  /// For inputs: whoever receives fd() can only read; the owner's map stays writable. Size fixed.
  Status seal_for_readers();
  /// For outputs: receivers may write, nobody may change the size.
  Status seal_size();

  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  int fd() const { return fd_.get(); }

 private:
  Arena(UniqueFd fd, std::byte* data, std::size_t size);
  UniqueFd fd_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A stretch of a file mapped between two PROT_NONE guards of kGuardBytes. Move-only.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  /// Exactly the bytes asked for; the last page is accessible to its end.
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  friend Result<Mapping> map_guarded(int, std::uint64_t, std::size_t, bool, std::uint64_t);
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
};

/// Maps `bytes` of `fd` from the page-aligned `offset`, shared. 0 bytes give an empty Mapping.
/// Fails when the file is shorter, or when `writable` is asked of a sealed input. `at`: where it should start if
/// nothing lies there; 0: anywhere.
Result<Mapping> map_guarded(int fd, std::uint64_t offset, std::size_t bytes, bool writable,
                            std::uint64_t at = 0);

}  // namespace hone::wire
