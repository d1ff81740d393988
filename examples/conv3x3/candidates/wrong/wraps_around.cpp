// hone:expect correctness wrong_value
// hone:expect correctness crash
// hone:expect memory address
// Checks rows but not columns: at the border it takes the neighbouring row's elements for zeros.
// hone:function conv3x3 threads=(2)
extern "C" void conv3x3(const float* x, const float* weight, float* y, int C, int F, int H, int W) {
#pragma omp parallel for
  for (int f = 0; f < F; ++f) {
    for (int i = 0; i < H; ++i) {
      for (int j = 0; j < W; ++j) {
        float sum = 0;
        for (int c = 0; c < C; ++c) {
          for (int u = 0; u < 3; ++u) {
            for (int v = 0; v < 3; ++v) {
              const int row = i + u - 1;
              if (row >= 0 && row < H) {
                sum += weight[((f * C + c) * 3 + u) * 3 + v] * x[(c * H + row) * W + j + v - 1];
              }
            }
          }
        }
        y[(f * H + i) * W + j] = sum;
      }
    }
  }
}
