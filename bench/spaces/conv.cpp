// A 3 × 3 convolution, 12 channels to 20, then a 1 × 1 one, 20 to 28, over 21 × 44 floats. The first in register
// tiles of OB1 channels by YB rows by XV1 vectors of VEC columns, the second of OB2 channels by XV2 vectors; tiles
// that overhang compute padding. Tiles beyond the register file do not build, and nothing tells the search so.
// hone:tune OB1 = 1 2 4 5 7
// hone:tune YB = 1 2 3 6
// hone:tune XV1 = 1 2 3 4
// hone:tune OB2 = 1 4 7 14
// hone:tune XV2 = 1 2 3
// hone:tune VEC = 2 4 8 16
constexpr int IC = 12, MC = 20, OC = 28, H = 21, X = 44, HP = H + 6, XP = X + 2 + 94, CP = 14;
static_assert(OB1 * YB * XV1 <= 32, "the first tile does not fit into registers");
static_assert(OB2 * XV2 <= 32, "the second tile does not fit into registers");
typedef float vec __attribute__((vector_size(VEC * 4), aligned(4)));

alignas(64) static float in[IC * HP * XP], middle[(MC + CP) * HP * XP], out[(OC + CP) * HP * XP];
static float first[IC * 9 * (MC + CP)], second[MC * (OC + CP)];

extern "C" void prepare() {
  unsigned s = 1;
  for (float& value : in) value = float(((s = s * 1664525u + 1013904223u) >> 20) & 7) - 4;
  for (float& value : first) value = float(((s = s * 1664525u + 1013904223u) >> 20) & 7) - 4;
  for (float& value : second) value = float(((s = s * 1664525u + 1013904223u) >> 20) & 7) - 4;
}

static void three_by_three() {
  for (int o = 0; o < MC; o += OB1)
    for (int y = 0; y < H; y += YB)
      for (int x = 0; x < X; x += XV1 * VEC) {
        vec sum[OB1][YB][XV1] = {};
#pragma GCC unroll 1
        for (int t = 0; t < IC * 9; ++t) {
          const float* from = in + (t / 9 * HP + y + t % 9 / 3) * XP + x + t % 3;
          vec column[YB][XV1];
#pragma GCC unroll 8
          for (int b = 0; b < YB; ++b)
#pragma GCC unroll 4
            for (int v = 0; v < XV1; ++v) column[b][v] = *(const vec*)(from + b * XP + v * VEC);
#pragma GCC unroll 12
          for (int c = 0; c < OB1; ++c)
#pragma GCC unroll 8
            for (int b = 0; b < YB; ++b)
#pragma GCC unroll 4
              for (int v = 0; v < XV1; ++v) sum[c][b][v] += first[t * (MC + CP) + o + c] * column[b][v];
        }
        for (int c = 0; c < OB1; ++c)
          for (int b = 0; b < YB; ++b)
            for (int v = 0; v < XV1; ++v)
              *(vec*)(middle + ((o + c) * HP + y + b) * XP + x + v * VEC) = sum[c][b][v];
      }
}

static void one_by_one() {
  for (int y = 0; y < H; ++y)
    for (int x = 0; x < X; x += XV2 * VEC)
      for (int o = 0; o < OC; o += OB2) {
        vec sum[OB2][XV2] = {};
#pragma GCC unroll 1
        for (int i = 0; i < MC; ++i) {
          vec column[XV2];
#pragma GCC unroll 4
          for (int v = 0; v < XV2; ++v) column[v] = *(const vec*)(middle + (i * HP + y) * XP + x + v * VEC);
#pragma GCC unroll 16
          for (int c = 0; c < OB2; ++c)
#pragma GCC unroll 4
            for (int v = 0; v < XV2; ++v) sum[c][v] += second[i * (OC + CP) + o + c] * column[v];
        }
        for (int c = 0; c < OB2; ++c)
          for (int v = 0; v < XV2; ++v) *(vec*)(out + ((o + c) * HP + y) * XP + x + v * VEC) = sum[c][v];
      }
}

extern "C" void run() {
  three_by_three();
  one_by_one();
}

extern "C" int right() {
  for (int y = 0; y < H; ++y)
    for (int x = 0; x < X; x += 3) {
      float hidden[MC];
      for (int o = 0; o < MC; ++o) {
        float sum = 0;  // small integers: exact in any order
        for (int t = 0; t < IC * 9; ++t)
          sum += first[t * (MC + CP) + o] * in[(t / 9 * HP + y + t % 9 / 3) * XP + x + t % 3];
        hidden[o] = sum;
      }
      for (int o = 0; o < OC; ++o) {
        float sum = 0;
        for (int i = 0; i < MC; ++i) sum += second[i * (OC + CP) + o] * hidden[i];
        if (out[(o * HP + y) * XP + x] != sum) return 0;
      }
    }
  return 1;
}
