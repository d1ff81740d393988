// hone:expect correctness wrong_value
// One array for old and new: points use neighbours of the same sweep (Gauss-Seidel, another iteration).
// hone:function jacobi2d
extern "C" void jacobi2d(const float* x, float* y, int H, int W, int S) {
  for (int at = 0; at < H * W; ++at) {
    y[at] = x[at];
  }
  for (int sweep = 0; sweep < S; ++sweep) {
    for (int i = 1; i < H - 1; ++i) {
      for (int j = 1; j < W - 1; ++j) {
        const int at = i * W + j;
        y[at] = 0.25f * ((y[at - W] + y[at + W]) + (y[at - 1] + y[at + 1]));
      }
    }
  }
}
