#pragma once
// Small text helpers: splitting, trimming, nearest spelling, cleaning what an untrusted process printed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
/// Splits on runs of blanks.
std::vector<std::string_view> words(std::string_view text);
bool is_identifier(std::string_view text);

/// The candidate nearest to `word` by edit distance, if near enough to be a likely typing slip.
std::optional<std::string> nearest_spelling(std::string_view word,
                                            const std::vector<std::string>& known);
/// " (did you mean 'x'?)" or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// Makes the output of an untrusted process printable: no escape or control characters but newline and
/// tab, invalid UTF-8 replaced, cut to `max_bytes` with a note of how much was left out.
std::string scrub(std::string_view text, std::size_t max_bytes = 4096);

/// The finite number at the front of `text`; `rest` is what follows it.
std::optional<double> leading_number(std::string_view text, std::string_view& rest);
/// Seconds in one "ms", "s", "m" or "min", "h"; 0 for any other word.
double seconds_in(std::string_view unit);

/// "1.5 ms", "820 us": a duration for people. Unit chosen by size.
std::string format_duration_ns(double nanoseconds);
std::string format_bytes(double bytes);
/// "1.23x" style with three significant digits.
std::string format_ratio(double ratio);

}  // namespace hone
