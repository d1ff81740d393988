#pragma once
// Instruction census of x86-64 code from the text of `objdump -d`. Whoever calls runs objdump in
// the jail.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "code/elf.h"
#include "task/types.h"

namespace hone::code {

/// What an instruction is to us. `other` is everything without a meaning here.
enum class Kind {
  f64_arithmetic,
  f32_arithmetic,
  f16_arithmetic,
  bf16_arithmetic,
  int8_dot,
  to_f16,
  from_f16,
  to_bf16,
  f64_to_f32,
  f32_to_f64,
  approximate,
  x87,
  vector_integer,
  move,
  branch,
  call,
  prefetch,
  non_temporal,
  clock,
  system_call,
  cpuid,
  random,
  float_control,
  cache_control,
  other,
};
const char* name_of(Kind kind);
/// By mnemonic (AT&T as objdump prints it, prefixes removed) and operands.
Kind kind_of(std::string_view mnemonic, std::string_view operands = {});

struct Census {
  struct Instruction {  ///< one worth telling: any kind from f16_arithmetic on but moves, branches,
                        ///< calls
    Kind kind;
    std::string symbol;
    std::uint64_t address = 0;
    int line = 0;      ///< of the listing
    std::string text;  ///< "vcvtps2ph $0x0,%ymm0,%xmm0"
  };
  std::uint64_t instructions = 0;
  std::map<Kind, std::uint64_t> counts;
  std::map<std::string, std::uint64_t> widths;  ///< "xmm", "ymm", "zmm": instructions that name one
  std::uint64_t fused = 0;                      ///< fma forms, within the arithmetic counts
  std::vector<Instruction> notable;             ///< the first 10,000
  bool truncated = false;

  std::uint64_t count(Kind kind) const;
};

/// Lines it does not know are skipped; a listing without a single instruction is an error. At most
/// 256 MiB.
Result<Census> read_census(std::string_view objdump_text);

/// Kinds below the class's precision: what makes a candidate class C. A conversion to a dtype in
/// which the task stores a tensor is none.
std::set<Kind> lower_precision_for(task::Precision precision,
                                   const std::vector<task::DType>& storage = {});

/// Clock reads, system calls, cpuid and the like (banned), and lower precision (told), by function.
std::vector<Finding> census_findings(const Census& census, const std::set<Kind>& lower_precision);

}  // namespace hone::code
