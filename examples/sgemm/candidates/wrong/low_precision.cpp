// hone:expect correctness less_precise
// hone:expect correctness wrong_value
// Cuts both factors to the 8 bits of bfloat16 before it multiplies.
// hone:function sgemm threads=(2)
#include <cstdint>
#include <cstring>

static float cut(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits &= 0xffff0000u;
  std::memcpy(&value, &bits, 4);
  return value;
}

extern "C" void sgemm(const float* a, const float* b, float* c, int M, int N, int K) {
#pragma omp parallel for
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      c[i * N + j] = 0;
    }
    for (int k = 0; k < K; ++k) {
      for (int j = 0; j < N; ++j) {
        c[i * N + j] += cut(a[i * K + k]) * cut(b[k * N + j]);
      }
    }
  }
}
