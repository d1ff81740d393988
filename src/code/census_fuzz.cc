// The census takes any text.
#include <cstddef>
#include <cstdint>

#include "code/census.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto census = hone::code::read_census({reinterpret_cast<const char*>(data), size});
  if (census.ok())
    hone::code::census_findings(*census,
                                hone::code::lower_precision_for(hone::task::Precision::f64));
  return 0;
}
