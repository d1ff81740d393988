// hone:expect correctness not_exact
// hone:expect correctness wrong_value
// hone:expect correctness unwritten
// hone:expect correctness not_finite
// Mixes up the strides: right for square matrices only.
// hone:function transpose threads=(2)
extern "C" void transpose(const float* x, float* y, int R, int C) {
#pragma omp parallel for
  for (int i = 0; i < R; ++i) {
    for (int j = 0; j < C; ++j) {
      y[j * C % (R * C) + i % C] = x[i * C + j];
    }
  }
}
