#include "task/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "task/draw_kinds.h"

namespace hone::task {
namespace {

using Kind = Values::Kind;
constexpr std::size_t kChunk =
    256;  // elements worked on at a time: 2 KB of doubles stay in the first cache

constexpr const char* kDistributions[] = {"nominal", "scaled_up",    "scaled_down", "negated",
                                          "shifted", "heavy_tailed", "specials"};

/// Which changes keep an input of the kind what it is declared to be.
struct Freedom {
  bool scaled, negated, shifted, heavy, specials;
};
Freedom freedom_of(const Tensor& input) {
  if (!is_floating(input.dtype) || !input.vary) return {};
  switch (input.values.kind) {
    case Kind::normal:
    case Kind::triangular:
    case Kind::symmetric:
      return {true, true, true, true, true};
    case Kind::csr:
      return {true, true, true, true, true};  // a floating part is val
    case Kind::uniform: {
      // A range of one sign is taken for a domain (of a root, a logarithm): values keep their sign.
      const bool both_signs = input.values.low < 0 && input.values.high > 0;
      return {true, both_signs, both_signs, both_signs, true};
    }
    case Kind::sorted:
      return {true, false, true, false, false};
    case Kind::positive_definite:
      return {true, false, false, false, false};
    case Kind::specials:
    case Kind::heavy_tailed:
      return {true, true, true, false, true};
    case Kind::file:
      return {true, true, true, false, true};
    case Kind::integers:
    case Kind::permutation:
    case Kind::constant:
      return {};
  }
  return {};
}

/// The largest value of the dtype below `high` (high itself is not in a half-open range).
double value_below(DType dtype, double high) {
  std::byte at[8];
  const auto rounded = [&](double value) {
    store_element(dtype, at, value);
    return load_element(dtype, at);
  };
  double step = std::max(std::abs(high), std::ldexp(1.0, min_exponent(dtype))) *
                std::ldexp(1.0, -significand_bits(dtype) - 1);
  double below = rounded(high);
  while (below >= high) {
    below = rounded(high - step);
    step *= 2;
  }
  return below;
}

}  // namespace

const char* name_of(Distribution distribution) {
  return kDistributions[static_cast<std::size_t>(distribution)];
}

Result<Distribution> distribution_from(std::string_view name) {
  const std::vector<std::string> known(std::begin(kDistributions), std::end(kDistributions));
  const auto place = std::find(known.begin(), known.end(), name);
  if (place != known.end()) return static_cast<Distribution>(place - known.begin());
  return usage_error(fmt::format("unknown distribution '{}'{}, expected one of {}", scrub(name, 80),
                                 did_you_mean(name, known), fmt::join(known, ", ")));
}

bool changes(const Tensor& input, Distribution distribution) {
  const Freedom free = freedom_of(input);
  switch (distribution) {
    case Distribution::nominal:
      return false;
    case Distribution::scaled_up:
    case Distribution::scaled_down:
      return free.scaled;
    case Distribution::negated:
      return free.negated;
    case Distribution::shifted:
      return free.shifted;
    case Distribution::heavy_tailed:
      return free.heavy;
    case Distribution::specials:
      return free.specials && input.specials;
  }
  return false;
}

std::vector<Distribution> distributions_for(const Task& task) {
  std::vector<Distribution> out = {Distribution::nominal};
  for (const Distribution d :
       {Distribution::scaled_up, Distribution::scaled_down, Distribution::negated,
        Distribution::shifted, Distribution::heavy_tailed, Distribution::specials})
    if (std::any_of(task.inputs.begin(), task.inputs.end(),
                    [d](const Tensor& input) { return changes(input, d); }))
      out.push_back(d);
  return out;
}

ValueStream::ValueStream(const Tensor& input, std::uint64_t key, Distribution distribution)
    : input_(input),
      key_(key),
      distribution_(changes(input, distribution) ? distribution : Distribution::nominal),
      below_high_(input.values.high) {
  const bool ranged = input.values.kind == Kind::uniform && is_floating(input.dtype);
  if (ranged && input.values.high > input.values.low)
    below_high_ = value_below(input.dtype, input.values.high);
}

// A mean this many times the spread: what cancels there (a variance as mean of squares less square of mean) loses
// eight bits, and shows. One standard deviation did not show it.
constexpr double kShift = 16;

void ValueStream::fill(std::uint64_t first, double* out, std::size_t count) const {
  const Values& v = input_.values;
  double step = kShift * v.std;
  if (v.kind == Kind::constant) {
    std::fill(out, out + count, v.value);
    return;
  }
  uniforms(key_, Lane::values, first, wide(), out, count);
  if (v.kind == Kind::uniform) {
    const double range = v.high - v.low;
    step = 0.25 * range;
    for (std::size_t i = 0; i < count; ++i) out[i] = std::min(v.low + out[i] * range, below_high_);
  } else {
    normal_quantiles(out, count);
    for (std::size_t i = 0; i < count; ++i) out[i] = v.mean + v.std * out[i];
  }
  if (v.kind == Kind::heavy_tailed) heavy(first, out, count);
  change(first, out, count, step);
}

void ValueStream::change(std::uint64_t first, double* values, std::size_t count,
                         double step) const {
  switch (distribution_) {
    case Distribution::scaled_up:
      for (std::size_t i = 0; i < count; ++i) values[i] *= 3.0;
      break;
    case Distribution::scaled_down:
      for (std::size_t i = 0; i < count; ++i) values[i] *= 0.01;
      break;
    case Distribution::negated:
      for (std::size_t i = 0; i < count; ++i) values[i] = -values[i];
      break;
    case Distribution::shifted:
      for (std::size_t i = 0; i < count; ++i) values[i] += step;
      break;
    case Distribution::heavy_tailed:
      heavy(first, values, count);
      break;
    case Distribution::nominal:
    case Distribution::specials:
      break;
  }
  // What is finite stays finite in a narrow dtype; infinities come only where they were asked for.
  const double top = max_finite(input_.dtype);
  for (std::size_t i = 0; i < count; ++i)
    if (std::abs(values[i]) > top && !std::isinf(values[i]))
      values[i] = std::copysign(top, values[i]);
  if (input_.values.kind == Kind::specials || distribution_ == Distribution::specials)
    specials(first, values, count);
}

// Times 2^k with P(k >= j) = 4^-j up to 12: the tail of a distribution whose variance just exists.
void ValueStream::heavy(std::uint64_t first, double* values, std::size_t count) const {
  std::uint32_t words[kChunk];
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(kChunk, count - done);
    random_words(key_, Lane::tail, first + done, words, n);
    for (std::size_t i = 0; i < n; ++i)
      values[done + i] *= static_cast<double>(1u << std::min(std::countl_zero(words[i]) / 2, 12));
    done += n;
  }
}

