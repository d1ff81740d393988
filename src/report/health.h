#pragma once
// Doctor and errors as text and JSON (docs/schema/doctor.json, error.json).

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "report/style.h"

namespace hone::report {

/// One thing that is there, half there or missing.
struct Check {
  enum class State { ok, limited, missing };
  std::string name;    ///< "g++", "sandbox: user namespaces", "cgroup freezer"
  State state = State::ok;
  std::string detail;  ///< version or what was seen
  std::string cure;    ///< how to get it; empty when ok
};
/// What this machine can tell apart, measured.
struct Resolution {
  std::string kernel;             ///< "20 us", "15 ms memory-bound"
  int trials = 0;
  double covered = 0;             ///< share of A/A intervals that hold 1
  double planted = 0;             ///< slowdown planted, 0.025
  double found = 0;               ///< share of planted slowdowns found
  double half_width = 0;          ///< of the interval, median
};
struct DoctorReport {
  std::vector<Check> checks;
  std::vector<std::string> lanes;        ///< those that work
  std::vector<std::string> sandbox;      ///< layers that hold
  std::vector<Resolution> resolution;    ///< empty when not measured
  Json device = Json::object();          ///< device::to_json
};
/// DESIGN.md §11: true when at least the cpu lane works.
bool healthy(const DoctorReport& report);
std::string to_text(const DoctorReport& report, const Style& style);
Json to_json(const DoctorReport& report);

/// "error: cause" and "try: cure", with details as fields.
std::string error_text(const Error& error, const Style& style);
Json error_json(const Error& error);

}  // namespace hone::report
