// hone:expect correctness wrong_integer
// hone:expect correctness unstable
// hone:expect memory race
// Two threads count into the same table without saying so to each other.
// hone:function histogram threads=(2)
#include <cstdint>

extern "C" void histogram(const uint8_t* x, int32_t* counts, int N, int B) {
  for (int b = 0; b < B; ++b) {
    counts[b] = 0;
  }
#pragma omp parallel for
  for (int i = 0; i < N; ++i) {
    ++counts[(x[i] * B) >> 8];
  }
}
