// Edges of 240 × 500 floats in bands of BAND rows: gradient by 3 × 3 Sobel taps (vectors of VEC1, ROWS1 rows at once),
// then the largest of each 3 × 3 neighbourhood (vectors of VEC2, ROWS2 rows at once), kept where it is the middle.
// hone:tune VEC1 = 1 2 4 8 16
// hone:tune ROWS1 = 1 2 3 4 6
// hone:tune VEC2 = 1 2 4 8 16
// hone:tune ROWS2 = 1 2 3 4 6
// hone:tune BAND = 1 2 3 4 6 8 12 48 240
// hone:require BAND % ROWS1 == 0
// hone:require BAND % ROWS2 == 0
constexpr int H = 240, W = 500, S = W + 4 + 64;
typedef float vec1 __attribute__((vector_size(VEC1 * 4), aligned(4)));
typedef float vec2 __attribute__((vector_size(VEC2 * 4), aligned(4)));
typedef int mask2 __attribute__((vector_size(VEC2 * 4), aligned(4)));

alignas(64) static float in[(H + 4 + 8) * S], slope[(BAND + 2 + 6) * S], out[H * S];

extern "C" void prepare() {
  unsigned s = 1;
  for (int y = 0; y < H + 4; ++y)
    for (int x = 0; x < W + 4; ++x) in[y * S + x] = float(((s = s * 1664525u + 1013904223u) >> 20) & 255);
}

static void gradient(int y0) {
  for (int y = 0; y < BAND + 2; y += ROWS1)
    for (int x = 0; x < W + 2; x += VEC1) {
      const float* p = in + (y0 + y) * S + x;
      vec1 across[ROWS1 + 2], along[ROWS1 + 2];
#pragma GCC unroll 8
      for (int r = 0; r < ROWS1 + 2; ++r) {
        const vec1 left = *(const vec1*)(p + r * S), middle = *(const vec1*)(p + r * S + 1);
        const vec1 right = *(const vec1*)(p + r * S + 2);
        across[r] = right - left;
        along[r] = left + 2 * middle + right;
      }
#pragma GCC unroll 6
      for (int r = 0; r < ROWS1; ++r) {
        const vec1 gx = across[r] + 2 * across[r + 1] + across[r + 2], gy = along[r + 2] - along[r];
        *(vec1*)(slope + (y + r) * S + x) = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
      }
    }
}

static inline vec2 larger(vec2 a, vec2 b) { return a > b ? a : b; }

static void thin(int y0) {
  for (int y = 0; y < BAND; y += ROWS2)
    for (int x = 0; x < W; x += VEC2) {
      const float* p = slope + y * S + x;
      vec2 row[ROWS2 + 2];
#pragma GCC unroll 8
      for (int r = 0; r < ROWS2 + 2; ++r)
        row[r] = larger(larger(*(const vec2*)(p + r * S), *(const vec2*)(p + r * S + 1)), *(const vec2*)(p + r * S + 2));
#pragma GCC unroll 6
      for (int r = 0; r < ROWS2; ++r) {
        const vec2 most = larger(larger(row[r], row[r + 1]), row[r + 2]), here = *(const vec2*)(p + (r + 1) * S + 1);
        *(vec2*)(out + (y0 + y + r) * S + x) = here >= most ? here : vec2{};
      }
    }
}

extern "C" void run() {
  for (int y = 0; y < H; y += BAND) {
    gradient(y);
    thin(y);
  }
}

static float steep(int y, int x) {
  const float* p = in + y * S + x;
  const float gx = p[2] - p[0] + 2 * (p[S + 2] - p[S]) + p[2 * S + 2] - p[2 * S];
  const float gy = p[2 * S] + 2 * p[2 * S + 1] + p[2 * S + 2] - p[0] - 2 * p[1] - p[2];
  return (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
}

extern "C" int right() {
  for (int y = 0; y < H; y += 7)
    for (int x = 0; x < W; x += 11) {
      float most = 0;
      for (int v = 0; v < 3; ++v)
        for (int u = 0; u < 3; ++u) most = steep(y + v, x + u) > most ? steep(y + v, x + u) : most;
      const float here = steep(y + 1, x + 1);
      if (out[y * S + x] != (here >= most ? here : 0)) return 0;
    }
  return 1;
}
