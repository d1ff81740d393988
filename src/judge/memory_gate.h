#pragma once
// The memory gate: the candidate built with sanitizers, run on small cases in buffers of exact size. Each tool first
// catches a planted fault and passes a clean kernel on this machine; a tool that is missing is never a pass.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "judge/verdict.h"
#include "judge/watch.h"
#include "runner/session.h"
#include "task/task.h"

namespace hone::judge {

struct MemoryOptions {
  bool allow_missing_tools = false;  ///< a tool this machine lacks skips its part of the gate instead of an error
  std::int64_t largest_bytes = std::int64_t{4} << 20;  ///< of all tensors of a case run here
  double largest_truth_ms = 60;      ///< sanitized code is 50 to 150 times slower
  int most_cases = 4;
  double run_s = 20;                 ///< of one sanitized run; over: neither right nor wrong
  const Watch* watch = nullptr;      ///< asked before each run; none without
};

struct MemoryReport {
  std::optional<candidate::Failure> failure;
  std::vector<std::string> tools;    ///< that ran
  std::vector<std::string> missing;  ///< "thread: why"
  int runs = 0;
};

/// `cases`: in order of preference; those too large are left out, but the smallest always runs. `seed` draws the inputs.
Result<MemoryReport> memory_gate(runner::Session& session, const candidate::Resolved& resolved,
                                 const std::vector<task::Case>& cases, std::uint64_t seed,
                                 const MemoryOptions& options);

}  // namespace hone::judge
