// Two passes in UNROLL independent vector sums, so that no addition waits for the one before.
// hone:tune LANES = 16 8 4
// hone:tune UNROLL = 4 2 1 8
// hone:tune T = 2 1
// hone:function layer_norm threads=(T)
#include <cmath>

typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
constexpr int kStep = LANES * UNROLL;

// Sum of (x - from), or of its squares, over a row.
template <bool kSquares>
static inline float sum_of(const float* x, float from, int D) {
  Vector sum[UNROLL] = {};
  int j = 0;
  for (; j + kStep <= D; j += kStep) {
#pragma GCC unroll 8
    for (int u = 0; u < UNROLL; ++u) {
      const Vector difference = *(const Vector*)(x + j + u * LANES) - from;
      sum[u] += kSquares ? difference * difference : difference;
    }
  }
  float rest = 0;
  for (; j < D; ++j) {
    const float difference = x[j] - from;
    rest += kSquares ? difference * difference : difference;
  }
  for (int u = 1; u < UNROLL; ++u) {
    sum[0] += sum[u];
  }
  for (int l = 0; l < LANES; ++l) {
    rest += sum[0][l];
  }
  return rest;
}

extern "C" void layer_norm(const float* x, const float* gain, const float* offset, float* y, int N,
                           int D, float eps) {
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    const float* in = x + row * D;
    float* out = y + row * D;
    const float mean = sum_of<false>(in, 0, D) / D;
    const float scale = 1 / std::sqrt(sum_of<true>(in, mean, D) / D + eps);
#pragma omp simd
    for (int j = 0; j < D; ++j) {
      out[j] = (in[j] - mean) * scale * gain[j] + offset[j];
    }
  }
}
