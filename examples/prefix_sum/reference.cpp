// y[i] = x[0] + ... + x[i], added from the left.
// hone:function prefix_sum
extern "C" void prefix_sum(const float* x, HONE_OUT* y, int N) {
  HONE_REAL sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += x[i];
    y[i] = sum;
  }
}
