#include "task/task.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hone::task {
namespace {

// In the order of Values::Kind.
constexpr const char* kKinds[] = {
    "normal",   "uniform",      "integers",  "permutation",       "sorted",
    "csr",      "triangular",   "symmetric", "positive_definite", "constant",
    "specials", "heavy_tailed", "file"};

std::string case_text(const Dims& dims) {
  std::string out;
  for (const auto& [name, value] : dims)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out;
}

Error too_large(const Tensor& tensor, const Dims& dims) {
  return usage_error(
      fmt::format("tensor '{}' at {}: its size overflows 64 bits", tensor.name, case_text(dims)),
      "Make its dims smaller");
}

}  // namespace

const char* name_of(Values::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
std::vector<std::string> kind_names() { return {std::begin(kKinds), std::end(kKinds)}; }

std::vector<std::string> Task::dim_names() const {
  std::vector<std::string> out;
  for (const auto& dim : dims) out.push_back(dim.first);
  return out;
}

std::string Task::identity() const { return identity_value; }

Result<std::vector<std::int64_t>> shape_of(const Tensor& tensor, const Dims& dims) {
  std::vector<std::int64_t> out;
  for (const Expression& extent : tensor.shape) {
    auto value = extent.evaluate(dims);
    if (!value.ok()) {
      Error error = std::move(value).error();
      error.message =
          fmt::format("tensor '{}' at {}: {}", tensor.name, case_text(dims), error.message);
      return error;
    }
    if (*value < 0)
      return usage_error(fmt::format("tensor '{}' at {}: extent '{}' is {}, expected at least 0",
                                     tensor.name, case_text(dims), extent.text(), *value));
    out.push_back(*value);
  }
  return out;
}

Result<std::int64_t> elements_of(const Tensor& tensor, const Dims& dims) {
  HONE_TRY(const auto shape, shape_of(tensor, dims));
  std::int64_t out = 1;
  for (const std::int64_t extent : shape)
    if (extent == 0) return std::int64_t{0};
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(out, extent, &out)) return too_large(tensor, dims);
  return out;
}

Result<std::int64_t> bytes_of(const Tensor& tensor, const Dims& dims) {
  HONE_TRY(std::int64_t out, elements_of(tensor, dims));
  if (__builtin_mul_overflow(out, static_cast<std::int64_t>(size_of(tensor.dtype)), &out))
    return too_large(tensor, dims);
  return out;
}

Result<std::int64_t> total_bytes(const Task& task, const Dims& dims) {
  std::int64_t out = 0;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const Tensor& tensor : *tensors) {
      HONE_TRY(const std::int64_t bytes, bytes_of(tensor, dims));
      if (__builtin_add_overflow(out, bytes, &out)) return too_large(tensor, dims);
    }
  return out;
}

}  // namespace hone::task
