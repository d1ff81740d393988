// The ELF reader takes any bytes; everything it finds can be asked for.
#include <cstddef>
#include <cstdint>

#include "code/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto elf = hone::code::read_elf({reinterpret_cast<const char*>(data), size});
  if (!elf.ok()) return 0;
  hone::code::machine_code_hash(*elf);
  hone::code::constant_bytes(*elf);
  hone::code::elf_findings(*elf, 1);
  return 0;
}
