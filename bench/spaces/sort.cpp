// Radix sort of 12,000 keys of 24 bits, least digit first: BITS a digit; TABLES interleaved counters a histogram;
// histograms of all digits in one read or one read each; keys scattered directly or through write-combining
// buffers of BUFFER keys; loops unrolled.
// hone:tune BITS = 2 3 4 5 6 7 8 9 10 11 12
// hone:tune TABLES = 1 2 4 8
// hone:tune ONEREAD = 0 1
// hone:tune BUFFER = 0 2 4 8 16
// hone:tune UNROLL = 1 2 8
constexpr int N = 12000, KEYBITS = 24, PASSES = (KEYBITS + BITS - 1) / BITS, DIGITS = 1 << BITS;
alignas(64) static unsigned keys[N], space[2][N], counts[PASSES][TABLES][DIGITS], buffer[DIGITS][BUFFER ? BUFFER : 1];
static unsigned *result;

extern "C" void prepare() {
  unsigned s = 1;
  for (unsigned& key : keys) key = (s = s * 1664525u + 1013904223u) >> 8;
}

static inline int digit(unsigned key, int pass) { return int(key >> (pass * BITS)) & (DIGITS - 1); }

static void count(const unsigned* from, int first, int last) {
  for (int p = first; p < last; ++p)
    for (int t = 0; t < TABLES; ++t)
      for (int d = 0; d < DIGITS; ++d) counts[p][t][d] = 0;
#pragma GCC unroll UNROLL
  for (int i = 0; i < N; i += 8)
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j)
      for (int p = first; p < last; ++p) ++counts[p][j % TABLES][digit(from[i + j], p)];
}

static void scatter(const unsigned* from, unsigned* to, int pass) {
  unsigned start[DIGITS], sum = 0;
  unsigned filled[BUFFER ? DIGITS : 1];
  for (int d = 0; d < DIGITS; ++d) {
    start[d] = sum;
    if (BUFFER) filled[d] = 0;
    for (int t = 0; t < TABLES; ++t) sum += counts[pass][t][d];
  }
  if (!BUFFER) {
#pragma GCC unroll UNROLL
    for (int i = 0; i < N; ++i) to[start[digit(from[i], pass)]++] = from[i];
    return;
  }
#pragma GCC unroll UNROLL
  for (int i = 0; i < N; ++i) {
    const int d = digit(from[i], pass);
    buffer[d][filled[d]++] = from[i];
    if (filled[d] == BUFFER) {
      for (int j = 0; j < BUFFER; ++j) to[start[d] + j] = buffer[d][j];
      start[d] += BUFFER;
      filled[d] = 0;
    }
  }
  for (int d = 0; d < DIGITS; ++d)
    for (unsigned j = 0; j < filled[d]; ++j) to[start[d] + j] = buffer[d][j];
}

extern "C" void run() {
  const unsigned* from = keys;
  if (ONEREAD) count(from, 0, PASSES);
  for (int p = 0; p < PASSES; ++p) {
    if (!ONEREAD) count(from, p, p + 1);
    scatter(from, space[p & 1], p);
    from = space[p & 1];
  }
  result = space[(PASSES - 1) & 1];
}

extern "C" int right() {
  unsigned long long before = 0, after = 0;
  for (int i = 0; i < N; ++i) before += keys[i] * (keys[i] + 1ull), after += result[i] * (result[i] + 1ull);
  for (int i = 1; i < N; ++i)
    if (result[i - 1] > result[i]) return 0;
  return before == after;
}
