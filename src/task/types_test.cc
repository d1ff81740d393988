#include "task/types.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace hone::task {
namespace {

double load16(DType type, std::uint16_t bits) {
  std::byte at[2];
  std::memcpy(at, &bits, 2);
  return load_element(type, at);
}
std::uint16_t store16(DType type, double value) {
  std::byte at[2];
  store_element(type, at, value);
  std::uint16_t bits;
  std::memcpy(&bits, at, 2);
  return bits;
}

TEST(Types, EverySixteenBitPatternSurvivesTheRoundTrip) {
  for (const DType type : {DType::f16, DType::bf16})
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const double value = load16(type, static_cast<std::uint16_t>(bits));
      const std::uint16_t back = store16(type, value);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(load16(type, back))) << bits;
      else
        ASSERT_EQ(back, bits) << name_of(type) << " " << value;
    }
}

#if defined(__FLT16_MAX__) && !defined(__clang__)
TEST(Types, HalfAgreesWithTheCompilersOwn) {
  // g++'s _Float16 converts from double with one rounding (soft-fp __truncdfhf2), to nearest even.
  const auto theirs = [](double value) {
    return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  };
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits));
    const double value = load16(DType::f16, static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(value, static_cast<double>(half)) << bits;
    // Neighbourhoods of the values and of the midpoints above them, where rounding decides.
    const double next = load16(DType::f16, static_cast<std::uint16_t>(bits + 1));
    const double middle = std::isfinite(next) ? 0.5 * (value + next) : 65520.0;
    for (const double x : {value, middle})
      for (const double y : {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)})
        ASSERT_EQ(store16(DType::f16, y), theirs(y)) << y;
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()) * 0x1p-63 - 1.0,
                                    static_cast<int>(random() % 48) - 30);
    ASSERT_EQ(store16(DType::f16, value), theirs(value)) << value;
  }
}
#endif

TEST(Types, BrainFloatRoundsToNearestEven) {
  // From the definition: the upper half of a float, ties to even.
  EXPECT_EQ(store16(DType::bf16, 1.0), 0x3F80);
  EXPECT_EQ(store16(DType::bf16, 1.0 + 0x1p-8), 0x3F80);  // tie, down to even
  EXPECT_EQ(store16(DType::bf16, 1.0 + 0x3p-8), 0x3F82);  // tie, up to even
  EXPECT_EQ(store16(DType::bf16, 1.0 + 0x1p-8 + 0x1p-40),
            0x3F81);  // by way of float this would be a tie
  EXPECT_EQ(store16(DType::bf16, 1e39), 0x7F80);
  EXPECT_EQ(store16(DType::bf16, -0.0), 0x8000);
  EXPECT_EQ(store16(DType::bf16, 0x1p-133), 0x0001);  // smallest denormal
  EXPECT_EQ(store16(DType::bf16, 0x1p-134), 0x0000);  // half of it: tie, to even
  EXPECT_EQ(store16(DType::bf16, 0x1.8p-134), 0x0001);
  EXPECT_EQ(store16(DType::bf16, max_finite(DType::bf16)), 0x7F7F);
  EXPECT_EQ(store16(DType::f16, 0x1p-25), 0x0000);
  EXPECT_EQ(store16(DType::f16, 65519.99), 0x7BFF);
  EXPECT_EQ(store16(DType::f16, 65520.0), 0x7C00);  // tie with 2^16: to even, infinity
}

TEST(Types, IntegersTruncateAndSaturate) {
  const auto stored = [](DType type, double value) {
    std::byte at[8];
    store_element(type, at, value);
    return load_element(type, at);
  };
  EXPECT_EQ(stored(DType::i8, 3.9), 3);
  EXPECT_EQ(stored(DType::i8, -3.9), -3);
  EXPECT_EQ(stored(DType::i8, 200), 127);
  EXPECT_EQ(stored(DType::i8, -200), -128);
  EXPECT_EQ(stored(DType::u8, -1), 0);
  EXPECT_EQ(stored(DType::u8, 256), 255);
  EXPECT_EQ(stored(DType::i32, 2147483647), 2147483647);
  EXPECT_EQ(stored(DType::i32, INFINITY), 2147483647);
  EXPECT_EQ(stored(DType::i64, 0x1p63), 0x1p63);  // 2^63 - 1, nearest double
  EXPECT_EQ(stored(DType::i64, -0x1p64), -0x1p63);
  EXPECT_EQ(stored(DType::u64, 0x1p70), 0x1p64);
  EXPECT_EQ(stored(DType::i16, NAN), 0);
  EXPECT_EQ(stored(DType::boolean, 0.5), 1);
  EXPECT_EQ(stored(DType::f32, 0.1), static_cast<double>(0.1f));
}

TEST(Types, NamesAreReadBackAndSlipsGetTheNearest) {
  for (const std::string& name : dtype_names()) EXPECT_EQ(name_of(dtype_from(name).value()), name);
  for (const std::string& name : precision_names())
    EXPECT_EQ(name_of(precision_from(name).value()), name);
  EXPECT_NE(dtype_from("f33").error().message.find("did you mean 'f32'?"), std::string::npos);
  EXPECT_NE(precision_from("ft32").error().message.find("'f32'"), std::string::npos);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(significand_bits(DType::f16), 11);
  EXPECT_EQ(min_exponent(DType::f16), -14);
  EXPECT_EQ(significand_bits(Precision::tf32), 11);
}

}  // namespace
}  // namespace hone::task
