// Hone's prelude: the types a kernel meets, without any header, so that it costs nothing to compile.
#pragma once

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

namespace hone {

inline uint32_t float_bits(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, 4);
  return u;
}
inline float float_from_bits(uint32_t u) {
  float x;
  __builtin_memcpy(&x, &u, 4);
  return x;
}

// Nearest even; a NaN keeps its sign and becomes quiet.
inline uint16_t bf16_bits(float x) {
  const uint32_t u = float_bits(x);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return uint16_t((u >> 16) | 0x40u);
  return uint16_t((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}

// IEEE binary16, nearest even, by arithmetic on bits: for compilers without _Float16.
inline uint16_t f16_bits(float x) {
  const uint32_t u = float_bits(x), sign = (u >> 16) & 0x8000u, a = u & 0x7FFFFFFFu;
  if (a > 0x7F800000u) return uint16_t(sign | 0x7E00u);
  if (a >= 0x477FF000u) return uint16_t(sign | 0x7C00u);  // 65520 and above round to infinity
  if (a < 0x38800000u) {                                  // below 2^-14: the steps are 2^-24
    const uint32_t r = float_bits(float_from_bits(a) + 0.5f);
    return uint16_t(sign | (r - 0x3F000000u));
  }
  return uint16_t(sign | ((a + 0xFFFu + ((a >> 13) & 1u) - 0x38000000u) >> 13));
}
inline float f16_value(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16, e = (h >> 10) & 31u, m = h & 0x3FFu;
  if (e == 31) return float_from_bits(sign | 0x7F800000u | (m << 13));
  if (e == 0) {
    const float x = float(m) * 0x1p-24f;
    return sign ? -x : x;
  }
  return float_from_bits(sign | ((e + 112u) << 23) | (m << 13));
}

}  // namespace hone

/// bfloat16 as stored: converts to and from float, nearest even.
struct hone_bf16 {
  uint16_t bits;
  hone_bf16() = default;
  hone_bf16(float x) : bits(hone::bf16_bits(x)) {}
  operator float() const { return hone::float_from_bits(uint32_t(bits) << 16); }
};

/// binary16 as stored.
#if (defined(__clang__) && __clang_major__ >= 15) || (!defined(__clang__) && defined(__FLT16_MANT_DIG__))
typedef _Float16 hone_f16;
#else
struct hone_f16 {
  uint16_t bits;
  hone_f16() = default;
  hone_f16(float x) : bits(hone::f16_bits(x)) {}
  operator float() const { return hone::f16_value(bits); }
};
#endif
