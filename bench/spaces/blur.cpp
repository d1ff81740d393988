// Blur of 300 × 500 floats by 7 taps along rows and 7 along columns, in bands of BAND rows whose middle result stays
// in cache: along rows with vectors of VEC1, UNROLL of them at once; along columns with vectors of VEC2, ROWS rows
// at once from registers.
// hone:tune VEC1 = 1 2 4 8 16
// hone:tune UNROLL = 1 2 4
// hone:tune VEC2 = 1 2 4 8 16
// hone:tune ROWS = 1 2 3 4 6
// hone:tune BAND = 1 2 3 6 12 24 60 300
// hone:require BAND % ROWS == 0
constexpr int H = 300, W = 500, S = W + 6 + 64 + 6;
typedef float vec1 __attribute__((vector_size(VEC1 * 4), aligned(4)));
typedef float vec2 __attribute__((vector_size(VEC2 * 4), aligned(4)));

alignas(64) static float in[(H + 6) * S], middle[(BAND + 6) * S], out[H * S];
static float taps[7] = {1, 6, 15, 20, 15, 6, 1};

extern "C" void prepare() {
  unsigned s = 1;
  for (int y = 0; y < H + 6; ++y)
    for (int x = 0; x < W + 6; ++x) in[y * S + x] = float(((s = s * 1664525u + 1013904223u) >> 20) & 7);
}

static void along_rows(int y0) {
  for (int y = 0; y < BAND + 6; ++y)
    for (int x = 0; x < W; x += VEC1 * UNROLL) {
      const float* p = in + (y0 + y) * S + x;
      vec1 sum[UNROLL] = {};
#pragma GCC unroll 7
      for (int t = 0; t < 7; ++t)
#pragma GCC unroll 4
        for (int u = 0; u < UNROLL; ++u) sum[u] += taps[t] * *(const vec1*)(p + t + u * VEC1);
#pragma GCC unroll 4
      for (int u = 0; u < UNROLL; ++u) *(vec1*)(middle + y * S + x + u * VEC1) = sum[u];
    }
}

static void along_columns(int y0) {
  for (int y = 0; y < BAND; y += ROWS)
    for (int x = 0; x < W; x += VEC2) {
      const float* p = middle + y * S + x;
      vec2 column[ROWS + 6];
#pragma GCC unroll 12
      for (int r = 0; r < ROWS + 6; ++r) column[r] = *(const vec2*)(p + r * S);
#pragma GCC unroll 6
      for (int r = 0; r < ROWS; ++r) {
        vec2 sum = {};
#pragma GCC unroll 7
        for (int t = 0; t < 7; ++t) sum += taps[t] * column[r + t];
        *(vec2*)(out + (y0 + y + r) * S + x) = sum;
      }
    }
}

extern "C" void run() {
  for (int y = 0; y < H; y += BAND) {
    along_rows(y);
    along_columns(y);
  }
}

extern "C" int right() {
  for (int y = 0; y < H; y += 7)
    for (int x = 0; x < W; x += 11) {
      float sum = 0;  // small integers: exact in any order
      for (int v = 0; v < 7; ++v)
        for (int u = 0; u < 7; ++u) sum += taps[v] * taps[u] * in[(y + v) * S + x + u];
      if (out[y * S + x] != sum) return 0;
    }
  return 1;
}
