// y[i] = sum of val[k] x[col[k]] over the elements k of row i.
// hone:function spmv_csr threads=(2)
#include <cstdint>

extern "C" void spmv_csr(const int32_t* rowptr, const int32_t* col, const float* val, const float* x,
                         HONE_OUT* y, int R) {
#pragma omp parallel for
  for (int i = 0; i < R; ++i) {
    HONE_REAL sum = 0;
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k) {
      sum += HONE_MUL(val[k], x[col[k]]);
    }
    y[i] = sum;
  }
}
