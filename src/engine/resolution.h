#pragma once
// What this machine can resolve: kernels timed against themselves (A/A: the interval should hold 1) and against a copy
// made slower on purpose. `hone doctor` runs a few, bench/resolution many.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "engine/bench.h"
#include "measure/compare.h"

namespace hone::engine {

/// A built-in task whose kernel can be slowed by a tunable EXTRA, in thousandths of its work.
struct Ruler {
  std::string name;       ///< "20 us", "1 ms", "3 ms OpenMP", "15 ms memory-bound"
  std::string task_text, source;
  int planted = 25;       ///< thousandths; a value of EXTRA
};
const std::vector<Ruler>& rulers();

/// A ruler's task opened, with both programs built.
struct OpenRuler {
  Bench bench;
  runner::Program plain, slowed;
};
/// `folder` takes the task's files and must outlive it.
Result<OpenRuler> open_ruler(const Ruler& ruler, const fs::path& folder, const Common& common);

struct Trials {
  int same = 0, same_held = 0, same_faster = 0, same_slower = 0;  ///< A/A: interval holds 1; "faster", "slower" at the margin
  int slowed = 0, slowed_found = 0;          ///< planted: interval wholly below 1
  std::vector<double> half_widths;           ///< of A/A intervals, relative
  std::vector<double> errors;                ///< of A/A: ratio − 1
};
/// Adds trials of one ruler. `slots_s` of timed slots each.
Status run_trials(OpenRuler& ruler, int same, int slowed, double slots_s, const std::atomic<bool>* cancel, Trials& trials,
                  const std::function<void(const Trials&)>& progress = {});

}  // namespace hone::engine
