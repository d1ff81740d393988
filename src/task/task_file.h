#pragma once
// Reads task.toml (DESIGN.md §5). Errors name file, line, key, what was found, what was expected and the
// nearest spelling.

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "task/task.h"

namespace hone::task {

/// `path` is a task.toml or the folder that holds one. Files it names must exist.
Result<Task> read_task(const std::filesystem::path& path);
/// From text; `folder` resolves relative names; `check_files` false skips their existence (fuzzing).
Result<Task> parse_task(std::string_view text, const std::filesystem::path& file, bool check_files = true);

/// No hidden case has more bytes of tensors than this.
inline constexpr std::int64_t kMostHiddenBytes = std::int64_t{256} << 20;

/// Fresh shapes within task.hidden from `seed`: log-uniform, at least one prime and one tail among them,
/// capped so that six times the tensors fit limits.memory_gb and `max_bytes` in all. Cases with time=false.
Result<std::vector<Case>> draw_hidden_cases(const Task& task, std::uint64_t seed, std::int64_t max_bytes);

}  // namespace hone::task
