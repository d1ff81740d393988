// hone:expect correctness wrong_value
// hone:expect correctness unwritten
// hone:expect correctness crash
// hone:expect correctness out_of_bounds
// Takes every stride to be N: right for square matrices only.
// hone:function sgemm threads=(2)
extern "C" void sgemm(const float* a, const float* b, float* c, int M, int N, int K) {
#pragma omp parallel for
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) {
        sum += a[i * N + k] * b[k * N + j];
      }
      c[i * N + j] = sum;
    }
  }
}
