#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

namespace hone {

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
    const std::size_t start = i;
    while (i < text.size() && !std::isspace(static_cast<unsigned char>(text[i]))) ++i;
    if (i > start) out.push_back(text.substr(start, i - start));
  }
  return out;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

std::optional<std::string> nearest_spelling(std::string_view word,
                                            const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t best_distance = word.size() / 3 + 2;  // further away is no typing slip
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  for (const std::string& name : known) {
    // Edits are insertions, deletions, replacements and swaps of neighbours, the commonest slip.
    std::vector<std::size_t> before(name.size() + 1), last(name.size() + 1), row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::swap(before, last);
      std::swap(last, row);
      row[0] = i;
      for (std::size_t j = 1; j <= name.size(); ++j) {
        row[j] = std::min({last[j - 1] + (same(word[i - 1], name[j - 1]) ? 0 : 1), last[j] + 1, row[j - 1] + 1});
        if (i > 1 && j > 1 && same(word[i - 1], name[j - 2]) && same(word[i - 2], name[j - 1]))
          row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    if (row[name.size()] < best_distance) {
      best_distance = row[name.size()];
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const auto best = nearest_spelling(word, known);
  return best ? " (did you mean '" + *best + "'?)" : "";
}

std::string scrub(std::string_view text, std::size_t max_bytes) {
  const std::size_t whole = text.size();
  text = text.substr(0, max_bytes);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t length = c < 0x80 ? 1 : (c >> 5) == 6 ? 2 : (c >> 4) == 14 ? 3 : (c >> 3) == 30 ? 4 : 0;
    bool good = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; good && k < length; ++k)
      good = (static_cast<unsigned char>(text[i + k]) >> 6) == 2;
    // C1 controls (U+0080..U+009F) drive terminals as escape does; overlong forms could hide controls.
    if (good && length == 2 && (c < 0xC2 || (c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0)))
      good = false;
    if (good && length == 3 && c == 0xE0 && static_cast<unsigned char>(text[i + 1]) < 0xA0) good = false;
    if (good && length == 3 && c == 0xED && static_cast<unsigned char>(text[i + 1]) > 0x9F) good = false;
    if (good && length == 4 && ((c == 0xF0 && static_cast<unsigned char>(text[i + 1]) < 0x90) || c > 0xF4 ||
                                (c == 0xF4 && static_cast<unsigned char>(text[i + 1]) > 0x8F)))
      good = false;
    if (good && length == 1) good = c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7F);
    if (good) {
      out.append(text.substr(i, length));
      i += length;
    } else {
      if (c != '\r') out += '?';
      ++i;
    }
  }
  if (whole > max_bytes) out += fmt::format("\n[{} bytes left out]", whole - max_bytes);
  return out;
}

std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

double seconds_in(std::string_view unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  return unit == "h" ? 3600 : 0;
}

std::string format_duration_ns(double ns) {
  const double a = std::abs(ns);
  if (a < 1e3) return fmt::format("{:.0f} ns", ns);
  if (a < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  if (a < 1e9) return fmt::format("{:.3g} ms", ns / 1e6);
  if (a < 100e9) return fmt::format("{:.3g} s", ns / 1e9);
  return fmt::format("{:.0f} s", ns / 1e9);
}

std::string format_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (std::abs(bytes) >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string format_ratio(double ratio) {
  if (!std::isfinite(ratio)) return "?";
  if (ratio >= 100) return fmt::format("{:.0f}x", ratio);
  if (ratio >= 10) return fmt::format("{:.1f}x", ratio);
  return fmt::format("{:.3f}x", ratio);
}

}  // namespace hone
