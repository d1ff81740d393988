// y[f, i, j] = sum over c, u, v of weight[f, c, u, v] x[c, i + u - 1, j + v - 1]; x is zero outside.
// hone:function conv3x3 threads=(2)
extern "C" void conv3x3(const float* x, const float* weight, HONE_OUT* y, int C, int F, int H, int W) {
#pragma omp parallel for
  for (int f = 0; f < F; ++f) {
    for (int i = 0; i < H; ++i) {
      for (int j = 0; j < W; ++j) {
        HONE_REAL sum = 0;
        for (int c = 0; c < C; ++c) {
          for (int u = 0; u < 3; ++u) {
            for (int v = 0; v < 3; ++v) {
              const int row = i + u - 1;
              const int column = j + v - 1;
              if (row >= 0 && row < H && column >= 0 && column < W) {
                sum += HONE_MUL(weight[((f * C + c) * 3 + u) * 3 + v], x[(c * H + row) * W + column]);
              }
            }
          }
        }
        y[(f * H + i) * W + j] = sum;
      }
    }
  }
}
