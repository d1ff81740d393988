#pragma once
// Admission, once a task: can this task tell right from wrong? Wrong answers that need no computing are put to the
// budget, the reference is run again, every input and scalar is moved.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "judge/budget.h"
#include "judge/watch.h"
#include "runner/session.h"

namespace hone::judge {

struct AdmissionFinding {
  std::string check;   ///< "null: zeros", "deterministic", "sensitive: x", "finite", …
  bool ok = false;
  bool strong = true;  ///< a failed strong check means that the task cannot tell right from wrong
  std::string detail;  ///< what was seen
  std::string next;    ///< what to change in the task; empty when ok
};

struct AdmissionReport {
  bool admitted = true;  ///< no strong check failed
  std::vector<AdmissionFinding> findings;
  std::uint64_t seed = 0;
  double ms = 0;
};
Json to_json(const AdmissionReport& report);

/// `seed` 0: entropy. Judged on the smallest timed case in which every output has elements. `watch` is asked before each
/// evaluation; its limit being over is an error.
Result<AdmissionReport> admit(runner::Session& session, std::uint64_t seed = 0, const Budget& budget = {},
                              const Watch* watch = nullptr);

}  // namespace hone::judge
