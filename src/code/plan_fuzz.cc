// The plan reader takes any bytes and answers with a plan or an error.
#include <cstddef>
#include <cstdint>

#include "code/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto plan = hone::code::read_plan({reinterpret_cast<const char*>(data), size}, "fuzz.cc");
  if (plan.ok() && plan->tunables.size() > hone::code::kMaxTunables) __builtin_trap();
  return 0;
}
