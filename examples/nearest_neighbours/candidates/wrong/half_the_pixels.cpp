// hone:expect correctness wrong_value
// hone:expect correctness wrong_index
// Half the work: compares the first half of the features only.
// hone:function nearest_neighbours threads=(2)
#include <cmath>
#include <cstdint>

extern "C" void nearest_neighbours(const float* x, int32_t* nearest, int N, int D) {
#pragma omp parallel for
  for (int i = 0; i < N; ++i) {
    float least = INFINITY;
    int32_t found = 0;
    for (int j = 0; j < N; ++j) {
      float distance = 0;
      for (int d = 0; d < D / 2; ++d) {
        distance += (x[i * D + d] - x[j * D + d]) * (x[i * D + d] - x[j * D + d]);
      }
      if (j != i && distance < least) {
        least = distance;
        found = j;
      }
    }
    nearest[i] = found;
  }
}
