// Each sweep replaces every inner point by the mean of its four neighbours, all of the sweep before.
// hone:function jacobi2d threads=(2)
#include <utility>
#include <vector>

extern "C" void jacobi2d(const float* x, HONE_OUT* y, int H, int W, int S) {
  std::vector<HONE_REAL> before(x, x + H * W);
  std::vector<HONE_REAL> after(before);
  for (int sweep = 0; sweep < S; ++sweep) {
#pragma omp parallel for
    for (int i = 1; i < H - 1; ++i) {
      for (int j = 1; j < W - 1; ++j) {
        const int at = i * W + j;
        after[at] = HONE_REAL(0.25) *
                    ((before[at - W] + before[at + W]) + (before[at - 1] + before[at + 1]));
      }
    }
    std::swap(before, after);
  }
  for (int at = 0; at < H * W; ++at) {
    y[at] = before[at];
  }
}
