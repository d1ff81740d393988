// Bands of ROWS rows take up to FUSE sweeps at once while they lie in the cache: each sweep computes one row
// less on either side, so neighbouring bands compute the rows between them twice and need not wait.
// hone:tune ROWS = 32 16 64 128
// hone:tune FUSE = 4 1 2 3 6 8
// hone:tune T = 2 1
// hone:scratch other f32 [H, W]
// hone:scratch local f32 [T, 2, ROWS + 2 * FUSE, W]
// hone:function jacobi2d threads=(T)
#include <omp.h>

#include <algorithm>

// One row of one sweep; `in` and `out` point at the row, the rows above and below lie W away.
static void sweep_row(const float* in, float* out, int row, int H, int W) {
  if (row == 0 || row == H - 1 || W < 3) {
    std::copy(in, in + W, out);
    return;
  }
  out[0] = in[0];
#pragma omp simd
  for (int j = 1; j < W - 1; ++j) {
    out[j] = 0.25f * ((in[j - W] + in[j + W]) + (in[j - 1] + in[j + 1]));
  }
  out[W - 1] = in[W - 1];
}

// `sweeps` sweeps of rows top … bottom, from `from` to `to`; between them in two local buffers whose first
// row is row top - sweeps.
static void band(const float* from, float* to, float* local, int top, int bottom, int sweeps, int H,
                 int W) {
  const int first = top - sweeps;
  for (int sweep = 1; sweep <= sweeps; ++sweep) {
    const int margin = sweeps - sweep;
    const int begin = std::max(0, top - margin);
    const int end = std::min(H, bottom + margin);
    float* in = local + (sweep % 2) * (ROWS + 2 * FUSE) * W;
    float* out = local + ((sweep + 1) % 2) * (ROWS + 2 * FUSE) * W;
    for (int row = begin; row < end; ++row) {
      sweep_row(sweep == 1 ? from + row * W : in + (row - first) * W,
                sweep == sweeps ? to + row * W : out + (row - first) * W, row, H, W);
    }
  }
}

extern "C" void jacobi2d(const float* x, float* y, float* other, float* local, int H, int W, int S) {
  if (S == 0) {
    std::copy(x, x + H * W, y);
  }
  const int groups = (S + FUSE - 1) / FUSE;
#pragma omp parallel
  {
    float* mine = local + omp_get_thread_num() * 2 * (ROWS + 2 * FUSE) * W;
    const float* from = x;
    for (int group = 0; group < groups; ++group) {
      float* to = (groups - group) % 2 == 1 ? y : other;  // the last one goes to y
      const int sweeps = std::min(FUSE, S - group * FUSE);
#pragma omp for
      for (int top = 0; top < H; top += ROWS) {
        band(from, to, mine, top, std::min(H, top + ROWS), sweeps, H, W);
      }
      from = to;
    }
  }
}
