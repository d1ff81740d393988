#pragma once
// Inside of the draws: values by position of the stream, and the kinds whose elements depend on
// each other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "task/draw.h"
#include "task/stream.h"
#include "task/task_check.h"

namespace hone::task {

/// Whether a distribution other than nominal changes the values of this input.
bool changes(const Tensor& input, Distribution distribution);

/// The values of one floating input before they are stored, by position of its stream.
class ValueStream {
 public:
  ValueStream(const Tensor& input, std::uint64_t key, Distribution distribution);

  /// Positions first … first + count - 1 as doubles that the dtype holds after rounding.
  void fill(std::uint64_t first, double* out, std::size_t count) const;
  /// The distribution's change alone, then specials: for values from elsewhere (files, sorted),
  /// `step` is what shifted adds.
  void change(std::uint64_t first, double* values, std::size_t count, double step) const;
  /// fill and store.
  void store(std::uint64_t first, std::byte* out, std::size_t count) const;
  bool wide() const { return input_.dtype == DType::f64; }
  std::uint64_t key() const { return key_; }

 private:
  void heavy(std::uint64_t first, double* values, std::size_t count) const;
  void specials(std::uint64_t first, double* values, std::size_t count) const;

  const Tensor& input_;
  std::uint64_t key_;
  Distribution distribution_;  // nominal where the input is not changed
  double below_high_;          // uniform: the largest value of the dtype below high
};

/// Whole numbers low … high, both included, at most 2^53 in size.
std::int64_t integer_at(std::uint64_t key, std::uint64_t index, std::int64_t low,
                        std::int64_t high);
void integers(std::uint64_t key, std::uint64_t first, std::int64_t low, std::int64_t high,
              double* out, std::size_t count);

/// Element i of the permutation of 0 … n-1 that `key` chooses: an alternating Feistel network on
/// the next power of two, walked until it lands below n.
class Permutation {
 public:
  Permutation(std::uint64_t key, std::uint64_t n);
  std::uint64_t at(std::uint64_t i) const;

 private:
  static constexpr int kRounds = 6;
  std::uint64_t n_;
  int left_bits_, right_bits_;
  std::uint64_t keys_[kRounds];
};

using Shape = std::vector<std::int64_t>;
void draw_permutation(const Tensor& input, const Shape& shape, std::uint64_t key, std::byte* out);
void draw_sorted(const Tensor& input, const Shape& shape, const ValueStream& stream,
                 std::byte* out);
void draw_triangular(const Tensor& input, const Shape& shape, const ValueStream& stream,
                     std::byte* out);
void draw_symmetric(const Tensor& input, const Shape& shape, const ValueStream& stream,
                    Distribution distribution, std::byte* out);
/// rowptr or col of a group; `key` is the group's.
void draw_csr(const Tensor& input, const CsrSize& size, std::uint64_t key, std::byte* out);
Status draw_file(const Task& task, const Tensor& input, const Shape& shape, const DrawSpec& spec,
                 const ValueStream& stream, std::byte* out);

}  // namespace hone::task
