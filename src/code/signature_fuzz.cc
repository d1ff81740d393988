// The signature reader takes any bytes; what it finds lies within the text.
#include <cstddef>
#include <cstdint>

#include "code/signature.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto found =
      hone::code::read_signatures({reinterpret_cast<const char*>(data), size}, "fuzz.cc");
  if (!found.ok()) return 0;
  for (const auto& signature : *found) {
    if (signature.begin > signature.body_begin || signature.body_begin >= signature.end ||
        signature.end > size) {
      __builtin_trap();
    }
  }
  return 0;
}
