#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "task/draw.h"
#include "task/task_file.h"

// Any text is a task or an error; a task's cases can be sized, its small inputs drawn, its hidden
// shapes found.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hone::task;
  const auto task = parse_task({reinterpret_cast<const char*>(data), size}, "task.toml", false);
  if (!task.ok()) return 0;
  constexpr std::int64_t kSmall = 1 << 16;
  for (const Case& one : task->cases) {
    const auto total = total_bytes(*task, one.dims);
    if (!total.ok()) std::abort();  // the reader promised sizes
    if (*total > kSmall) continue;
    for (std::size_t i = 0; i < task->inputs.size(); ++i) {
      if (task->inputs[i].values.kind == Values::Kind::file) continue;
      std::string bytes(static_cast<std::size_t>(*bytes_of(task->inputs[i], one.dims)), '\0');
      for (const Distribution d : distributions_for(*task))
        if (!draw_input(*task, i, one.dims, {7, d, 3}, std::as_writable_bytes(std::span(bytes)))
                 .ok())
          std::abort();
    }
  }
  (void)draw_scalars(*task, {7, {}, 0});
  (void)draw_hidden_cases(*task, 7, kSmall);
  return 0;
}
