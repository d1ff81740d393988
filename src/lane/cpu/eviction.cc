#include "lane/cpu/eviction.h"

#include <algorithm>

namespace hone::lane {

std::uint64_t total_bytes(const std::vector<CacheEntry>& entries) {
  std::uint64_t total = 0;
  for (const CacheEntry& entry : entries) total += entry.bytes;
  return total;
}

void evict(std::vector<CacheEntry> entries, std::uint64_t keep_bytes) {
  std::uint64_t total = total_bytes(entries);
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) { return a.used < b.used; });
  for (const CacheEntry& entry : entries) {
    if (total <= keep_bytes) return;
    std::error_code ignored;
    fs::remove_all(entry.path, ignored);
    total -= entry.bytes;
  }
}

}  // namespace hone::lane
