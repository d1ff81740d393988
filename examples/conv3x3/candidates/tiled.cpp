// Register tiles of PLANES output planes x VECTORS * LANES columns; x is copied once with its border of zeros.
// hone:tune PLANES = 8 4 2 16
// hone:tune VECTORS = 1 2 4
// hone:tune LANES = 16 8
// hone:tune T = 2 1
// hone:require PLANES * VECTORS <= 24
// hone:scratch padded f32 [C, H + 2, ceil_div(W, VECTORS * LANES) * VECTORS * LANES + 2]
// hone:function conv3x3 threads=(T)
constexpr int kWidth = VECTORS * LANES;
typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

// One row of one plane, with zeros before and after it; rows -1 and H are all zeros.
static void pad(const float* plane, float* to, int i, int H, int W, int stride) {
  const bool inside = i >= 1 && i <= H;
  to[0] = 0;
  for (int j = 0; j < stride - 1; ++j) {
    to[j + 1] = inside && j < W ? plane[(i - 1) * W + j] : 0.0f;
  }
}

// Output row i, columns from … from + kWidth, planes first … first + PLANES; planes beyond the last are
// computed as the last and not stored.
static void tile(const float* padded, const float* weight, float* y, int first, int i, int from, int C,
                 int F, int H, int W, int stride) {
  const float* taps[PLANES];
  for (int f = 0; f < PLANES; ++f) {
    taps[f] = weight + (first + f < F ? first + f : F - 1) * C * 9;
  }
  Vector sum[PLANES][VECTORS] = {};
  for (int c = 0; c < C; ++c) {
    const float* rows = padded + (c * (H + 2) + i) * stride + from;
    for (int u = 0; u < 3; ++u) {
      for (int v = 0; v < 3; ++v) {
        Vector in[VECTORS];
#pragma GCC unroll 4
        for (int w = 0; w < VECTORS; ++w) {
          in[w] = *(const Vector*)(rows + u * stride + v + w * LANES);
        }
#pragma GCC unroll 16
        for (int f = 0; f < PLANES; ++f) {
#pragma GCC unroll 4
          for (int w = 0; w < VECTORS; ++w) {
            sum[f][w] += taps[f][c * 9 + u * 3 + v] * in[w];
          }
        }
      }
    }
  }
  float out[PLANES][kWidth];
#pragma GCC unroll 16
  for (int f = 0; f < PLANES; ++f) {
#pragma GCC unroll 4
    for (int w = 0; w < VECTORS; ++w) {
      *(Vector*)&out[f][w * LANES] = sum[f][w];
    }
  }
  const int columns = W - from < kWidth ? W - from : kWidth;
  for (int f = 0; f < PLANES && first + f < F; ++f) {
    for (int j = 0; j < columns; ++j) {
      y[((first + f) * H + i) * W + from + j] = out[f][j];
    }
  }
}

extern "C" void conv3x3(const float* x, const float* weight, float* y, float* padded, int C, int F,
                        int H, int W) {
  const int stride = (W + kWidth - 1) / kWidth * kWidth + 2;
#pragma omp parallel
  {
#pragma omp for collapse(2)
    for (int c = 0; c < C; ++c) {
      for (int i = 0; i < H + 2; ++i) {
        pad(x + c * H * W, padded + (c * (H + 2) + i) * stride, i, H, W, stride);
      }
    }
#pragma omp for collapse(2)
    for (int i = 0; i < H; ++i) {
      for (int from = 0; from < W; from += kWidth) {
        for (int first = 0; first < F; first += PLANES) {
          tile(padded, weight, y, first, i, from, C, F, H, W, stride);
        }
      }
    }
  }
}
