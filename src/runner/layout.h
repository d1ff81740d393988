#pragma once
// Where tensors lie in shared memory: guarded (each between unmapped pages, against one side) or packed sets.

#include "base/result.h"
#include "runner/oracle.h"
#include "task/task.h"

namespace hone::runner {

constexpr std::uint64_t kPage = 4096;

/// One set, each tensor in whole regions of its own (pages, or what a GPU maps at least).
Result<Layout> guarded_layout(const task::Task& task, const task::Dims& dims, Side side, std::uint64_t region = kPage);
/// `sets` sets one after the other, tensors at their alignment; each set starts on a fresh cache line group.
Result<Layout> packed_layout(const task::Task& task, const task::Dims& dims, std::int64_t sets);
/// Bytes of the arenas a layout needs (whole pages, never 0).
std::uint64_t input_arena_bytes(const Layout& layout);
std::uint64_t output_arena_bytes(const Layout& layout);

Json to_json(const Layout& layout);
Result<Layout> layout_from_json(const Json& json);

}  // namespace hone::runner
