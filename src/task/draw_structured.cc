// Kinds whose elements depend on each other: permutations, sorted rows, matrices with structure,
// sparse ones.

#include <algorithm>
#include <bit>
#include <cstring>

#include "task/draw_kinds.h"

namespace hone::task {
namespace {

constexpr std::size_t kChunk = 256;

/// Extents of the last axes and how many such blocks there are.
struct Blocks {
  std::uint64_t count, rows, columns;
};
Blocks blocks_of(const Shape& shape, std::size_t axes) {
  Blocks out{1, 1, 1};
  const std::size_t rank = shape.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = static_cast<std::uint64_t>(shape[i]);
    if (i + 1 == rank)
      out.columns = extent;
    else if (axes == 2 && i + 2 == rank)
      out.rows = extent;
    else
      out.count *= extent;
  }
  return out;
}
bool is_empty(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// Collects doubles and stores them in the dtype, a chunk at a time.
class Writer {
 public:
  Writer(DType dtype, std::byte* out) : dtype_(dtype), out_(out) {}
  ~Writer() { flush(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  void put(double value) {
    values_[count_++] = value;
    if (count_ == kChunk) flush();
  }

 private:
  void flush() {
    store_elements(dtype_, out_, values_, count_);
    out_ += count_ * size_of(dtype_);
    count_ = 0;
  }
  DType dtype_;
  std::byte* out_;
  double values_[kChunk];
  std::size_t count_ = 0;
};

}  // namespace

Permutation::Permutation(std::uint64_t key, std::uint64_t n) : n_(n) {
  const int bits = n < 2 ? 0 : static_cast<int>(std::bit_width(n - 1));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
  for (int round = 0; round < kRounds; ++round)
    keys_[round] = mix64(key + static_cast<std::uint64_t>(round + 1) * 0x9E3779B97F4A7C15u);
}

// Each round xors one half with a keyed function of the other, which is its own inverse, so the
// whole is a bijection of 2^bits; walking on until the value is below n keeps it one of 0 … n-1.
std::uint64_t Permutation::at(std::uint64_t i) const {
  const std::uint64_t left_mask = (std::uint64_t{1} << left_bits_) - 1;
  const std::uint64_t right_mask = (std::uint64_t{1} << right_bits_) - 1;
  do {
    std::uint64_t left = i >> right_bits_, right = i & right_mask;
    for (int round = 0; round < kRounds; round += 2) {
      left ^= (mix64(right ^ keys_[round]) >> 7) & left_mask;
      right ^= (mix64(left ^ keys_[round + 1]) >> 7) & right_mask;
    }
    i = (left << right_bits_) | right;
  } while (i >= n_);
  return i;
}

void draw_permutation(const Tensor& input, const Shape& shape, std::uint64_t key, std::byte* out) {
  if (is_empty(shape)) return;
  const Blocks blocks = blocks_of(shape, 1);
  Writer writer(input.dtype, out);
  for (std::uint64_t row = 0; row < blocks.count; ++row) {
    const Permutation permutation(mix64(key ^ mix64(row + 1)), blocks.columns);
    for (std::uint64_t i = 0; i < blocks.columns; ++i)
      writer.put(static_cast<double>(permutation.at(i)));
  }
}

// Element i of n is the quantile at (i + u_i) / n: ascending by construction, each alone.
void draw_sorted(const Tensor& input, const Shape& shape, const ValueStream& stream,
                 std::byte* out) {
  if (is_empty(shape)) return;
  const Blocks blocks = blocks_of(shape, 1);
  const Values& v = input.values;
  const double n = static_cast<double>(blocks.columns);
  // Whole numbers: the floor of quantiles of [low, high + 1).
  const bool whole = !is_floating(input.dtype);
  const double range = v.high - v.low + (whole ? 1.0 : 0.0);
  double values[kChunk];
  for (std::uint64_t row = 0; row < blocks.count; ++row)
    for (std::uint64_t at = 0; at < blocks.columns;) {
      const std::size_t count =
          static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, blocks.columns - at));
      const std::uint64_t first = row * blocks.columns + at;
      uniforms(stream.key(), Lane::values, first, stream.wide(), values, count);
      for (std::size_t i = 0; i < count; ++i) {
        const double quantile = (static_cast<double>(at + i) + values[i]) / n;
        values[i] = v.low + quantile * range;
        if (whole) values[i] = std::min(std::floor(values[i]), v.high);
      }
      if (!whole) stream.change(first, values, count, 0.25 * range);
      store_elements(input.dtype, out + first * size_of(input.dtype), values, count);
      at += count;
    }
}

void draw_triangular(const Tensor& input, const Shape& shape, const ValueStream& stream,
                     std::byte* out) {
  if (is_empty(shape)) return;
  const Blocks blocks = blocks_of(shape, 2);
  const std::size_t size = size_of(input.dtype);
  std::uint64_t first = 0;
  for (std::uint64_t row = 0; row < blocks.count * blocks.rows; ++row, first += blocks.columns) {
    const std::uint64_t diagonal = std::min(row % blocks.rows, blocks.columns);
    const std::uint64_t from = input.values.upper ? diagonal : 0;
    const std::uint64_t to =
        input.values.upper ? blocks.columns : std::min(diagonal + 1, blocks.columns);
    std::memset(out + first * size, 0, blocks.columns * size);
    stream.store(first + from, out + (first + from) * size, to - from);
  }
}

// Elements (i, j) and (j, i) are both the value at the position of the lower one. Positive
// definite: uniform below |std| off the diagonal, n std (1.25 … 1.75) on it: strictly dominant even
// after rounding to 8 bits.
void draw_symmetric(const Tensor& input, const Shape& shape, const ValueStream& stream,
                    Distribution distribution, std::byte* out) {
  if (is_empty(shape)) return;
  const Blocks blocks = blocks_of(shape, 2);
  const std::uint64_t n = blocks.columns;
  const std::size_t size = size_of(input.dtype);
  const bool definite = input.values.kind == Values::Kind::positive_definite;
  const double scale = !changes(input, distribution)               ? 1.0
                       : distribution == Distribution::scaled_up   ? 3.0
                       : distribution == Distribution::scaled_down ? 0.01
                                                                   : 1.0;
  const double std = input.values.std * scale;
  std::vector<double> row(definite ? n : 0);
  for (std::uint64_t block = 0; block < blocks.count; ++block) {
    const std::uint64_t origin = block * n * n;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t first = origin + i * n;
      if (!definite) {
        stream.store(first, out + first * size, i + 1);
        continue;
      }
      uniforms(stream.key(), Lane::values, first, stream.wide(), row.data(), i + 1);
      for (std::uint64_t j = 0; j < i; ++j) row[j] = std * (2.0 * row[j] - 1.0);
      row[i] = std * (static_cast<double>(n) * (1.25 + 0.5 * row[i]));
      store_elements(input.dtype, out + first * size, row.data(), i + 1);
    }
    // Mirrored in tiles: a column of a large matrix is one cache line an element.
    constexpr std::uint64_t kTile = 32;
    for (std::uint64_t i0 = 0; i0 < n; i0 += kTile)
      for (std::uint64_t j0 = 0; j0 <= i0; j0 += kTile)
        for (std::uint64_t i = i0; i < std::min(i0 + kTile, n); ++i)
          for (std::uint64_t j = j0; j < std::min(j0 + kTile, i); ++j)
            std::memcpy(out + (origin + j * n + i) * size, out + (origin + i * n + j) * size, size);
  }
}

