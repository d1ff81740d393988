#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "store/archive.h"
#include "store/inner.h"

namespace hone::store {
namespace {

constexpr std::size_t kShortestHash = 6;
constexpr std::size_t kSuffix = 4;
constexpr std::size_t kListed = 8;

Result<std::vector<std::string>> all_ids(const Database& db) {
  HONE_TRY(Statement s, db.prepare("SELECT id FROM runs ORDER BY key DESC"));
  std::vector<std::string> out;
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    out.push_back(s.text(0));
  }
}

Error ambiguous(std::string_view name, const std::vector<std::string>& found) {
  std::string list;
  for (std::size_t i = 0; i < std::min(found.size(), kListed); ++i) list += (i ? ", " : "") + found[i];
  if (found.size() > kListed) list += fmt::format(" and {} more", found.size() - kListed);
  return usage_error(fmt::format("'{}' may be any of {}", name, list), "Write more of it");
}

bool is_hash_prefix(std::string_view text) {
  return text.size() >= kShortestHash && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Prefix search as a range, so that the index serves it: '…' up to and without the same with 'g' appended,
// which follows every hexadecimal digit.
Result<std::vector<Target>> by_hash(const Database& db, const std::string& prefix) {
  HONE_TRY(Statement s, db.prepare(
      "SELECT r.id, c.number FROM candidates c JOIN runs r ON r.key = c.run WHERE c.source_identity <> '' AND "
      "c.source_identity >= ?1 AND c.source_identity < ?1 || 'g' UNION SELECT r.id, e.number FROM evaluations e "
      "JOIN runs r ON r.key = e.run WHERE e.identity <> '' AND e.identity >= ?1 AND e.identity < ?1 || 'g' LIMIT 9", prefix));
  std::vector<Target> out;
  for (;;) {
    HONE_TRY(const bool row, s.step());
    if (!row) return out;
    out.push_back({s.text(0), s.integer(1)});
  }
}

}  // namespace

Result<std::string> Archive::find_run(std::string_view name) const {
  const std::string wanted(trim(name));
  HONE_TRY(const std::vector<std::string> ids, all_ids(inner_->database));
  if (ids.empty())
    return usage_error("the archive " + inner_->file.string() + " holds no run", "`hone optimize` makes the first");
  if (wanted == "latest") return ids.front();
  if (std::find(ids.begin(), ids.end(), wanted) != ids.end()) return wanted;
  std::vector<std::string> found;
  if (!wanted.empty())
    for (const std::string& id : ids)
      if (id.starts_with(wanted) || (wanted.size() == kSuffix && id.ends_with("-" + wanted))) found.push_back(id);
  if (found.size() == 1) return found.front();
  if (found.size() > 1) return ambiguous(wanted, found);
  std::vector<std::string> known = ids;
  known.push_back("latest");
  return usage_error(fmt::format("no run is called '{}'{}", wanted, did_you_mean(wanted, known)),
                     "`hone runs` lists them; 'latest' is the newest");
}

Result<Target> Archive::find(std::string_view name) const {
  const std::string_view wanted = trim(name);
  if (const std::size_t slash = wanted.rfind('/'); slash != std::string_view::npos) {
    HONE_TRY(std::string id, find_run(wanted.substr(0, slash)));
    const std::string_view rest = wanted.substr(slash + 1);
    if (rest == "best") {
      HONE_TRY(const auto best, best_of(id));
      if (!best) return usage_error("no candidate of run " + id + " was faster", "`hone show " + id + "` says what was tried");
      return Target{std::move(id), best->candidate};
    }
    std::int64_t number = 0;
    const auto [at, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (rest.empty() || error != std::errc() || at != rest.data() + rest.size())
      return usage_error(fmt::format("'{}' names no candidate: expected a number or 'best' after the '/'", wanted));
    HONE_TRY(const std::int64_t run_key, inner_->run_key(id));
    HONE_TRY(const std::int64_t candidate_key, inner_->candidate_key(run_key, number));
    (void)candidate_key;
    return Target{std::move(id), number};
  }
  auto as_run = find_run(wanted);
  if (as_run.ok()) return Target{std::move(*as_run), std::nullopt};
  if (!is_hash_prefix(wanted)) return std::move(as_run).error();
  HONE_TRY(const std::vector<Target> found, by_hash(inner_->database, std::string(wanted)));
  if (found.empty()) return std::move(as_run).error();
  if (found.size() == 1) return found.front();
  std::vector<std::string> names;
  for (const Target& one : found) names.push_back(fmt::format("{}/{}", one.run, *one.candidate));
  return ambiguous(wanted, names);
}

}  // namespace hone::store
