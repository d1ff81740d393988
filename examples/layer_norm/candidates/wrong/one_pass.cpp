// hone:expect correctness wrong_value
// hone:expect correctness less_precise
// hone:expect correctness not_finite
// The variance as mean of squares less square of mean: it cancels where the mean is large.
// hone:function layer_norm threads=(2)
#include <cmath>

extern "C" void layer_norm(const float* x, const float* gain, const float* offset, float* y, int N,
                           int D, float eps) {
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    const float* in = x + row * D;
    float sum = 0;
    float squares = 0;
    for (int j = 0; j < D; ++j) {
      sum += in[j];
      squares += in[j] * in[j];
    }
    const float mean = sum / D;
    const float scale = 1 / std::sqrt(squares / D - mean * mean + eps);
    for (int j = 0; j < D; ++j) {
      y[row * D + j] = (in[j] - mean) * scale * gain[j] + offset[j];
    }
  }
}
