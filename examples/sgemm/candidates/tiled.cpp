// Register tiles of ROWS x (VECTORS * LANES) over panels of b packed so that the inner loop reads it in order.
// hone:tune ROWS = 8 6 4
// hone:tune VECTORS = 2 1 3
// hone:tune LANES = 16 8
// hone:tune STEP = 512 256 128 1024
// hone:tune T = 2 1
// hone:require ROWS * VECTORS <= 18
// hone:scratch panels f32 [ceil_div(N, VECTORS * LANES) * VECTORS * LANES, K]
// hone:function sgemm threads=(T)
constexpr int kWidth = VECTORS * LANES;
typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

// Panel p holds columns p * kWidth … of b, row after row, zeros beyond the last column.
static void pack(const float* b, float* panel, int first, int N, int K) {
  const int columns = N - first < kWidth ? N - first : kWidth;
  for (int k = 0; k < K; ++k) {
    for (int j = 0; j < columns; ++j) {
      panel[k * kWidth + j] = b[k * N + first + j];
    }
    for (int j = columns; j < kWidth; ++j) {
      panel[k * kWidth + j] = 0;
    }
  }
}

// Adds `depth` terms to the tile of c at `row`; rows beyond the last are computed from the last, not stored.
static void tile(const float* a, const float* panel, float* c, int row, int M, int N, int K, int depth,
                 int columns, bool fresh) {
  const float* left[ROWS];
  for (int r = 0; r < ROWS; ++r) {
    left[r] = a + (row + r < M ? row + r : M - 1) * K;
  }
  Vector sum[ROWS][VECTORS] = {};
  for (int k = 0; k < depth; ++k) {
    Vector right[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      right[v] = *(const Vector*)(panel + k * kWidth + v * LANES);
    }
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) {
        sum[r][v] += left[r][k] * right[v];
      }
    }
  }
  float out[ROWS][kWidth];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      *(Vector*)&out[r][v * LANES] = sum[r][v];
    }
  }
  for (int r = 0; r < ROWS && row + r < M; ++r) {
    float* to = c + (row + r) * N;
    for (int j = 0; j < columns; ++j) {
      to[j] = fresh ? out[r][j] : to[j] + out[r][j];
    }
  }
}

extern "C" void sgemm(const float* a, const float* b, float* c, float* panels, int M, int N, int K) {
  const int count = (N + kWidth - 1) / kWidth;
#pragma omp parallel
  {
#pragma omp for
    for (int p = 0; p < count; ++p) {
      pack(b, panels + p * kWidth * K, p * kWidth, N, K);
    }
    const int strips = (M + ROWS - 1) / ROWS;
    for (int k = 0; k < K || k == 0; k += STEP) {
      const int depth = K - k < STEP ? K - k : STEP;
#pragma omp for collapse(2) schedule(static)
      for (int p = 0; p < count; ++p) {
        for (int s = 0; s < strips; ++s) {
          const int columns = N - p * kWidth < kWidth ? N - p * kWidth : kWidth;
          tile(a + k, panels + p * kWidth * K + k * kWidth, c + p * kWidth, s * ROWS, M, N, K, depth,
               columns, k == 0);
        }
      }
    }
  }
}
