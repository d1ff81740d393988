#include "lane/cpu/prelude.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "lane/cpu/eviction.h"
#include "lane/cpu/jail_compile.h"
#include "lane/definitions.h"

namespace hone::lane {

extern const char kPreludeTypes[];
extern const char kPreludeReference[];

namespace {

/// Reading these takes longer than loading a precompiled header does.
constexpr const char* kSlowHeaders[] = {
    "algorithm", "array",        "bit",      "cmath",     "complex",   "cstdlib",     "functional", "immintrin.h",
    "math.h",    "memory",       "numeric",  "span",      "stdlib.h",  "string",      "tuple",      "utility",
    "vector",    "x86intrin.h",  "emmintrin.h", "xmmintrin.h", "smmintrin.h", "tmmintrin.h", "nmmintrin.h", "pmmintrin.h"};
/// These are quick, and go along when a slow one is there.
constexpr const char* kQuickHeaders[] = {"cfloat",  "climits",  "cstddef", "cstdint",    "cstring",  "float.h",
                                         "limits",  "limits.h", "stddef.h", "stdint.h",  "string.h", "type_traits"};

constexpr int kRequestsBeforeMaking = 2;
constexpr std::uint64_t kMaxStoreBytes = std::uint64_t{1} << 30;

/// The name in `#include <name>`, or empty.
std::string_view included(std::string_view line) {
  line = trim(line);
  if (line.empty() || line[0] != '#') return {};
  line = trim(line.substr(1));
  if (line.rfind("include", 0) != 0) return {};
  line = trim(line.substr(7));
  const auto close = line.find('>');
  if (line.empty() || line[0] != '<' || close == std::string_view::npos) return {};
  return line.substr(1, close - 1);
}

/// `#define _GNU_SOURCE`, `#define NDEBUG`: macros that headers read.
bool speaks_to_headers(std::string_view line) {
  line = trim(line);
  if (line.empty() || line[0] != '#') return false;
  line = trim(line.substr(1));
  if (line.rfind("define", 0) != 0 && line.rfind("undef", 0) != 0) return false;
  const auto all = words(line);
  return all.size() > 1 && (all[1][0] == '_' || all[1].rfind("NDEBUG", 0) == 0);
}

bool others_may_pass(fs::path folder) {
  for (; !folder.empty(); folder = folder.parent_path()) {
    struct stat info {};
    if (::stat(folder.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) == 0) return false;
    if (folder == folder.parent_path()) break;
  }
  return true;
}

/// A folder that is ours alone to write, whatever another user of /tmp made before us.
bool ours(const fs::path& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void keep_within(const fs::path& folder, std::uint64_t max_bytes) {
  std::vector<CacheEntry> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code one;
    std::uint64_t bytes = 0;
    for (fs::directory_iterator file(at->path(), one), last; !one && file != last; file.increment(one))
      bytes += file->file_size(one);
    entries.push_back({at->path(), bytes, at->last_write_time(one)});
  }
  evict(std::move(entries), max_bytes);  // who has one bound keeps it until done
}

/// Definitions of the user's do not change what a header says: one header serves all values of a tunable.
std::vector<std::string> without_definitions(std::vector<std::string> flags) {
  std::erase_if(flags, [](const std::string& flag) { return flag.rfind("-D", 0) == 0; });
  return flags;
}

Result<bool> make(const fs::path& folder, const fs::path& target, const Prelude& prelude, const Toolchain& tools,
                  const std::vector<std::string>& flags) {
  HONE_TRY(const std::string bytes, precompile(prelude.text, tools, flags));
  if (bytes.empty()) return false;
  const fs::path draft = folder / fmt::format("draft-{}-{:016x}", ::getpid(), entropy64());
  HONE_CHECK(make_folder(draft));
  const auto give_up = [&draft] {
    std::error_code ignored;
    fs::remove_all(draft, ignored);
    return false;
  };
  const char* name = tools.clang ? "prelude.pch" : "prelude.h.gch";
  if (!write_file(draft / "prelude.h", prelude.text).ok() || !write_file(draft / name, bytes).ok() ||
      !write_file(draft / "digest", identity_hash(bytes)).ok())
    return give_up();
  ::chmod(draft.c_str(), 0755);
  std::error_code error;
  fs::rename(draft, target, error);
  if (error && !fs::exists(target / name)) return give_up();
  if (error) give_up();  // another process was first
  keep_within(folder, kMaxStoreBytes);
  return true;
}

bool intact(const fs::path& folder, const Toolchain& tools) {
  const auto bytes = read_file(folder / (tools.clang ? "prelude.pch" : "prelude.h.gch"));
  const auto digest = read_file(folder / "digest", 256);
  return bytes.ok() && digest.ok() && identity_hash(*bytes) == *digest;
}

}  // namespace

std::vector<std::string> headers_to_precompile(const std::string& source) {
  std::set<std::string> found;
  bool slow = false;
  for (const auto line : split(source, '\n')) {
    if (speaks_to_headers(line)) return {};
    const std::string_view name = included(line);
    if (name.empty()) continue;
    const auto is_name = [&name](const char* known) { return name == known; };
    const bool is_slow = std::any_of(std::begin(kSlowHeaders), std::end(kSlowHeaders), is_name);
    if (!is_slow && std::none_of(std::begin(kQuickHeaders), std::end(kQuickHeaders), is_name)) continue;
    slow = slow || is_slow;
    found.emplace(name);
  }
  if (!slow) return {};
  return {found.begin(), found.end()};
}

Prelude prelude_for(const candidate::Resolved& resolved) {
  Prelude prelude;
  prelude.text = kPreludeTypes;
  prelude.headers = headers_to_precompile(resolved.source);
  for (const auto& header : prelude.headers) prelude.text += "#include <" + header + ">\n";
  if (speaks_hone(resolved)) prelude.text += definitions(resolved) + kPreludeReference;
  return prelude;
}

Result<std::unique_ptr<PreludeStore>> PreludeStore::open(const fs::path& cache) {
  const fs::path wanted = cache / "prelude";
  if (make_folder(wanted).ok() && others_may_pass(wanted) && ours(wanted)) return std::make_unique<PreludeStore>(wanted);
  fs::path folder = fmt::format("/tmp/hone-prelude-{}", ::geteuid());
  if (::mkdir(folder.c_str(), 0755) != 0 && !ours(folder)) {
    std::string name = folder.string() + "-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return system_error("cannot make a folder for precompiled headers in /tmp", errno);
    folder = name;
  }
  ::chmod(folder.c_str(), 0755);
  return std::make_unique<PreludeStore>(folder);
}

Result<fs::path> PreludeStore::get(const Prelude& prelude, const Toolchain& tools, const std::vector<std::string>& flags,
                                   bool at_once) {
  if (prelude.headers.empty()) return fs::path();
  const auto own = without_definitions(flags);
  const std::string key =
      identity_hash(fmt::format("{}\n{}\n{}", tools.fingerprint(), fmt::join(tools.expand(own), " "), prelude.text));
  const fs::path target = folder_ / key;
  {
    const std::scoped_lock lock(mutex_);
    int& requests = requests_[key];
    if (requests == -1) {
      if (fs::exists(target / "digest")) return target;
      requests = kRequestsBeforeMaking;  // evicted meanwhile
    }
    if (requests == -2) return fs::path();
    if (fs::exists(target / "digest")) {
      if (intact(target, tools)) {
        requests = -1;
        return target;
      }
      std::error_code ignored;
      fs::remove_all(target, ignored);
    }
    if (!at_once && requests++ < kRequestsBeforeMaking) return fs::path();
    requests = -2;  // while it is made here, other threads compile without
  }
  const auto made = make(folder_, target, prelude, tools, own);
  const bool good = made.ok() && *made && intact(target, tools);
  {
    const std::scoped_lock lock(mutex_);
    requests_[key] = good ? -1 : -2;
  }
  if (!made.ok()) return made.error();
  return good ? target : fs::path();
}

}  // namespace hone::lane
