#include "task/types.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace hone::task {
namespace {

struct DTypeRow {
  DType type;
  const char* name;
  std::size_t size;
  int significand;
  int min_exponent;
};
constexpr DTypeRow kDTypes[] = {
    {DType::f64, "f64", 8, 53, -1022}, {DType::f32, "f32", 4, 24, -126},
    {DType::f16, "f16", 2, 11, -14},   {DType::bf16, "bf16", 2, 8, -126},
    {DType::i64, "i64", 8, 0, 0},      {DType::i32, "i32", 4, 0, 0},
    {DType::i16, "i16", 2, 0, 0},      {DType::i8, "i8", 1, 0, 0},
    {DType::u64, "u64", 8, 0, 0},      {DType::u32, "u32", 4, 0, 0},
    {DType::u16, "u16", 2, 0, 0},      {DType::u8, "u8", 1, 0, 0},
    {DType::boolean, "bool", 1, 0, 0},
};
const DTypeRow& row(DType type) { return kDTypes[static_cast<std::size_t>(type)]; }

struct PrecisionRow {
  Precision precision;
  const char* name;
  int significand;
};
constexpr PrecisionRow kPrecisions[] = {
    {Precision::f64, "f64", 53},    {Precision::f32, "f32", 24},  {Precision::tf32, "tf32", 11},
    {Precision::f16, "f16", 11},    {Precision::bf16, "bf16", 8}, {Precision::fp8, "fp8", 4},
    {Precision::integer, "int", 0},
};

template <typename Row, std::size_t n>
std::vector<std::string> names(const Row (&rows)[n]) {
  std::vector<std::string> out;
  for (const Row& r : rows) out.emplace_back(r.name);
  return out;
}

template <typename T>
T load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void store_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Truncates towards zero and saturates; NaN becomes 0 (a plain cast of it would be undefined).
template <typename T>
T to_integer(double value) {
  if (std::isnan(value)) return 0;
  // 2^63 and 2^64 are doubles, the maxima of the 64-bit types are not: compare with max + 1.
  constexpr double above = 2.0 * static_cast<double>((std::numeric_limits<T>::max() / 2) + 1);
  if (value >= above) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

// Rounds the double to a 16-bit format of `significand` bits (hidden one included) directly: by way
// of float it would be rounded twice, which is not always the nearest.
std::uint16_t round_to_16(double value, int significand, int min_exponent) {
  const int mantissa_bits = significand - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 63) << 15);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  const auto infinity = static_cast<std::uint16_t>(0x7FFFu >> mantissa_bits << mantissa_bits);
  if (magnitude > 0x7FF0000000000000u)  // NaN: quiet, upper payload kept
    return static_cast<std::uint16_t>(
        sign | infinity | (1u << (mantissa_bits - 1)) |
        ((magnitude >> (52 - mantissa_bits)) & ((1u << mantissa_bits) - 1)));
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent < min_exponent - significand) return sign;  // below half the smallest denormal
  const std::uint64_t full =
      (magnitude & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  const int lost_to_denormal = exponent < min_exponent ? min_exponent - exponent : 0;
  const int shift = 52 - mantissa_bits + lost_to_denormal;  // at most 53
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  std::uint64_t kept = full >> shift;
  const std::uint64_t rest = full & ((half << 1) - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // Adding, not or-ing, lets a carry out of the mantissa raise the exponent (and reach infinity).
  if (exponent >= min_exponent)
    kept += static_cast<std::uint64_t>(exponent - min_exponent) << mantissa_bits;
  return static_cast<std::uint16_t>(sign | (kept >= infinity ? infinity : kept));
}

double f16_to_double(std::uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  double value;
  if (exponent == 31) {
    const std::uint64_t bits = 0x7FF0000000000000u | (static_cast<std::uint64_t>(mantissa) << 42);
    value = std::bit_cast<double>(bits);
  } else if (exponent == 0) {
    value = mantissa * 0x1p-24;
  } else {
    value = std::bit_cast<double>((static_cast<std::uint64_t>(exponent + 1008) << 52) |
                                  (static_cast<std::uint64_t>(mantissa) << 42));
  }
  return h & 0x8000 ? -value : value;
}

double bf16_to_double(std::uint16_t h) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16));
}

template <typename F>
void load_loop(std::size_t size, const std::byte* at, double* out, std::size_t count, F load) {
  for (std::size_t i = 0; i < count; ++i) out[i] = load(at + i * size);
}
template <typename F>
void store_loop(std::size_t size, std::byte* at, const double* in, std::size_t count, F store) {
  for (std::size_t i = 0; i < count; ++i) store(at + i * size, in[i]);
}

}  // namespace

