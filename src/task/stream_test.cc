#include "task/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "task/draw.h"

namespace hone::task {
namespace {

TEST(Stream, PhiloxGivesThePublishedVectors) {
  // Random123 1.14, tests/kat_vectors, philox4x32 10.
  const auto check = [](std::uint64_t key, std::uint64_t low, std::uint64_t high,
                        std::vector<std::uint32_t> expected) {
    const PhiloxBlock block = philox(key, low, high);
    EXPECT_EQ(std::vector<std::uint32_t>(block.x, block.x + 4), expected);
  };
  check(0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check(~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0},
        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu,
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(Stream, EveryWindowIsAPartOfTheWhole) {
  // Whole blocks are computed side by side, odd ends one at a time: both must be the function of
  // the index.
  const std::uint64_t key = stream_key(7, "x");
  std::vector<std::uint32_t> whole(1000);
  random_words(key, Lane::values, 0, whole.data(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i)
    ASSERT_EQ(whole[i], philox(key, i / 4, 0).x[i % 4]) << i;
  for (std::uint64_t first : {1, 3, 4, 63, 64, 65, 500}) {
    std::vector<std::uint32_t> part(300);
    random_words(key, Lane::values, first, part.data(), part.size());
    EXPECT_TRUE(
        std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)))
        << first;
  }
  EXPECT_EQ(random_word(key, Lane::values, 77), whole[77]);
  EXPECT_EQ(random_word64(key, Lane::values, 21), whole[42] | static_cast<std::uint64_t>(whole[43])
                                                                  << 32);
  EXPECT_NE(random_word(key, Lane::tail, 77), whole[77]);
}

TEST(Stream, UniformsLieStrictlyInsideAndAreExact) {
  double u[3];
  uniforms(stream_key(1, "x"), Lane::values, 5, false, u, 3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(u[i], (random_word(stream_key(1, "x"), Lane::values, 5 + i) + 0.5) * 0x1p-32);
  uniforms(stream_key(1, "x"), Lane::values, 5, true, u, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t w = random_word64(stream_key(1, "x"), Lane::values, 5 + i) >> 12;
    EXPECT_EQ(u[i], (static_cast<double>(2 * w + 1)) * 0x1p-53);
  }
}

// Normal distribution function in long double, from the library's erfc.
long double phi(long double x) { return 0.5L * erfcl(-x / sqrtl(2.0L)); }

TEST(Stream, NormalQuantilesAgreeWithErfc) {
  std::vector<double> us = {0x1p-33, 0x1p-53,   0x1p-40, 0.0749999, 0.075,  0.0750001,
                            0.925,   0.9250001, 1e-5,    1e-11,     1.4e-11};
  for (int i = 1; i < 20000; ++i) us.push_back(i / 20000.0);
  for (int i = 1; i < 53; ++i) us.push_back(std::ldexp(1.3, -i));
  std::vector<double> xs = us;
  normal_quantiles(xs.data(), xs.size());
  for (std::size_t i = 0; i < us.size(); ++i) {
    // One Newton step from the answer measures its error: (phi(x) - u) / phi'(x).
    const long double x = xs[i];
    const long double density = expl(-0.5L * x * x) / sqrtl(2.0L * acosl(-1.0L));
    ASSERT_LT(fabsl((phi(x) - static_cast<long double>(us[i])) / density), 4e-15L * (1 + fabsl(x)))
        << us[i];
  }
  // Odd about one half, exactly, wherever 1 - u is exact.
  std::vector<double> mirrored;
  for (const double u : us)
    if (1.0 - (1.0 - u) == u) mirrored.push_back(u);
  std::vector<double> low = mirrored, high = mirrored;
  for (double& u : high) u = 1.0 - u;
  normal_quantiles(low.data(), low.size());
  normal_quantiles(high.data(), high.size());
  for (std::size_t i = 0; i < low.size(); ++i) EXPECT_EQ(low[i], -high[i]);
}

TEST(Stream, NormalsHaveTheMomentsAndTheShapeOfTheNormal) {
  constexpr std::size_t n = 1 << 20;
  std::vector<double> x(n);
  uniforms(stream_key(3, "normals"), Lane::values, 0, false, x.data(), n);
  normal_quantiles(x.data(), n);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  std::size_t beyond3 = 0;
  for (const double v : x) {
    m1 += v, m2 += v * v, m3 += v * v * v, m4 += v * v * v * v;
    beyond3 += std::abs(v) > 3;
  }
  // Standard errors of the sample moments of a normal: 1, sqrt 2, sqrt 15, sqrt 96 over sqrt n;
  // five of them.
  const double root = std::sqrt(static_cast<double>(n));
  EXPECT_LT(std::abs(m1 / n), 5 / root);
  EXPECT_LT(std::abs(m2 / n - 1), 5 * std::sqrt(2.0) / root);
  EXPECT_LT(std::abs(m3 / n), 5 * std::sqrt(15.0) / root);
  EXPECT_LT(std::abs(m4 / n - 3), 5 * std::sqrt(96.0) / root);
  const double p3 = 0.0026997960632601866;  // 2 (1 - phi(3))
  EXPECT_LT(std::abs(static_cast<double>(beyond3) - p3 * n), 5 * std::sqrt(p3 * n));
  // Kolmogorov-Smirnov: sqrt(n) D exceeds 1.95 once in 1,000.
  std::sort(x.begin(), x.end());
  double d = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto p = static_cast<double>(phi(x[i]));
    d = std::max({d, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  EXPECT_LT(d * root, 1.95);
}

TEST(Stream, KeysOfNamesAndSeedsDiffer) {
  EXPECT_NE(stream_key(0, "a"), stream_key(0, "b"));
  EXPECT_NE(stream_key(0, "a"), stream_key(1, "a"));
  // splitmix64 of seed 0 begins with this value (Steele, Lea, Flood 2014; Vigna's splitmix64.c).
  EXPECT_EQ(mix64(0x9E3779B97F4A7C15u), 0xE220A8397B1DCDAFu);
}

}  // namespace
}  // namespace hone::task
