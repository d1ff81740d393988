#include "task/stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "task/draw.h"

// The hot loops are built twice, for plain x86-64 and for AVX2 (no FMA: contraction would change
// bits), and chosen at load time. Sanitizers run before relocations are done and cannot live with
// that; nor can clang 14.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HONE_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define HONE_CLONES
#endif

namespace hone::task {
namespace {

constexpr std::uint32_t kM0 = 0xD2511F53,
                        kM1 = 0xCD9E8D57;  // multipliers and Weyl steps of Philox4x32
constexpr std::uint32_t kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
constexpr std::size_t kBlocks = 16;  // blocks computed side by side, one vector lane each

// Blocks first … first + kBlocks - 1; word w of block b goes to out[4 b + w].
HONE_CLONES void philox_group(std::uint64_t key, std::uint64_t first, std::uint64_t high,
                              std::uint32_t* out) {
  std::uint32_t x0[kBlocks], x1[kBlocks], x2[kBlocks], x3[kBlocks];
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const std::uint64_t counter = first + b;
    x0[b] = static_cast<std::uint32_t>(counter);
    x1[b] = static_cast<std::uint32_t>(counter >> 32);
    x2[b] = static_cast<std::uint32_t>(high);
    x3[b] = static_cast<std::uint32_t>(high >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += kW0, k1 += kW1) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::uint64_t p0 = static_cast<std::uint64_t>(kM0) * x0[b];
      const std::uint64_t p1 = static_cast<std::uint64_t>(kM1) * x2[b];
      const std::uint32_t y0 = static_cast<std::uint32_t>(p1 >> 32) ^ x1[b] ^ k0;
      const std::uint32_t y2 = static_cast<std::uint32_t>(p0 >> 32) ^ x3[b] ^ k1;
      x0[b] = y0;
      x1[b] = static_cast<std::uint32_t>(p1);
      x2[b] = y2;
      x3[b] = static_cast<std::uint32_t>(p0);
    }
  }
  for (std::size_t b = 0; b < kBlocks; ++b) {
    out[4 * b] = x0[b];
    out[4 * b + 1] = x1[b];
    out[4 * b + 2] = x2[b];
    out[4 * b + 3] = x3[b];
  }
}

// 0.5 + w instead of w + 0.5 as integer: a 52-bit word plus a half has 53 bits, so nothing is
// rounded. The exponent trick (2^52 | w, minus 2^52) converts without the 64-bit conversion that
// SSE2 and AVX2 lack.
double from_bits52(std::uint64_t w) {
  return std::bit_cast<double>(0x4330000000000000u | w) - 0x1p52;
}

HONE_CLONES void narrow_uniforms(const std::uint32_t* words, double* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = (from_bits52(words[i]) + 0.5) * 0x1p-32;
}
HONE_CLONES void wide_uniforms(const std::uint32_t* words, double* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t w = words[2 * i] | (static_cast<std::uint64_t>(words[2 * i + 1]) << 32);
    out[i] = (from_bits52(w >> 12) + 0.5) * 0x1p-52;
  }
}

// log of a normal double in (0, 1): x = 2^e m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh(s)
// with s = (m - 1) / (m + 1), |s| <= 0.1716, by its series; the first term left out is below 2e-15.
double log_exactly_rounded_steps(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCDu;
  const std::uint64_t shifted = bits - kSqrtHalf;
  const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z + 1.0;
  return static_cast<double>(exponent) * 0.69314718055994530942 + 2.0 * s * series;
}

// Coefficients of AS 241 (Wichura 1988), highest power first: the centre, and the tail up to r = 5.
constexpr double kCentreTop[] = {2.5090809287301226727e+3, 3.3430575583588128105e+4,
                                 6.7265770927008700853e+4, 4.5921953931549871457e+4,
                                 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                 1.3314166789178437745e+2, 3.3871328727963666080e+0};
constexpr double kCentreBottom[] = {5.2264952788528545610e+3, 2.8729085735721942674e+4,
                                    3.9307895800092710610e+4, 2.1213794301586595867e+4,
                                    5.3941960214247511077e+3, 6.8718700749205790830e+2,
                                    4.2313330701600911252e+1, 1.0};
constexpr double kTailTop[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                               2.41780725177450611770e-1, 1.27045825245236838258e+0,
                               3.64784832476320460504e+0, 5.76949722146069140550e+0,
                               4.63033784615654529590e+0, 1.42343711074968357734e+0};
constexpr double kTailBottom[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                  1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                  6.89767334985100004550e-1, 1.67638483018380384940e+0,
                                  2.05319162663775882187e+0, 1.0};
