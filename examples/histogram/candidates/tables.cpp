// Counts bytes first and bins afterwards; TABLES tables in turn, so that equal bytes in a row do not wait for
// one another, and a set of tables a thread.
// hone:tune TABLES = 4 2 8 1
// hone:tune CHUNK = 65536 16384 262144
// hone:tune T = 2 1
// hone:function histogram threads=(T)
#include <cstdint>
#include <cstring>

static void count(const uint8_t* x, int count, uint32_t (*table)[256]) {
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, x + i, 8);
#pragma GCC unroll 8
    for (int b = 0; b < 8; ++b) {
      ++table[b % TABLES][(eight >> (8 * b)) & 255];
    }
  }
  for (; i < count; ++i) {
    ++table[0][x[i]];
  }
}

extern "C" void histogram(const uint8_t* x, int32_t* counts, int N, int B) {
  for (int b = 0; b < B; ++b) {
    counts[b] = 0;
  }
#pragma omp parallel
  {
    alignas(64) uint32_t table[TABLES][256] = {};
#pragma omp for schedule(static)
    for (int from = 0; from < N; from += CHUNK) {
      count(x + from, N - from < CHUNK ? N - from : CHUNK, table);
    }
#pragma omp critical
    for (int byte = 0; byte < 256; ++byte) {
      uint32_t sum = 0;
      for (int t = 0; t < TABLES; ++t) {
        sum += table[t][byte];
      }
      counts[(byte * B) >> 8] += int32_t(sum);
    }
  }
}
