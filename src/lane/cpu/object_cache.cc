#include "lane/cpu/object_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "lane/cpu/eviction.h"

namespace hone::lane {
namespace {

// An entry: the magic line, the digest of the rest, a line of JSON, the object.
constexpr std::string_view kMagic = "hone object 1\n";
constexpr std::size_t kDigest = 64;
constexpr unsigned kStoresBetweenEvictions = 64;

}  // namespace

fs::path ObjectCache::path_of(const std::string& key) const { return folder_ / key.substr(0, 2) / key.substr(2); }

std::optional<CachedObject> ObjectCache::find(const std::string& key) {
  const fs::path path = path_of(key);
  const auto text = read_file(path);
  if (!text.ok()) return std::nullopt;
  const auto damaged = [&path]() -> std::optional<CachedObject> {
    std::error_code ignored;
    fs::remove(path, ignored);
    log(LogLevel::warning, "removed a damaged entry of the object cache: " + path.string());
    return std::nullopt;
  };
  const std::string_view all = *text;
  const std::size_t start = kMagic.size() + kDigest + 1;
  if (all.size() < start || all.substr(0, kMagic.size()) != kMagic) return damaged();
  const std::string_view body = all.substr(start);
  if (all.substr(kMagic.size(), kDigest) != sha256(key + std::string(body))) return damaged();
  const auto line_end = body.find('\n');
  if (line_end == std::string_view::npos) return damaged();
  const auto meta = parse_json(body.substr(0, line_end), "object cache entry");
  if (!meta.ok()) return damaged();
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // recently used; a failure only ages it
  return CachedObject{*meta, std::string(body.substr(line_end + 1))};
}

void ObjectCache::store(const std::string& key, const CachedObject& object) {
  const std::string body =
      object.meta.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + object.object;
  const fs::path path = path_of(key);
  const Status made = make_folder(path.parent_path());
  const Status written =
      made.ok() ? write_file(path, std::string(kMagic) + sha256(key + body) + "\n" + body) : made;
  if (!written.ok()) log(LogLevel::debug, written.error().text());
  if (++stores_ % kStoresBetweenEvictions == 0) evict();
}

void ObjectCache::evict() {
  std::vector<CacheEntry> entries;
  std::error_code error;
  // Another process may remove what is listed here: every question may fail.
  for (fs::recursive_directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code one;
    if (!at->is_regular_file(one) || one) continue;
    const auto bytes = at->file_size(one);
    const auto used = one ? fs::file_time_type() : at->last_write_time(one);
    if (one) continue;
    entries.push_back({at->path(), bytes, used});
  }
  // With room, so that the next store does not evict again.
  if (total_bytes(entries) > max_bytes_) lane::evict(std::move(entries), max_bytes_ / 4 * 3);
}

}  // namespace hone::lane
