// hone:expect memory address
// hone:expect correctness crash
// Works in steps of eight and reads gain and offset up to seven elements beyond their end; every value it
// stores is right.
// hone:function layer_norm threads=(2)
#include <cmath>

extern "C" void layer_norm(const float* x, const float* gain, const float* offset, float* y, int N,
                           int D, float eps) {
#pragma omp parallel for
  for (int row = 0; row < N; ++row) {
    const float* in = x + row * D;
    float sum = 0;
    for (int j = 0; j < D; ++j) {
      sum += in[j];
    }
    const float mean = sum / D;
    float squares = 0;
    for (int j = 0; j < D; ++j) {
      squares += (in[j] - mean) * (in[j] - mean);
    }
    const float scale = 1 / std::sqrt(squares / D + eps);
    for (int from = 0; from < D; from += 8) {
      float gains[8];
      float offsets[8];
      for (int l = 0; l < 8; ++l) {
        gains[l] = gain[from + l] * scale;
        offsets[l] = offset[from + l];
      }
      for (int l = 0; l < 8 && from + l < D; ++l) {
        y[row * D + from + l] = (in[from + l] - mean) * gains[l] + offsets[l];
      }
    }
  }
}
