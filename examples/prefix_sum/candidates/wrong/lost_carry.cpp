// hone:expect correctness wrong_value
// Each thread scans its half from zero; the sum of the first half never reaches the second.
// hone:function prefix_sum threads=(2)
extern "C" void prefix_sum(const float* x, float* y, int N) {
#pragma omp parallel for
  for (int half = 0; half < 2; ++half) {
    float sum = 0;
    for (int i = half * (N / 2); i < (half == 0 ? N / 2 : N); ++i) {
      sum += x[i];
      y[i] = sum;
    }
  }
}
