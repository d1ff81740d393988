// What a reference in device code is written with. The command line defines HONE_REAL (the arithmetic), HONE_ROUND (what a
// multiplicand goes through), HONE_OUT and HONE_OUT_<output> (what is stored).
#pragma once

namespace hone {

/// The arithmetic type an argument is computed in: its own where it is one, else HONE_REAL.
template <class T> struct Wide { typedef HONE_REAL type; };
template <> struct Wide<float> { typedef float type; };
template <> struct Wide<double> { typedef double type; };
template <class A, class B> struct Wider { typedef HONE_REAL type; };
template <class A> struct Wider<A, A> { typedef A type; };
template <> struct Wider<float, double> { typedef double type; };
template <> struct Wider<double, float> { typedef double type; };

template <class T> __device__ inline HONE_REAL real(T x) { return HONE_REAL(x); }

// Multiplicands of the classes below f32, each a float that the class can hold.
__device__ inline float round_tf32(float x) {
  const uint32_t u = float_bits(x);
  if ((u & 0x7F800000u) == 0x7F800000u) return x;
  return float_from_bits((u + 0xFFFu + ((u >> 13) & 1u)) & ~0x1FFFu);
}
__device__ inline float round_bf16(float x) { return float(hone_bf16(x)); }
__device__ inline float round_f16(float x) { return f16_value(f16_bits(x)); }
// e4m3 as tensor cores read it: 4 significand bits, steps of 2^-9 below 2^-6, 448 the largest; above it, 448.
__device__ inline float round_fp8(float x) {
  const uint32_t u = float_bits(x), sign = u & 0x80000000u, a = u & 0x7FFFFFFFu;
  if (a > 0x7F800000u) return x;
  if (a >= 0x43E00000u) return float_from_bits(sign | 0x43E00000u);
  if (a < 0x3C800000u) {  // below 2^-6: adding 2^14 leaves steps of 2^-9 to the rounding of the addition
    const float r = (float_from_bits(a) + 0x1p14f) - 0x1p14f;
    return float_from_bits(sign | float_bits(r));
  }
  const uint32_t r = (a + 0x7FFFFu + ((a >> 20) & 1u)) & ~0xFFFFFu;
  return float_from_bits(sign | (r > 0x43E00000u ? 0x43E00000u : r));
}

#define HONE_UNARY(name)                                                                     \
  __device__ inline float name##_(float x) { return ::name##f(x); }                           \
  __device__ inline double name##_(double x) { return ::name(x); }                            \
  template <class T> __device__ inline typename Wide<T>::type name(T x) {                               \
    return name##_(static_cast<typename Wide<T>::type>(x));                                  \
  }
#define HONE_BINARY(name)                                                                    \
  __device__ inline float name##_(float x, float y) { return ::name##f(x, y); }               \
  __device__ inline double name##_(double x, double y) { return ::name(x, y); }               \
  template <class A, class B>                                                                \
  __device__ inline typename Wider<typename Wide<A>::type, typename Wide<B>::type>::type name(A x, B y) { \
    typedef typename Wider<typename Wide<A>::type, typename Wide<B>::type>::type T;          \
    return name##_(static_cast<T>(x), static_cast<T>(y));                                    \
  }
#define HONE_EACH_UNARY(F)                                                                   \
  F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sqrt) F(cbrt) F(sin) F(cos)     \
  F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf)   \
  F(erfc) F(tgamma) F(lgamma) F(fabs) F(floor) F(ceil) F(round) F(trunc) F(rint)
#define HONE_EACH_BINARY(F) F(pow) F(atan2) F(fmod) F(fmin) F(fmax) F(hypot) F(copysign) F(remainder)

HONE_EACH_UNARY(HONE_UNARY)
HONE_EACH_BINARY(HONE_BINARY)

/// As std::max and std::min: of two equal ones, or with a NaN, the first.
template <class A, class B>
__device__ inline typename Wider<typename Wide<A>::type, typename Wide<B>::type>::type max(A x, B y) {
  typedef typename Wider<typename Wide<A>::type, typename Wide<B>::type>::type T;
  const T a = static_cast<T>(x), b = static_cast<T>(y);
  return a < b ? b : a;
}
template <class A, class B>
__device__ inline typename Wider<typename Wide<A>::type, typename Wide<B>::type>::type min(A x, B y) {
  typedef typename Wider<typename Wide<A>::type, typename Wide<B>::type>::type T;
  const T a = static_cast<T>(x), b = static_cast<T>(y);
  return b < a ? b : a;
}
template <class T> __device__ inline typename Wide<T>::type abs(T x) { return fabs(x); }
template <class T> __device__ inline typename Wide<T>::type rsqrt(T x) {
  typedef typename Wide<T>::type W;
  return W(1) / sqrt_(static_cast<W>(x));
}
template <class T> __device__ inline bool isnan(T x) {
  const typename Wide<T>::type w = static_cast<typename Wide<T>::type>(x);
  return w != w;
}
template <class T> __device__ inline bool isinf(T x) {
  const typename Wide<T>::type w = static_cast<typename Wide<T>::type>(x);
  return w == w && w - w != w - w;
}
template <class T> __device__ inline bool isfinite(T x) { return !isnan(x) && !isinf(x); }

#undef HONE_UNARY
#undef HONE_BINARY
#undef HONE_EACH_UNARY
#undef HONE_EACH_BINARY

}  // namespace hone

/// The product of two multiplicands of the task's class, in HONE_REAL.
#define HONE_MUL(a, b) (HONE_REAL(HONE_ROUND(a)) * HONE_REAL(HONE_ROUND(b)))
