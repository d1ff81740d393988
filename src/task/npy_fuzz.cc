#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "task/draw.h"

// Any bytes are an array whose elements are all there, or an error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hone::task;
  const auto array = parse_npy({reinterpret_cast<const char*>(data), size}, "fuzz.npy");
  if (!array.ok()) return 0;
  std::size_t count = 1;
  for (const std::int64_t extent : array->shape) count *= static_cast<std::size_t>(extent);
  if (array->bytes.size() != count * size_of(array->dtype)) std::abort();
  for (std::size_t i = 0; i < count; ++i)
    (void)load_element(array->dtype, reinterpret_cast<const std::byte*>(array->bytes.data()) +
                                         i * size_of(array->dtype));
  return 0;
}
