// Three passes over a row while it lies in the cache, with exp as a polynomial over whole vectors.
// hone:tune LANES = 16 8
// hone:tune UNROLL = 2 1 4
// hone:tune RECIPROCAL = 1 0
// hone:tune T = 2 1
// hone:function softmax threads=(T)
#include <cmath>
#include <cstdint>

typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t Bits __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
constexpr int kStep = LANES * UNROLL;

// exp(x) for x <= 0, within two units in the last place; also where the result is subnormal.
// x = n ln 2 + r with |r| <= ln 2 / 2; the power of two is applied in two halves so that it cannot underflow.
static inline Vector exp_of(Vector x) {
  x = x < -104.0f ? Vector{} - 104.0f : x;
  const Vector shifter = Vector{} + 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const Vector shifted = x * 1.44269504f + shifter;
  const Vector n = shifted - shifter;
  const Vector r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vector p = Vector{} + 1.9875691500e-4f;  // coefficients of Cephes' expf
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Bits whole = (Bits)shifted - (Bits)shifter;
  const Bits half = whole >> 1;
  return p * (Vector)((half + 127) << 23) * (Vector)((whole - half + 127) << 23);
}

static inline float largest_of(const float* x, int D) {
  Vector most[UNROLL];
  for (int u = 0; u < UNROLL; ++u) {
    most[u] = Vector{} - INFINITY;
  }
  int j = 0;
  for (; j + kStep <= D; j += kStep) {
#pragma GCC unroll 4
    for (int u = 0; u < UNROLL; ++u) {
      const Vector here = *(const Vector*)(x + j + u * LANES);
      most[u] = here > most[u] ? here : most[u];
    }
  }
  float largest = -INFINITY;
  for (; j < D; ++j) {
    largest = x[j] > largest ? x[j] : largest;
  }
  for (int u = 0; u < UNROLL; ++u) {
    for (int l = 0; l < LANES; ++l) {
      largest = most[u][l] > largest ? most[u][l] : largest;
    }
  }
  return largest;
}

// Writes exp(x - largest) to y and gives its sum; what is left of a row goes through one padded vector.
static inline float exponentials(const float* x, float* y, float largest, int D) {
  Vector sum[UNROLL] = {};
  int j = 0;
  for (; j + kStep <= D; j += kStep) {
#pragma GCC unroll 4
    for (int u = 0; u < UNROLL; ++u) {
      const Vector e = exp_of(*(const Vector*)(x + j + u * LANES) - largest);
      *(Vector*)(y + j + u * LANES) = e;
      sum[u] += e;
    }
  }
  for (; j < D; j += LANES) {
    const int left = D - j < LANES ? D - j : LANES;
    Vector last = Vector{} - INFINITY;
    for (int l = 0; l < left; ++l) {
      last[l] = x[j + l] - largest;
    }
    const Vector e = exp_of(last);
    for (int l = 0; l < left; ++l) {
      y[j + l] = e[l];
      sum[0][l] += e[l];
    }
  }
  float total = 0;
  for (int u = 0; u < UNROLL; ++u) {
    for (int l = 0; l < LANES; ++l) {
      total += sum[u][l];
    }
  }
  return total;
}

extern "C" void softmax(const float* x, float* y, int N, int D) {
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    float* out = y + row * D;
    const float sum = exponentials(x + row * D, out, largest_of(x + row * D, D), D);
    const float reciprocal = 1 / sum;
    for (int j = 0; j < D; ++j) {
      out[j] = RECIPROCAL ? out[j] * reciprocal : out[j] / sum;
    }
  }
}
