// hone:expect correctness wrong_value
// hone:expect correctness wrong_index
// Looks at the rows after its own only, as if the nearest could not come before.
// hone:function nearest_neighbours threads=(2)
#include <cmath>
#include <cstdint>

extern "C" void nearest_neighbours(const float* x, int32_t* nearest, int N, int D) {
#pragma omp parallel for
  for (int i = 0; i < N; ++i) {
    float least = INFINITY;
    int32_t found = i == 0 ? N - 1 : 0;
    for (int j = i + 1; j < N; ++j) {
      float distance = 0;
      for (int d = 0; d < D; ++d) {
        distance += (x[i * D + d] - x[j * D + d]) * (x[i * D + d] - x[j * D + d]);
      }
      if (distance < least) {
        least = distance;
        found = j;
      }
    }
    nearest[i] = found;
  }
}
