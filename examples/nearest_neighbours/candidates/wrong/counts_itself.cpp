// hone:expect correctness wrong_value
// hone:expect correctness wrong_index
// Every row finds itself, at distance zero.
// hone:function nearest_neighbours threads=(2)
#include <cmath>
#include <cstdint>

extern "C" void nearest_neighbours(const float* x, int32_t* nearest, int N, int D) {
#pragma omp parallel for
  for (int i = 0; i < N; ++i) {
    float least = INFINITY;
    for (int j = 0; j < N; ++j) {
      float distance = 0;
      for (int d = 0; d < D; ++d) {
        distance += (x[i * D + d] - x[j * D + d]) * (x[i * D + d] - x[j * D + d]);
      }
      if (distance < least) {
        least = distance;
        nearest[i] = j;
      }
    }
  }
}