std::size_t size_of(DType type) { return row(type).size; }
const char* name_of(DType type) { return row(type).name; }
Result<DType> dtype_from(std::string_view name) {
  for (const DTypeRow& r : kDTypes)
    if (name == r.name) return r.type;
  const auto known = names(kDTypes);
  return usage_error(fmt::format("unknown dtype '{}'{}, expected one of {}", name,
                                 did_you_mean(name, known), fmt::join(known, ", ")));
}
bool is_floating(DType type) { return row(type).significand > 0; }
int significand_bits(DType type) { return row(type).significand; }
int min_exponent(DType type) { return row(type).min_exponent; }
double max_finite(DType type) {
  switch (type) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f32:
      return static_cast<double>(std::numeric_limits<float>::max());
    case DType::f16:
      return 65504.0;
    case DType::bf16:
      return 0x1.FEp127;
    case DType::i64:
      return 0x1p63;
    case DType::u64:
      return 0x1p64;
    case DType::boolean:
      return 1;
    default: {
      const bool is_unsigned = type == DType::u32 || type == DType::u16 || type == DType::u8;
      return std::ldexp(1.0, static_cast<int>(8 * size_of(type)) - (is_unsigned ? 0 : 1)) - 1;
    }
  }
}

const char* name_of(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)].name;
}
Result<Precision> precision_from(std::string_view name) {
  for (const PrecisionRow& r : kPrecisions)
    if (name == r.name) return r.precision;
  const auto known = names(kPrecisions);
  return usage_error(fmt::format("unknown precision '{}'{}, expected one of {}", name,
                                 did_you_mean(name, known), fmt::join(known, ", ")));
}
int significand_bits(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)].significand;
}

std::vector<std::string> dtype_names() { return names(kDTypes); }
std::vector<std::string> precision_names() { return names(kPrecisions); }

void load_elements(DType type, const std::byte* at, double* out, std::size_t count) {
  const std::size_t size = size_of(type);
  switch (type) {
    case DType::f64:
      return load_loop(size, at, out, count, [](auto p) { return load_as<double>(p); });
    case DType::f32:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<float>(p)); });
    case DType::f16:
      return load_loop(size, at, out, count,
                       [](auto p) { return f16_to_double(load_as<std::uint16_t>(p)); });
    case DType::bf16:
      return load_loop(size, at, out, count,
                       [](auto p) { return bf16_to_double(load_as<std::uint16_t>(p)); });
    case DType::i64:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::int64_t>(p)); });
    case DType::i32:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::int32_t>(p)); });
    case DType::i16:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::int16_t>(p)); });
    case DType::i8:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::int8_t>(p)); });
    case DType::u64:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::uint64_t>(p)); });
    case DType::u32:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::uint32_t>(p)); });
    case DType::u16:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::uint16_t>(p)); });
    case DType::u8:
      return load_loop(size, at, out, count,
                       [](auto p) { return static_cast<double>(load_as<std::uint8_t>(p)); });
    case DType::boolean:
      return load_loop(size, at, out, count,
                       [](auto p) { return load_as<std::uint8_t>(p) ? 1.0 : 0.0; });
  }
}

void store_elements(DType type, std::byte* at, const double* in, std::size_t count) {
  const std::size_t size = size_of(type);
  const auto integers = [&](auto zero) {
    using T = decltype(zero);
    store_loop(size, at, in, count, [](std::byte* p, double v) { store_as(p, to_integer<T>(v)); });
  };
  switch (type) {
    case DType::f64:
      return store_loop(size, at, in, count, [](std::byte* p, double v) { store_as(p, v); });
    case DType::f32:
      return store_loop(size, at, in, count,
                        [](std::byte* p, double v) { store_as(p, static_cast<float>(v)); });
    case DType::f16:
      return store_loop(size, at, in, count,
                        [](std::byte* p, double v) { store_as(p, round_to_16(v, 11, -14)); });
    case DType::bf16:
      return store_loop(size, at, in, count,
                        [](std::byte* p, double v) { store_as(p, round_to_16(v, 8, -126)); });
    case DType::i64:
      return integers(std::int64_t{});
    case DType::i32:
      return integers(std::int32_t{});
    case DType::i16:
      return integers(std::int16_t{});
    case DType::i8:
      return integers(std::int8_t{});
    case DType::u64:
      return integers(std::uint64_t{});
    case DType::u32:
      return integers(std::uint32_t{});
    case DType::u16:
      return integers(std::uint16_t{});
    case DType::u8:
      return integers(std::uint8_t{});
    case DType::boolean:
      return store_loop(size, at, in, count, [](std::byte* p, double v) {
        store_as(p, static_cast<std::uint8_t>(v != 0));
      });
  }
}

double load_element(DType type, const std::byte* at) {
  double value = 0;
  load_elements(type, at, &value, 1);
  return value;
}
void store_element(DType type, std::byte* at, double value) { store_elements(type, at, &value, 1); }

}  // namespace hone::task
