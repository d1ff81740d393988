#pragma once
// From a report to a Document.

#include <fmt/format.h>

#include "base/clock.h"
#include "base/result.h"
#include "hone/hone.h"
#include "judge/watch.h"
#include "report/style.h"

namespace hone::engine {

inline report::Style style_of(const Common& common) {
  report::Style style;
  style.color = common.colour;
  return style;
}

template <typename Report>
Document document_of(const Report& report, const Common& common, int exit_code) {
  return Document{to_text(report, style_of(common)), to_json(report).dump(2), exit_code};
}

/// Of a limit_s: clocks count nanoseconds in 64 bits.
inline Status check_limit(double limit_s) {
  constexpr double kLongest_s = 1e8;
  if (limit_s >= 0 && limit_s <= kLongest_s) return {};
  return usage_error(fmt::format("the time limit is {:g} s, expected 0 to 1e8 s (three years)", limit_s),
                     "0 means no limit");
}

/// Tells the caller what is being done, for verbs that have nothing to count.
inline void announce(const Common& common, const std::string& doing, double left_s = -1) {
  if (!common.progress) return;
  ProgressEvent event;
  event.tried = -1;
  event.doing = doing;
  event.left_s = left_s;
  common.progress(event);
}

/// A judgement that tells its caller where it stands, can be cancelled, and ends after `limit_s` (0: no limit).
inline judge::Watch watch_of(const Common& common, double limit_s = 0) {
  return judge::Watch(limit_s, common.cancel,
                      [&common](const std::string& doing, double left_s) { announce(common, doing, left_s); });
}

}  // namespace hone::engine
