#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "task/expression.h"

// Any text either parses, and then evaluates to a value or an error, or is an error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using hone::task::Expression;
  const auto expression = Expression::parse({reinterpret_cast<const char*>(data), size});
  if (!expression.ok()) return 0;
  const hone::task::Dims names = {{"N", 7}, {"D", 0}, {"M", INT64_MAX}};
  (void)expression->evaluate(names);
  (void)expression->evaluate_real(names);
  // What was kept of the text means the same.
  const auto again = Expression::parse(expression->text());
  if (!again.ok() || again->names() != expression->names()) std::abort();
  return 0;
}
