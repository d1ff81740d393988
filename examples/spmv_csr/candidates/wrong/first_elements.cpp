// hone:expect correctness wrong_value
// Reads at most 32 elements of a row: most rows have no more.
// hone:function spmv_csr threads=(2)
#include <cstdint>

extern "C" void spmv_csr(const int32_t* rowptr, const int32_t* col, const float* val, const float* x,
                         float* y, int R) {
#pragma omp parallel for
  for (int i = 0; i < R; ++i) {
    float sum = 0;
    for (int k = rowptr[i]; k < rowptr[i + 1] && k < rowptr[i] + 32; ++k) {
      sum += val[k] * x[col[k]];
    }
    y[i] = sum;
  }
}
