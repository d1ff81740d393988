#pragma once
// Reads cubins: what a device program holds, without disassembling it. Bytes are untrusted: every offset is checked.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::code {

struct CubinSection {
  std::string name;
  std::uint32_t type = 0;       ///< ELF's; 8 is data without bytes in the file
  std::uint64_t flags = 0, size = 0;
  std::string_view bytes;       ///< into the cubin; empty for data without bytes
};

struct CubinKernel {
  std::string name;
  std::uint64_t code_bytes = 0;
  std::uint64_t shared_bytes = 0;  ///< static
};

struct Cubin {
  std::vector<CubinSection> sections;
  std::vector<CubinKernel> kernels;       ///< in file order
  std::uint64_t global_bytes = 0;         ///< writable device variables (.nv.global, .nv.global.init)
  std::uint64_t initialised_bytes = 0;    ///< of those, with content in the file
  std::uint64_t constant_bytes = 0;       ///< the source's __constant__ data and tables (.nv.constant3, .nv.constant4…)
};

/// `bytes` must outlive the result. A usage error says what is wrong with them.
Result<Cubin> read_cubin(std::string_view bytes);

/// Of what executes: code, constants and initial data with the kernels' names; line tables and notes are left out.
std::string machine_code_hash(const Cubin& cubin);

}  // namespace hone::code
