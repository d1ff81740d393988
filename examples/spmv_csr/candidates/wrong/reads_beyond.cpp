// hone:expect memory address
// hone:expect correctness crash
// Loads the next element before it knows whether there is one: one read behind the end of col and val.
// hone:function spmv_csr
#include <cstdint>

extern "C" void spmv_csr(const int32_t* rowptr, const int32_t* col, const float* val, const float* x,
                         float* y, int R) {
  volatile float sink = 0;
  for (int i = 0; i < R; ++i) {
    float sum = 0;
    int column = col[rowptr[i]];
    float value = val[rowptr[i]];
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k) {
      sum += value * x[column];
      column = col[k + 1];
      value = val[k + 1];
    }
    sink = value;
    y[i] = sum;
  }
  (void)sink;
}
