#pragma once
// What `hone export` wrote, and what `hone replay` found, as text and JSON (docs/schema/export.json, replay.json).

#include <string>
#include <vector>

#include "base/json.h"
#include "judge/verdict.h"
#include "report/style.h"
#include "store/archive.h"

namespace hone::report {

struct ExportReport {
  std::string run, folder, kernel;
  store::EvaluationRow best;              ///< its depth is said: one only screened was never verified in full
};
std::string to_text(const ExportReport& report, const Style& style);
Json to_json(const ExportReport& report);

enum class Replayed { reproduced, not_reproduced, cannot_be_compared };
/// "reproduced", "not reproduced", "cannot be compared"
const char* name_of(Replayed answer);

struct ReplayReport {
  std::string folder;
  Replayed answer = Replayed::reproduced;
  std::vector<std::string> reasons;       ///< what decided comes first
  judge::Verdict then, now;
};
/// Holds the new verdict against the old one. A timing that says nothing (undecided, invalid, or of another device)
/// neither reproduces a speed-up nor refutes it; that what was right is wrong now decides before any time does.
ReplayReport replay_report(std::string folder, judge::Verdict then, judge::Verdict now);
std::string to_text(const ReplayReport& report, const Style& style);
Json to_json(const ReplayReport& report);

}  // namespace hone::report
