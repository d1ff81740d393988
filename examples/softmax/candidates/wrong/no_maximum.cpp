// hone:expect correctness not_finite
// hone:expect correctness wrong_value
// Leaves the maximum in: exp overflows beyond 88, and small rows lose their digits below -87.
// hone:function softmax threads=(2)
#include <cmath>

extern "C" void softmax(const float* x, float* y, int N, int D) {
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    float sum = 0;
    for (int j = 0; j < D; ++j) {
      y[row * D + j] = std::exp(x[row * D + j]);
      sum += y[row * D + j];
    }
    for (int j = 0; j < D; ++j) {
      y[row * D + j] /= sum;
    }
  }
}
