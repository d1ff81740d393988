// y = exp(x - max) / sum of exp(x - max), row by row. Taking the maximum away keeps exp finite.
// hone:function softmax threads=(2)
#include <cmath>

extern "C" void softmax(const float* x, HONE_OUT* y, int N, int D) {
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    const float* in = x + row * D;
    HONE_OUT* out = y + row * D;
    HONE_REAL largest = -INFINITY;
    for (int j = 0; j < D; ++j) {
      largest = in[j] > largest ? HONE_REAL(in[j]) : largest;
    }
    HONE_REAL sum = 0;
    for (int j = 0; j < D; ++j) {
      sum += std::exp(in[j] - largest);
    }
    for (int j = 0; j < D; ++j) {
      out[j] = std::exp(in[j] - largest) / sum;
    }
  }
}
