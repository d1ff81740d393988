// Hone's prelude for device code: the types a kernel meets, without any header, so that it costs nothing to compile.
#pragma once

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;


namespace hone {

__device__ inline uint32_t float_bits(float x) { return __float_as_uint(x); }
__device__ inline float float_from_bits(uint32_t u) { return __uint_as_float(u); }

// Nearest even; a NaN keeps its sign and becomes quiet.
__device__ inline uint16_t bf16_bits(float x) {
  const uint32_t u = float_bits(x);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return uint16_t((u >> 16) | 0x40u);
  return uint16_t((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}
// IEEE binary16, nearest even.
__device__ inline uint16_t f16_bits(float x) {
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
__device__ inline float f16_value(uint16_t h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}

}  // namespace hone

/// bfloat16 as stored: converts to and from float, nearest even.
struct hone_bf16 {
  uint16_t bits;
  hone_bf16() = default;
  __device__ hone_bf16(float x) : bits(hone::bf16_bits(x)) {}
  __device__ operator float() const { return hone::float_from_bits(uint32_t(bits) << 16); }
};

/// binary16 as stored.
struct hone_f16 {
  uint16_t bits;
  hone_f16() = default;
  __device__ hone_f16(float x) : bits(hone::f16_bits(x)) {}
  __device__ operator float() const { return hone::f16_value(bits); }
};
