// PARTS parts: first their totals, then each is scanned from the sum of the totals before it. A vector is
// scanned in log2(LANES) steps; only the carry goes from vector to vector.
// hone:tune LANES = 16 8 4
// hone:tune UNROLL = 2 1 4
// hone:tune PARTS = 2 1 8 32
// hone:tune T = 2 1
// hone:scratch totals f32 [PARTS]
// hone:function prefix_sum threads=(T)
#include <utility>

typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
constexpr auto kLanes = std::make_integer_sequence<int, LANES>{};

// Lane i gets lane i - kBy, or zero.
template <int kBy, int... I>
static inline Vector shift(Vector v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(Vector{}, v, (I >= kBy ? LANES + I - kBy : I)...);
}

template <int... I>
static inline Vector last_lane(Vector v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I * 0 + LANES - 1)...);
}

template <int kBy = 1>
static inline Vector scan(Vector v) {
  if constexpr (kBy < LANES) {
    return scan<2 * kBy>(v + shift<kBy>(v, kLanes));
  } else {
    return v;
  }
}

static float sum_of(const float* x, int count) {
  Vector sum[UNROLL] = {};
  int i = 0;
  for (; i + UNROLL * LANES <= count; i += UNROLL * LANES) {
#pragma GCC unroll 4
    for (int u = 0; u < UNROLL; ++u) {
      sum[u] += *(const Vector*)(x + i + u * LANES);
    }
  }
  float total = 0;
  for (; i < count; ++i) {
    total += x[i];
  }
  for (int u = 0; u < UNROLL; ++u) {
    for (int l = 0; l < LANES; ++l) {
      total += sum[u][l];
    }
  }
  return total;
}

static void scan_part(const float* x, float* y, int count, float before) {
  Vector carry = Vector{} + before;
  int i = 0;
  for (; i + UNROLL * LANES <= count; i += UNROLL * LANES) {
    Vector part[UNROLL];
#pragma GCC unroll 4
    for (int u = 0; u < UNROLL; ++u) {
      part[u] = scan(*(const Vector*)(x + i + u * LANES));
    }
#pragma GCC unroll 4
    for (int u = 0; u < UNROLL; ++u) {
      *(Vector*)(y + i + u * LANES) = part[u] + carry;
      carry += last_lane(part[u], kLanes);
    }
  }
  float sum = carry[0];
  for (; i < count; ++i) {
    sum += x[i];
    y[i] = sum;
  }
}

extern "C" void prefix_sum(const float* x, float* y, float* totals, int N) {
  const int length = (N + PARTS - 1) / PARTS;
  const auto begin = [&](int part) { return part * length < N ? part * length : N; };
#pragma omp parallel
  {
#pragma omp for
    for (int part = 0; part < PARTS - 1; ++part) {
      totals[part] = sum_of(x + begin(part), begin(part + 1) - begin(part));
    }
#pragma omp for
    for (int part = 0; part < PARTS; ++part) {
      float before = 0;
      for (int p = 0; p < part; ++p) {
        before += totals[p];
      }
      scan_part(x + begin(part), y + begin(part), begin(part + 1) - begin(part), before);
    }
  }
}
