#pragma once
// Copies and fills that go past the caches, so that what they wrote is cold for whoever reads it next.

#include <cstddef>
#include <cstdint>
#include <span>

namespace hone::runner {

/// memcpy with non-temporal stores. `to` is 16-byte aligned.
void stream_copy(std::byte* to, const std::byte* from, std::uint64_t bytes);
/// Repeats `pattern` (1, 2, 4 or 8 bytes) with non-temporal stores.
void stream_fill(std::byte* to, std::uint64_t bytes, std::span<const std::byte> pattern);
/// Writes the lines back and drops them from every cache.
void flush_lines(const std::byte* at, std::uint64_t bytes);

}  // namespace hone::runner
