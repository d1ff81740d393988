#pragma once
// From a report to a Document.

#include "base/clock.h"
#include "hone/hone.h"
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

/// Tells the caller what is being done, for verbs that have nothing to count.
inline void announce(const Common& common, const std::string& doing) {
  if (!common.progress) return;
  ProgressEvent event;
  event.doing = doing;
  common.progress(event);
}

}  // namespace hone::engine
