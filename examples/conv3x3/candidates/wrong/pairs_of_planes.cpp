// hone:expect correctness unwritten
// Computes two planes at a time; of an odd number the last is left out.
// hone:function conv3x3 threads=(2)
extern "C" void conv3x3(const float* x, const float* weight, float* y, int C, int F, int H, int W) {
#pragma omp parallel for
  for (int f = 0; f < F / 2 * 2; ++f) {
    for (int i = 0; i < H; ++i) {
      for (int j = 0; j < W; ++j) {
        float sum = 0;
        for (int c = 0; c < C; ++c) {
          for (int u = i > 0 ? 0 : 1; u < 3 && i + u - 1 < H; ++u) {
            for (int v = j > 0 ? 0 : 1; v < 3 && j + v - 1 < W; ++v) {
              sum += weight[((f * C + c) * 3 + u) * 3 + v] * x[(c * H + i + u - 1) * W + j + v - 1];
            }
          }
        }
        y[(f * H + i) * W + j] = sum;
      }
    }
  }
}
