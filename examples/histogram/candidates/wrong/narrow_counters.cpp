// hone:expect correctness wrong_integer
// Counts in 16 bits, which overflow where a bin holds 65,536 bytes or more.
// hone:function histogram
#include <cstdint>

extern "C" void histogram(const uint8_t* x, int32_t* counts, int N, int B) {
  uint16_t table[256] = {};
  for (int i = 0; i < N; ++i) {
    ++table[(x[i] * B) >> 8];
  }
  for (int b = 0; b < B; ++b) {
    counts[b] = table[b];
  }
}
