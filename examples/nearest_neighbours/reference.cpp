// nearest[i] is the row j != i of x whose squared distance to row i is least; of equals the first.
// hone:function nearest_neighbours threads=(2)
#include <cmath>
#include <cstdint>

extern "C" void nearest_neighbours(const float* x, int32_t* nearest, int N, int D) {
#pragma omp parallel for
  for (int i = 0; i < N; ++i) {
    HONE_REAL least = INFINITY;
    int32_t found = 0;
    for (int j = 0; j < N; ++j) {
      HONE_REAL distance = 0;
      for (int d = 0; d < D; ++d) {
        const HONE_REAL difference = HONE_REAL(x[i * D + d]) - HONE_REAL(x[j * D + d]);
        distance += difference * difference;
      }
      if (j != i && distance < least) {
        least = distance;
        found = j;
      }
    }
    nearest[i] = found;
  }
}

// What output element `element` selects with the answer `index`: the squared distance.
extern "C" HONE_REAL nearest_value(const float* x, int N, int D, int64_t element, int64_t index) {
  if (index == element && N > 1) {
    return INFINITY;
  }
  HONE_REAL distance = 0;
  for (int d = 0; d < D; ++d) {
    const HONE_REAL difference = HONE_REAL(x[element * D + d]) - HONE_REAL(x[index * D + d]);
    distance += difference * difference;
  }
  return distance;
}
