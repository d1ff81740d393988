#pragma once
// What both caches on disk do when they are full.

#include <cstdint>
#include <vector>

#include "base/files.h"

namespace hone::lane {

/// A file or a folder of a cache.
struct CacheEntry {
  fs::path path;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};

std::uint64_t total_bytes(const std::vector<CacheEntry>& entries);
/// Removes those unused for longest until at most `keep_bytes` are left. What cannot be removed is left to the next.
void evict(std::vector<CacheEntry> entries, std::uint64_t keep_bytes);

}  // namespace hone::lane