// One element in 50 becomes one of eight special values, with equal chances.
void ValueStream::specials(std::uint64_t first, double* values, std::size_t count) const {
  constexpr std::uint32_t kOneInFifty = 85899346;  // 2^32 / 50
  const int bits = significand_bits(input_.dtype);
  const double smallest = std::ldexp(1.0, min_exponent(input_.dtype) - bits + 1);
  const std::uint64_t denormals = (std::uint64_t{1} << (bits - 1)) - 1;
  std::uint32_t words[kChunk];
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(kChunk, count - done);
    random_words(key_, Lane::special, first + done, words, n);
    for (std::size_t i = 0; i < n; ++i) {
      if (words[i] >= kOneInFifty) continue;
      const double denormal = smallest * static_cast<double>(1 + (words[i] >> 3) % denormals);
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const double table[8] = {std::numeric_limits<double>::quiet_NaN(),
                               kInfinity,
                               -kInfinity,
                               denormal,
                               -denormal,
                               0.0,
                               -0.0,
                               max_finite(input_.dtype)};
      values[done + i] = table[words[i] & 7];
    }
    done += n;
  }
}

void ValueStream::store(std::uint64_t first, std::byte* out, std::size_t count) const {
  double values[kChunk];
  const std::size_t size = size_of(input_.dtype);
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(kChunk, count - done);
    fill(first + done, values, n);
    store_elements(input_.dtype, out + done * size, values, n);
    done += n;
  }
}

std::int64_t integer_at(std::uint64_t key, std::uint64_t index, std::int64_t low,
                        std::int64_t high) {
  double value;
  integers(key, index, low, high, &value, 1);
  return static_cast<std::int64_t>(value);
}

// The high half of word x count: exact chances but for 1 in 2^16 (32-bit words) or 2^10 (64-bit
// words).
void integers(std::uint64_t key, std::uint64_t first, std::int64_t low, std::int64_t high,
              double* out, std::size_t count) {
  const auto choices = static_cast<std::uint64_t>(high - low) + 1;
  std::uint32_t words[2 * kChunk];
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(kChunk, count - done);
    if (choices <= 65536) {
      random_words(key, Lane::values, first + done, words, n);
      for (std::size_t i = 0; i < n; ++i)
        out[done + i] =
            static_cast<double>(low + static_cast<std::int64_t>((words[i] * choices) >> 32));
    } else {
      random_words(key, Lane::values, 2 * (first + done), words, 2 * n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t w = words[2 * i] | (static_cast<std::uint64_t>(words[2 * i + 1]) << 32);
        const auto part =
            static_cast<std::uint64_t>((static_cast<unsigned __int128>(w) * choices) >> 64);
        out[done + i] = static_cast<double>(low + static_cast<std::int64_t>(part));
      }
    }
    done += n;
  }
}

