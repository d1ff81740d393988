#pragma once
// Finished objects by content: source, prelude, flags and toolchain. ccache never caches one-step shared
// builds and costs 20 ms a miss; this is a read and a hash.

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"

namespace hone::lane {

struct CachedObject {
  Json meta = Json::object();
  std::string object;
};

/// Safe with several processes: entries appear by rename, are checked by SHA-256 when read, and a damaged one
/// is a miss and removed. When all entries together pass `max_bytes`, the least recently used go.
class ObjectCache {
 public:
  ObjectCache(std::filesystem::path folder, std::uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  std::optional<CachedObject> find(const std::string& key);
  /// A full disk or a read-only folder only means that nothing is kept.
  void store(const std::string& key, const CachedObject& object);
  void evict();

 private:
  std::filesystem::path path_of(const std::string& key) const;
  std::filesystem::path folder_;
  std::uint64_t max_bytes_;
  std::atomic<unsigned> stores_{0};
};

}  // namespace hone::lane
