// Register tiles of 3 * GROUPS rows, with no barrier between packing and multiplying. A panel of b is packed by
// whoever needs it, while its first tile reads it: loads from memory hide behind the arithmetic. One thread takes
// units of work (a panel and BLOCK strips of rows) from the front, the other from the back, until none is left:
// neither waits for the other to wake up.
// hone:tune GROUPS = 3 4 2
// hone:tune VECTORS = 2 1 3
// hone:tune BLOCK = 4 2 8 16
// hone:tune AHEAD = 16 8 32
// hone:tune T = 2 1
// hone:require 3 * GROUPS * VECTORS <= 27
// hone:scratch packed f32 [2, K, VECTORS * 16]
// hone:function sgemm threads=(T)
#include <omp.h>

constexpr int kLanes = 16, kWidth = VECTORS * kLanes, kRows = 3 * GROUPS;
typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));

// 3 * kGroups rows of the panel's product. Rows go in threes: `second` and `third` lead from the first to the
// others. With kPack b is read where it lies, and copied to the panel; with kCold the next rows of a are fetched.
template <bool kPack, bool kCold, int kGroups>
static void tile(const float* a, long second, long third, const float* b, float* panel, float* c, int columns,
                 int rows, int N, int K) {
  Vector sum[kGroups * 3][VECTORS] = {};
  const float* left[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    left[g] = a + 3 * g * K;
  }
#pragma GCC unroll 24
  for (int r = 0; r < kGroups * 3; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      __builtin_prefetch(c + (r < rows ? r : 0) * N + v * kLanes, 1);
    }
  }
  for (int k = 0; k < K; ++k) {
    Vector right[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      if (kPack) {
        right[v] = *(const Vector*)(b + v * kLanes);
        *(Vector*)(panel + v * kLanes) = right[v];
        __builtin_prefetch(b + AHEAD * N + v * kLanes);
      } else {
        right[v] = *(const Vector*)(panel + v * kLanes);
      }
    }
    b += N;
    panel += kWidth;
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) {
      const float* row = left[g]++;
      if (kCold) {
        __builtin_prefetch(row + kRows * K, 0, 2);
        __builtin_prefetch(row + kRows * K + second, 0, 2);
        __builtin_prefetch(row + kRows * K + third, 0, 2);
      }
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) {
        sum[3 * g][v] += row[0] * right[v];
        sum[3 * g + 1][v] += row[second] * right[v];
        sum[3 * g + 2][v] += row[third] * right[v];
      }
    }
  }
  if (columns == kWidth && rows >= 3 * kGroups) {
#pragma GCC unroll 24
    for (int r = 0; r < 3 * kGroups; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) {
        *(Vector*)(c + r * N + v * kLanes) = sum[r][v];
      }
    }
    return;
  }
  float out[3 * kGroups][kWidth];
#pragma GCC unroll 24
  for (int r = 0; r < 3 * kGroups; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      *(Vector*)&out[r][v * kLanes] = sum[r][v];
    }
  }
  for (int r = 0; r < rows && r < 3 * kGroups; ++r) {
    for (int j = 0; j < columns; ++j) {
      c[r * N + j] = out[r][j];
    }
  }
}

// The last panel, zeros beyond the last column.
static void pack_ragged(const float* b, float* panel, int columns, int N, int K) {
  for (int k = 0; k < K; ++k) {
    for (int j = 0; j < kWidth; ++j) {
      panel[k * kWidth + j] = j < columns ? b[k * N + j] : 0;
    }
  }
}

extern "C" void sgemm(const float* a, const float* b, float* c, float* packed, int M, int N, int K) {
  const int panels = (N + kWidth - 1) / kWidth;
  const int blocks = (M + kRows * BLOCK - 1) / (kRows * BLOCK);
  const int units = panels * blocks;
  int taken = 0;
#pragma omp parallel
  {
    const bool backward = omp_get_thread_num() != 0;
    float* panel = packed + (backward ? K * kWidth : 0);
    int packed_panel = -1, panels_seen = 0, mine = 0;
    while (true) {
      int before;
#pragma omp atomic capture
      before = taken++;
      if (before >= units) {
        break;
      }
      const int unit = backward ? units - 1 - mine : mine;
      ++mine;
      const int p = unit / blocks, first = unit % blocks * kRows * BLOCK;
      const int last = first + kRows * BLOCK < M ? first + kRows * BLOCK : M;
      const int columns = N - p * kWidth < kWidth ? N - p * kWidth : kWidth;
      const float* right = b + p * kWidth;
      bool pack = p != packed_panel;
      panels_seen += pack;
      if (pack && columns < kWidth) {
        pack_ragged(right, panel, columns, N, K);
        pack = false;
      }
      packed_panel = p;
      for (int row = first; row < last; pack = false) {
        const int rows = last - row < kRows ? last - row : kRows;
        const auto strip = rows < kRows      ? pack ? tile<true, false, 1> : tile<false, false, 1>
                           : panels_seen > 1 ? pack ? tile<true, false, GROUPS> : tile<false, false, GROUPS>
                           : pack            ? tile<true, true, GROUPS>
                                             : tile<false, true, GROUPS>;
        strip(a + row * K, rows > 1 ? K : 0, rows > 2 ? 2 * K : 0, right, panel, c + row * N + p * kWidth, columns,
              rows, N, K);
        row += rows < kRows ? 3 : kRows;
      }
    }
  }
}
