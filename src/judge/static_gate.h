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

/// Bytes of the outputs of the task's smallest timed case: constants of that size could be the answer (the reader of
/// objects allows small tables always).
std::uint64_t answer_bytes(const task::Task& task);
/// Writable data of an answer's size, and of this many bytes at least, is banned: inputs are fresh in each call, so
/// only a fault or a cheat keeps so much. Less is told.
inline constexpr std::uint64_t kLeastState = 4096;

/// `object`: the shared object's bytes (lane::Built::object, wherever they lie by now).
Result<StaticReport> static_gate(const task::Task& task, const lane::Built& built, const std::string& object,
                                 const StaticOptions& options);

}  // namespace hone::judge