bool is_windowable(const Task& task, std::size_t input) {
  if (input >= task.inputs.size()) return false;
  const Values& v = task.inputs[input].values;
  switch (v.kind) {
    case Kind::normal:
    case Kind::uniform:
    case Kind::integers:
    case Kind::constant:
    case Kind::specials:
    case Kind::heavy_tailed:
      return true;
    case Kind::csr:
      return v.part == "val";
    default:
      return false;
  }
}

namespace {

void draw_integers(const Tensor& input, std::uint64_t key, std::uint64_t first, std::byte* out,
                   std::size_t count) {
  double values[kChunk];
  const auto low = static_cast<std::int64_t>(input.values.low),
             high = static_cast<std::int64_t>(input.values.high);
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(kChunk, count - done);
    integers(key, first + done, low, high, values, n);
    store_elements(input.dtype, out + done * size_of(input.dtype), values, n);
    done += n;
  }
}

}  // namespace

Status draw_input(const Task& task, std::size_t index, const Dims& dims, const DrawSpec& spec,
                  std::span<std::byte> out) {
  if (index >= task.inputs.size())
    return bug_error(fmt::format("draw_input: the task has no input {}", index));
  const Tensor& input = task.inputs[index];
  HONE_TRY(const Shape shape, shape_of(input, dims));
  HONE_TRY(const std::int64_t elements, elements_of(input, dims));
  const auto count = static_cast<std::size_t>(elements);
  if (out.size() != count * size_of(input.dtype))
    return bug_error(fmt::format("draw_input: {} bytes for input '{}', which has {}", out.size(),
                                 input.name, count * size_of(input.dtype)));
  const bool structure = input.values.kind == Kind::csr && input.values.part != "val";
  std::uint64_t key = stream_key(spec.seed, structure ? "csr " + input.values.group : input.name);
  std::uint64_t first = spec.offset;
  if (!is_windowable(task, index) &&
      spec.offset != 0) {  // elements depend on each other: another draw instead
    key = mix64(key ^ mix64(spec.offset));
    first = 0;
  }
  const ValueStream stream(input, key, spec.distribution);
  switch (input.values.kind) {
    case Kind::permutation:
      draw_permutation(input, shape, key, out.data());
      return {};
    case Kind::sorted:
      draw_sorted(input, shape, stream, out.data());
      return {};
    case Kind::triangular:
      draw_triangular(input, shape, stream, out.data());
      return {};
    case Kind::symmetric:
    case Kind::positive_definite:
      draw_symmetric(input, shape, stream, spec.distribution, out.data());
      return {};
    case Kind::file:
      return draw_file(task, input, shape, spec, stream, out.data());
    case Kind::integers:
      draw_integers(input, key, first, out.data(), count);
      return {};
    case Kind::csr:
      if (structure) {
        HONE_TRY(const CsrSize size, csr_size(task, input.values.group, dims));
        draw_csr(input, size, key, out.data());
        return {};
      }
      break;
    case Kind::uniform:
      if (!is_floating(input.dtype)) {
        draw_integers(input, key, first, out.data(), count);
        return {};
      }
      break;
    default:
      break;
  }
  stream.store(first, out.data(), count);
  return {};
}

std::vector<double> draw_scalars(const Task& task, const DrawSpec& spec) {
  std::vector<double> out;
  for (const Scalar& scalar : task.scalars) {
    double value = scalar.value;
    if (!scalar.fixed && spec.seed != 0) {
      const std::uint64_t key = stream_key(spec.seed, scalar.name);
      if (scalar.integers) {
        value =
            static_cast<double>(integer_at(key, spec.offset, static_cast<std::int64_t>(scalar.low),
                                           static_cast<std::int64_t>(scalar.high)));
      } else {
        double u;
        uniforms(key, Lane::values, spec.offset, true, &u, 1);
        value = scalar.low + u * (scalar.high - scalar.low);
      }
    }
    std::byte at[8];
    store_element(scalar.dtype, at, value);
    out.push_back(load_element(scalar.dtype, at));
  }
  return out;
}

}  // namespace hone::task
