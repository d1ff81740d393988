// hone:expect correctness wrong_value
// Takes the terms of a sum four at a time and forgets the one to three that are left.
// hone:function sgemm
extern "C" void sgemm(const float* a, const float* b, float* c, int M, int N, int K) {
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k + 4 <= K; k += 4) {
        for (int u = 0; u < 4; ++u) {
          sum += a[i * K + k + u] * b[(k + u) * N + j];
        }
      }
      c[i * N + j] = sum;
    }
  }
}
