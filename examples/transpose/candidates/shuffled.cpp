// Squares of LANES x LANES are turned in registers; a thread walks BLOCK rows of squares at a time, so that
// whole cache lines are read and written.
// hone:tune LANES = 16 8 4
// hone:tune BLOCK = 64 16 32 128 256
// hone:tune T = 2 1
// hone:require BLOCK % LANES == 0
// hone:function transpose threads=(T)
#include <utility>

typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

// a0 b0 a1 b1 … of the lower or upper halves of a and b.
template <bool kUpper, int... I>
static inline Vector interleave(Vector a, Vector b, std::integer_sequence<int, I...>) {
  constexpr int kFrom = kUpper ? LANES / 2 : 0;
  return __builtin_shufflevector(a, b, (I % 2 * LANES + kFrom + I / 2)...);
}

// Each stage interleaves rows i and i + LANES / 2; in the index of an element (row, column) that rotates the
// bits by one, and after log2(LANES) stages row and column have changed places.
static inline void square(const float* x, float* y, int R, int C) {
  constexpr auto kLanes = std::make_integer_sequence<int, LANES>{};
  Vector row[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; ++i) {
    row[i] = *(const Vector*)(x + i * C);
  }
#pragma GCC unroll 4
  for (int stage = 1; stage < LANES; stage *= 2) {
    Vector next[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 2; ++i) {
      next[2 * i] = interleave<false>(row[i], row[i + LANES / 2], kLanes);
      next[2 * i + 1] = interleave<true>(row[i], row[i + LANES / 2], kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) {
      row[i] = next[i];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < LANES; ++i) {
    *(Vector*)(y + i * R) = row[i];
  }
}

// What does not fill a square.
static void edge(const float* x, float* y, int rows, int columns, int R, int C) {
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      y[j * R + i] = x[i * C + j];
    }
  }
}

extern "C" void transpose(const float* x, float* y, int R, int C) {
#pragma omp parallel for
  for (int block = 0; block < R; block += BLOCK) {
    const int end = block + BLOCK < R ? block + BLOCK : R;
    for (int j = 0; j < C; j += LANES) {
      for (int i = block; i < end; i += LANES) {
        const int rows = end - i < LANES ? end - i : LANES;
        const int columns = C - j < LANES ? C - j : LANES;
        const float* from = x + i * C + j;
        float* to = y + j * R + i;
        if (rows == LANES && columns == LANES) {
          square(from, to, R, C);
        } else {
          edge(from, to, rows, columns, R, C);
        }
      }
    }
  }
}
