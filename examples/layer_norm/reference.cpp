// y = (x - mean) / sqrt(variance + eps) * gain + offset, row by row; the variance is that of a second pass
// over the differences, so a large mean does no harm.
// hone:function layer_norm threads=(2)
#include <cmath>

extern "C" void layer_norm(const float* x, const float* gain, const float* offset, HONE_OUT* y,
                           int N, int D, float eps) {
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    const float* in = x + row * D;
    HONE_OUT* out = y + row * D;
    HONE_REAL sum = 0;
    for (int j = 0; j < D; ++j) {
      sum += in[j];
    }
    const HONE_REAL mean = sum / D;
    HONE_REAL squares = 0;
    for (int j = 0; j < D; ++j) {
      const HONE_REAL difference = in[j] - mean;
      squares += difference * difference;
    }
    const HONE_REAL deviation = std::sqrt(squares / D + HONE_REAL(eps));
    for (int j = 0; j < D; ++j) {
      out[j] = (in[j] - mean) / deviation * gain[j] + offset[j];
    }
  }
}
