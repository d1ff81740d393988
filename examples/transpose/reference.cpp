// y[j, i] = x[i, j].
// hone:function transpose threads=(2)
extern "C" void transpose(const float* x, HONE_OUT* y, int R, int C) {
#pragma omp parallel for
  for (int i = 0; i < R; ++i) {
    for (int j = 0; j < C; ++j) {
      y[j * R + i] = x[i * C + j];
    }
  }
}
