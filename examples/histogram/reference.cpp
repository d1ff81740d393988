// Bin b of B holds the bytes x with x * B / 256 = b, rounded down.
// hone:function histogram
#include <cstdint>

extern "C" void histogram(const uint8_t* x, int32_t* counts, int N, int B) {
  for (int b = 0; b < B; ++b) {
    counts[b] = 0;
  }
  for (int i = 0; i < N; ++i) {
    ++counts[(x[i] * B) >> 8];
  }
}
