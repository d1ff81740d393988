#pragma once
// A verdict, and a list of comparisons, as text and JSON (docs/schema/verdict.json, compare.json).

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "judge/verdict.h"
#include "report/style.h"

namespace hone::report {

struct VerdictReport {
  std::string task, candidate;            ///< as the user named them
  judge::Verdict verdict;
  std::optional<double> faster_than;      ///< --faster-than: then accepted needs the lower bound above it
  std::string evidence;                   ///< folder, or empty
};
/// Correct, and with faster_than the lower bound of the speed-up above it.
bool accepted(const VerdictReport& report);
std::string to_text(const VerdictReport& report, const Style& style);
Json to_json(const VerdictReport& report);

/// `a` against `b`: ratio > 1 says a is faster. bench: b is the baseline.
struct Comparison {
  std::string a, b;
  std::vector<judge::Speed> speeds;       ///< one per timed case
  judge::Answer answer = judge::Answer::undecided;
  double geomean = 1, geomean_low = 1, geomean_high = 1;
  std::optional<candidate::Failure> failure;  ///< a or b did not run or was not correct; no speeds then
};
struct CompareReport {
  std::string task;
  std::vector<Comparison> comparisons;
  std::vector<std::string> sandbox;       ///< layers that held
  std::string device;
  double total_ms = 0;
};
/// False when a comparison failed or is invalid.
bool all_measured(const CompareReport& report);
std::string to_text(const CompareReport& report, const Style& style);
Json to_json(const CompareReport& report);

/// What a reader can do about a failure: the judge's word in the evidence, else that of judge/reasons.h.
std::string advice(const candidate::Failure& failure);
/// The evidence of a failure, a line a fact: index, values, errors, distribution, seed, then whatever else is there.
std::string evidence_text(const candidate::Failure& failure, const Style& style, std::string_view indent);
std::string speeds_text(const std::vector<judge::Speed>& speeds, const Style& style, std::string_view indent);
/// "TILE=8 OPT=-O3"
std::string assignment_text(const candidate::Assignment& assignment);
/// "uid, bubblewrap"; "none" when no layer held.
std::string layers_text(const Json& sandbox);

}  // namespace hone::report
