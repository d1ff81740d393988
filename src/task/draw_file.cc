// Inputs from .npy files: rows in an order keyed by the seed, widened to the input's dtype.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>

#include "base/files.h"
#include "task/draw_kinds.h"

namespace hone::task {
namespace {

/// A few files stay in memory: an oracle draws from the same one hundreds of times a run.
class FileCache {
 public:
  Result<std::shared_ptr<const Npy>> get(const fs::path& path) {
    std::error_code error;
    const std::string name = path.lexically_normal().string();
    const auto size = fs::file_size(path, error);
    const auto written = fs::last_write_time(path, error);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry& entry : entries_)
      if (entry.name == name && entry.size == size && entry.written == written) return entry.array;
    HONE_TRY(Npy array, read_npy(path));
    auto shared = std::make_shared<const Npy>(std::move(array));
    std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; });
    if (entries_.size() == kEntries) entries_.erase(entries_.begin());
    entries_.push_back({name, size, written, shared});
    return shared;
  }

 private:
  struct Entry {
    std::string name;
    std::uintmax_t size;
    fs::file_time_type written;
    std::shared_ptr<const Npy> array;
  };
  static constexpr std::size_t kEntries = 8;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};
FileCache& file_cache() {
  static FileCache cache;
  return cache;
}

double largest_magnitude(const Npy& array) {
  const std::size_t size = size_of(array.dtype);
  double out = 0;
  for (std::size_t i = 0; i < array.bytes.size() / size; ++i) {
    const double value = std::abs(load_element(
        array.dtype, reinterpret_cast<const std::byte*>(array.bytes.data()) + i * size));
    if (std::isfinite(value)) out = std::max(out, value);
  }
  return out;
}

Status check_range(const Tensor& input, const double* values, std::size_t count) {
  std::byte at[8];
  for (std::size_t i = 0; i < count; ++i) {
    store_element(input.dtype, at, values[i]);
    if (load_element(input.dtype, at) != values[i])
      return usage_error(
          fmt::format("the file '{}' holds {}, which input '{}' of {} cannot", input.values.file,
                      values[i], input.name, name_of(input.dtype)),
          "Give the input a wider dtype");
  }
  return {};
}

}  // namespace

Status draw_file(const Task& task, const Tensor& input, const Shape& shape, const DrawSpec& spec,
                 const ValueStream& stream, std::byte* out) {
  HONE_TRY(const auto array, file_cache().get(task.folder / input.values.file));
  HONE_CHECK(file_fits(input, *array, shape));
  if (is_floating(array->dtype) && !is_floating(input.dtype))
    return usage_error(fmt::format("the file '{}' holds {}, input '{}' is {}: expected integers",
                                   input.values.file, name_of(array->dtype), input.name,
                                   name_of(input.dtype)));
  std::uint64_t rows = 1, columns = 1;
  if (!shape.empty()) rows = static_cast<std::uint64_t>(shape[0]);
  for (std::size_t i = 1; i < shape.size(); ++i) columns *= static_cast<std::uint64_t>(shape[i]);
  if (rows == 0 || columns == 0) return {};
  const std::uint64_t all_rows = shape.empty() ? 1 : static_cast<std::uint64_t>(array->shape[0]);
  const Permutation order(stream.key(), all_rows);
  const bool shuffled = input.values.shuffle && spec.seed != 0;
  const bool changed = changes(input, spec.distribution);
  const double step =
      spec.distribution == Distribution::shifted && changed ? 0.25 * largest_magnitude(*array) : 0;
  const std::size_t from = size_of(array->dtype), to = size_of(input.dtype);
  std::vector<double> values(columns);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t source = shuffled ? order.at(row) : row;
    const auto* at =
        reinterpret_cast<const std::byte*>(array->bytes.data()) + source * columns * from;
    std::byte* target = out + row * columns * to;
    if (array->dtype == input.dtype && !changed) {
      std::memcpy(target, at, columns * to);
      continue;
    }
    load_elements(array->dtype, at, values.data(), columns);
    if (is_floating(input.dtype))
      stream.change(row * columns, values.data(), columns, step);
    else
      HONE_CHECK(check_range(input, values.data(), columns));
    store_elements(input.dtype, target, values.data(), columns);
  }
  return {};
}

}  // namespace hone::task
