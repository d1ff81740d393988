// A row is summed in UNROLL independent sums, so that no product waits for the sum before it; rows are given
// out so that each of PARTS parts has the same number of stored elements, not of rows.
// hone:tune UNROLL = 4 8 16 2
// hone:tune SIMD = 1 0
// hone:tune PARTS = 2 1 8 32
// hone:tune T = 2 1
// hone:function spmv_csr threads=(T)
#include <algorithm>
#include <cstdint>

static float row_sum(const int32_t* col, const float* val, const float* x, int begin, int end) {
  float sum = 0;
  if (SIMD) {
#pragma omp simd reduction(+ : sum) simdlen(UNROLL)
    for (int k = begin; k < end; ++k) {
      sum += val[k] * x[col[k]];
    }
    return sum;
  }
  float part[UNROLL] = {};
  int k = begin;
  for (; k + UNROLL <= end; k += UNROLL) {
#pragma GCC unroll 16
    for (int u = 0; u < UNROLL; ++u) {
      part[u] += val[k + u] * x[col[k + u]];
    }
  }
  for (; k < end; ++k) {
    sum += val[k] * x[col[k]];
  }
  for (int u = 0; u < UNROLL; ++u) {
    sum += part[u];
  }
  return sum;
}

extern "C" void spmv_csr(const int32_t* rowptr, const int32_t* col, const float* val, const float* x,
                         float* y, int R, int NNZ) {
  // Part p begins at the first row whose elements begin at or after p's share; the last one takes the rest,
  // with the empty rows at the end.
  const auto first_row = [&](int part) {
    const int32_t share = int32_t(int64_t(NNZ) * part / PARTS);
    return part == PARTS ? R : int(std::lower_bound(rowptr, rowptr + R, share) - rowptr);
  };
#pragma omp parallel for schedule(static)
  for (int part = 0; part < PARTS; ++part) {
    const int end = first_row(part + 1);
    for (int i = first_row(part); i < end; ++i) {
      y[i] = row_sum(col, val, x, rowptr[i], rowptr[i + 1]);
    }
  }
}
