#pragma once
// The static gate: what the finished object says before anything of it runs. Symbols, sections and constants are
// read by us; the instructions by objdump in the jail.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "code/census.h"
#include "code/elf.h"
#include "lane/lane.h"
#include "task/task.h"

namespace hone::judge {

struct StaticOptions {
  bool unsafe = false;        ///< objdump without the jail where there is none
  bool instructions = true;   ///< also read the instructions (objdump: some 20 ms)
};

struct StaticReport {
  std::optional<candidate::Failure> failure;  ///< the first banned finding
  std::vector<code::Finding> findings;        ///< all, told ones too
  std::vector<code::Census::Instruction> lower_precision;  ///< makes the candidate class C
  std::string skipped;                        ///< why instructions were not read, or empty
};
Json to_json(const StaticReport& report);

/// Bytes of constants a candidate of this task may not reach: those of the outputs of its smallest timed case (an
/// answer could be kept there), but never under kLeastConstants, which honest tables need.
inline constexpr std::uint64_t kLeastConstants = 64 * 1024;
std::uint64_t constants_limit(const task::Task& task);

Result<StaticReport> static_gate(const task::Task& task, const lane::Built& built, const StaticOptions& options);

}  // namespace hone::judge
