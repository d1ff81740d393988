// c = a b with the loops in the order i, k, j: the inner one runs along rows of b and c.
// hone:function sgemm threads=(2)
extern "C" void sgemm(const float* a, const float* b, HONE_OUT* c, int M, int N, int K) {
#pragma omp parallel for
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      c[i * N + j] = 0;
    }
    for (int k = 0; k < K; ++k) {
      const float left = a[i * K + k];
      for (int j = 0; j < N; ++j) {
        c[i * N + j] += HONE_MUL(left, b[k * N + j]);
      }
    }
  }
}
