// hone:expect static state
// hone:expect correctness unwritten
// hone:expect correctness wrong_value
// hone:expect performance wrong_when_timed
// Computes once for a pair of addresses and lets the old answer stand afterwards.
// hone:function softmax threads=(2)
#include <cmath>

static const float* done_for = nullptr;

extern "C" void softmax(const float* x, float* y, int N, int D) {
  if (done_for == x) {
    return;
  }
  done_for = x;
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    const float* in = x + row * D;
    float largest = -INFINITY;
    for (int j = 0; j < D; ++j) {
      largest = in[j] > largest ? in[j] : largest;
    }
    float sum = 0;
    for (int j = 0; j < D; ++j) {
      y[row * D + j] = std::exp(in[j] - largest);
      sum += y[row * D + j];
    }
    for (int j = 0; j < D; ++j) {
      y[row * D + j] /= sum;
    }
  }
}
