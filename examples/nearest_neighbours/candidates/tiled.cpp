// Register tiles: ROWS queries against VECTORS * LANES rows at a time, read from a transposed copy of x so
// that one load serves ROWS queries. The differences are squared as in the reference, not expanded.
// hone:tune ROWS = 8 4 6 12
// hone:tune VECTORS = 2 1 3
// hone:tune LANES = 16 8
// hone:tune T = 2 1
// hone:require ROWS * VECTORS <= 24
// hone:scratch columns f32 [D, ceil_div(N, VECTORS * LANES) * VECTORS * LANES]
// hone:function nearest_neighbours threads=(T)
#include <cmath>
#include <cstdint>

constexpr int kWidth = VECTORS * LANES;
typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t Index __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

struct Best {
  Vector distance[ROWS][VECTORS];
  Index index[ROWS][VECTORS];
};

// columns[d][j] = x[j][d]; the rows that fill the last tile are infinitely far away.
static void transpose(const float* x, float* columns, int N, int D, int stride, int from) {
  for (int d = 0; d < D; ++d) {
    for (int j = from; j < from + kWidth; ++j) {
      columns[d * stride + j] = j < N ? x[j * D + d] : INFINITY;
    }
  }
}

// Distances of ROWS queries to rows from … from + kWidth; keeps the least of each lane.
static inline void tile(const float* const* query, const float* columns, int stride, int D, int row,
                        int from, Best& best) {
  Vector sum[ROWS][VECTORS] = {};
  for (int d = 0; d < D; ++d) {
    Vector other[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      other[v] = *(const Vector*)(columns + d * stride + from + v * LANES);
    }
#pragma GCC unroll 12
    for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) {
        const Vector difference = other[v] - query[r][d];
        sum[r][v] += difference * difference;
      }
    }
  }
  Index lane;
  for (int l = 0; l < LANES; ++l) {
    lane[l] = l;
  }
#pragma GCC unroll 12
  for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      const Index index = lane + (from + v * LANES);
      const Index closer = (sum[r][v] < best.distance[r][v]) & (index != row + r);
      best.distance[r][v] = closer ? sum[r][v] : best.distance[r][v];
      best.index[r][v] = closer ? index : best.index[r][v];
    }
  }
}

// Of equal distances the lowest index, as the reference has it.
static int first_of_least(const Best& best, int r) {
  float least = INFINITY;
  int found = 0;
  for (int v = 0; v < VECTORS; ++v) {
    for (int l = 0; l < LANES; ++l) {
      const float distance = best.distance[r][v][l];
      const int index = best.index[r][v][l];
      if (distance < least || (distance == least && distance < INFINITY && index < found)) {
        least = distance;
        found = index;
      }
    }
  }
  return found;
}

extern "C" void nearest_neighbours(const float* x, int32_t* nearest, float* columns, int N, int D) {
  const int stride = (N + kWidth - 1) / kWidth * kWidth;
#pragma omp parallel
  {
#pragma omp for
    for (int from = 0; from < stride; from += kWidth) {
      transpose(x, columns, N, D, stride, from);
    }
#pragma omp for schedule(static)
    for (int row = 0; row < N; row += ROWS) {
      const float* query[ROWS];
      Best best;
      for (int r = 0; r < ROWS; ++r) {
        query[r] = x + (row + r < N ? row + r : N - 1) * D;
        for (int v = 0; v < VECTORS; ++v) {
          best.distance[r][v] = Vector{} + INFINITY;
          best.index[r][v] = Index{};
        }
      }
      for (int from = 0; from < stride; from += kWidth) {
        tile(query, columns, stride, D, row, from, best);
      }
      for (int r = 0; r < ROWS && row + r < N; ++r) {
        nearest[row + r] = first_of_least(best, r);
      }
    }
  }
}
