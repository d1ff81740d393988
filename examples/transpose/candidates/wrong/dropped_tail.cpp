// hone:expect correctness unwritten
// Turns squares of 8 x 8 and leaves what does not fill one.
// hone:function transpose threads=(2)
extern "C" void transpose(const float* x, float* y, int R, int C) {
#pragma omp parallel for
  for (int i = 0; i < R / 8 * 8; i += 8) {
    for (int j = 0; j < C / 8 * 8; j += 8) {
      for (int u = 0; u < 8; ++u) {
        for (int v = 0; v < 8; ++v) {
          y[(j + v) * R + i + u] = x[(i + u) * C + j + v];
        }
      }
    }
  }
}