namespace {

/// Stored values are dealt to rows by halving: a block of rows splits its values between its halves
/// by a share that its place in the tree alone decides. So any row is found in log2(rows) steps,
/// row lengths are as uneven as those of real matrices, and no row gets more than it has columns.
class RowTree {
 public:
  RowTree(const CsrSize& size, std::uint64_t key)
      : key_(key), columns_(static_cast<std::uint64_t>(size.columns)) {}

  template <typename Leaf>
  void walk(std::uint64_t low, std::uint64_t high, std::uint64_t start, std::uint64_t count,
            Leaf& leaf) const {
    if (high - low == 1) {
      leaf(low, start, count);
      return;
    }
    const std::uint64_t middle = low + (high - low) / 2;
    const std::uint64_t left = share(low, middle, high, count);
    walk(low, middle, start, left, leaf);
    walk(middle, high, start + left, count - left, leaf);
  }

 private:
  std::uint64_t capacity(std::uint64_t rows) const {
    std::uint64_t out;
    return __builtin_mul_overflow(rows, columns_, &out) ? UINT64_MAX : out;
  }
  // The mean share times 0.5 … 1.5, in 2^-32; the rest of the division is rounded at random, so
  // that single values land in every row.
  std::uint64_t share(std::uint64_t low, std::uint64_t middle, std::uint64_t high,
                      std::uint64_t count) const {
    const PhiloxBlock block =
        philox(key_, low, high | static_cast<std::uint64_t>(Lane::split) << 56);
    const auto mean = static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(middle - low) << 32) / (high - low));
    const std::uint64_t part = (mean * ((std::uint64_t{1} << 31) + block.x[0])) >> 32;
    const auto left = static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(count) * part + block.x[1]) >> 32);
    const std::uint64_t right_room = capacity(high - middle);
    const std::uint64_t least = count > right_room ? count - right_room : 0;
    return std::clamp(left, least, std::max(least, std::min(count, capacity(middle - low))));
  }
  std::uint64_t key_;
  std::uint64_t columns_;
};

}  // namespace

void draw_csr(const Tensor& input, const CsrSize& size, std::uint64_t key, std::byte* out) {
  const RowTree tree(size, key);
  const auto rows = static_cast<std::uint64_t>(size.rows),
             stored = static_cast<std::uint64_t>(size.stored);
  Writer writer(input.dtype, out);
  if (input.values.part == "rowptr") {
    writer.put(0);
    auto leaf = [&](std::uint64_t, std::uint64_t start, std::uint64_t count) {
      writer.put(static_cast<double>(start + count));
    };
    if (rows > 0) tree.walk(0, rows, 0, stored, leaf);
    return;
  }
  // A row of L values over M columns takes one from each of L strata of M / L columns: ascending,
  // distinct.
  const auto columns = static_cast<std::uint64_t>(size.columns);
  std::uint32_t words[kChunk];
  auto leaf = [&](std::uint64_t, std::uint64_t start, std::uint64_t count) {
    if (count == 0) return;
    const std::uint64_t whole = columns / count, rest = columns % count;
    std::uint64_t low = 0, error = 0;
    for (std::uint64_t j = 0; j < count; ++j) {
      const std::uint64_t index = start + j;
      if (index % kChunk == 0) random_words(key, Lane::jitter, index, words, kChunk);
      error += rest;
      const std::uint64_t width = whole + (error >= count ? 1 : 0);
      if (error >= count) error -= count;
      writer.put(static_cast<double>(
          low + static_cast<std::uint64_t>(
                    (static_cast<unsigned __int128>(words[index % kChunk]) * width) >> 32)));
      low += width;
    }
  };
  if (rows > 0) tree.walk(0, rows, 0, stored, leaf);
}

}  // namespace hone::task