constexpr double kFarTop[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                              1.24266094738807843860e-3, 2.65321895265761230930e-2,
                              2.96560571828504891230e-1, 1.78482653991729133580e+0,
                              5.46378491116411436990e+0, 6.65790464350110377720e+0};
constexpr double kFarBottom[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                 1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                 1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                 5.99832206555887937690e-1,  1.0};

inline double horner(const double (&c)[8], double r) {
  return ((((((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]) * r + c[6]) * r +
         c[7];
}

double tail_quantile(double u) {
  const double p = u < 0.5 ? u : 1.0 - u;  // exact: u has at most 53 bits after the point
  double r = std::sqrt(-log_exactly_rounded_steps(p));
  double x;
  if (r <= 5.0) {
    r -= 1.6;
    x = horner(kTailTop, r) / horner(kTailBottom, r);
  } else {
    r -= 5.0;
    x = horner(kFarTop, r) / horner(kFarBottom, r);
  }
  return u < 0.5 ? -x : x;
}

// The centre's formula for all (it is finite everywhere), so that the loop has no branch; 15 % are
// redone.
HONE_CLONES void centre_quantiles(const double* u, double* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double q = u[i] - 0.5;
    const double r = 0.180625 - q * q;
    out[i] = q * horner(kCentreTop, r) / horner(kCentreBottom, r);
  }
}

}  // namespace

PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
  std::uint32_t x[4] = {
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += kW0, k1 += kW1) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(kM0) * x[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(kM1) * x[2];
    const std::uint32_t y0 = static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k0;
    const std::uint32_t y2 = static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k1;
    x[0] = y0;
    x[1] = static_cast<std::uint32_t>(p1);
    x[2] = y2;
    x[3] = static_cast<std::uint32_t>(p0);
  }
  return {{x[0], x[1], x[2], x[3]}};
}

std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return mix64(mix64(seed + 0x9E3779B97F4A7C15u) ^ hash);
}

void random_words(std::uint64_t key, Lane lane, std::uint64_t first, std::uint32_t* out,
                  std::size_t count) {
  const auto high = static_cast<std::uint64_t>(lane);
  std::uint64_t block = first / 4;
  std::size_t skip = first % 4;
  while (count > 0) {
    if (skip == 0 && count >= 4 * kBlocks) {  // straight into place
      philox_group(key, block, high, out);
      out += 4 * kBlocks;
      count -= 4 * kBlocks;
      block += kBlocks;
      continue;
    }
    const PhiloxBlock one = philox(key, block++, high);
    for (; skip < 4 && count > 0; ++skip, --count) *out++ = one.x[skip];
    skip = 0;
  }
}

std::uint32_t random_word(std::uint64_t key, Lane lane, std::uint64_t index) {
  return philox(key, index / 4, static_cast<std::uint64_t>(lane)).x[index % 4];
}
std::uint64_t random_word64(std::uint64_t key, Lane lane, std::uint64_t index) {
  const PhiloxBlock block = philox(key, index / 2, static_cast<std::uint64_t>(lane));
  const std::size_t at = 2 * (index % 2);
  return block.x[at] | (static_cast<std::uint64_t>(block.x[at + 1]) << 32);
}

void uniforms(std::uint64_t key, Lane lane, std::uint64_t first, bool wide, double* out,
              std::size_t count) {
  constexpr std::size_t kChunk = 256;
  std::uint32_t words[2 * kChunk];
  while (count > 0) {
    const std::size_t n = std::min(count, kChunk);
    if (wide) {
      random_words(key, lane, 2 * first, words, 2 * n);
      wide_uniforms(words, out, n);
    } else {
      random_words(key, lane, first, words, n);
      narrow_uniforms(words, out, n);
    }
    first += n;
    out += n;
    count -= n;
  }
}

void normal_quantiles(double* values, std::size_t count) {
  constexpr std::size_t kChunk = 256;
  double centre[kChunk];
  std::uint16_t tails[kChunk];
  while (count > 0) {
    const std::size_t n = std::min(count, kChunk);
    centre_quantiles(values, centre, n);
    std::size_t found = 0;  // gathered without a branch: one in seven is too often to predict
    for (std::size_t i = 0; i < n; ++i) {
      tails[found] = static_cast<std::uint16_t>(i);
      found += std::abs(values[i] - 0.5) > 0.425 ? 1 : 0;
    }
    for (std::size_t k = 0; k < found; ++k) centre[tails[k]] = tail_quantile(values[tails[k]]);
    std::copy(centre, centre + n, values);
    values += n;
    count -= n;
  }
}

}  // namespace hone::task
