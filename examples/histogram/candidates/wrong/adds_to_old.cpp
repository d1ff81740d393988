// hone:expect correctness wrong_integer
// Takes the counts to be zero already.
// hone:function histogram
#include <cstdint>

extern "C" void histogram(const uint8_t* x, int32_t* counts, int N, int B) {
  for (int i = 0; i < N; ++i) {
    ++counts[(x[i] * B) >> 8];
  }
}
