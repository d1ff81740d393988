#pragma once
// Draws: the inputs of a case from one seed and one distribution. Every element is a pure function of
// (seed, tensor, index) by Philox 4x32-10 and exactly rounded operations, so CPU and GPU draw the same
// bits and any part can be drawn alone.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/task.h"

namespace hone::task {

/// What is done to the declared distribution of the floating inputs that allow it.
enum class Distribution { nominal, scaled_up, scaled_down, negated, shifted, heavy_tailed, specials };
const char* name_of(Distribution distribution);
Result<Distribution> distribution_from(std::string_view name);
/// Those a verify uses for this task: nominal always, the others where they change an input (docs/draws.md has
/// the table): integers, permutations, constants, CSR structure and inputs with vary = false keep their values.
std::vector<Distribution> distributions_for(const Task& task);

struct DrawSpec {
  std::uint64_t seed = 0;
  Distribution distribution = Distribution::nominal;
  std::uint64_t offset = 0;  ///< first element index: element i of the draw is element i+offset of the stream
};

/// Philox 4x32-10 (Salmon et al., SC 2011).
struct PhiloxBlock { std::uint32_t x[4]; };
PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high);

/// Fills `out` (bytes_of(input)) with input number `input` of the task. Independent of the other inputs
/// (parts of a CSR group agree because they are functions of the group's name).
Status draw_input(const Task& task, std::size_t input, const Dims& dims, const DrawSpec& spec,
                  std::span<std::byte> out);

/// True when element i depends on seed and i+offset alone, so that a window of a longer draw at a random
/// offset is itself a draw (fresh timing inputs then cost one copy).
bool is_windowable(const Task& task, std::size_t input);

/// Scalars of a draw, in task order: declared values, or redrawn where not fixed and seed != 0.
std::vector<double> draw_scalars(const Task& task, const DrawSpec& spec);

/// A .npy file's shape and dtype, and its elements.
struct Npy {
  std::vector<std::int64_t> shape;
  DType dtype = DType::f32;
  std::string bytes;  // C order, little endian
};
Result<Npy> read_npy(const std::filesystem::path& path);
/// From the file's bytes; `what` names them in errors.
Result<Npy> parse_npy(std::string_view bytes, std::string_view what);
Status write_npy(const std::filesystem::path& path, const Npy& array);
/// Whether an input of `shape` can be read from the array: rows (first axis) enough, other extents equal.
Status file_fits(const Tensor& input, const Npy& array, const std::vector<std::int64_t>& shape);

}  // namespace hone::task
