// hone:expect correctness wrong_value
// Off by one: the sum of the elements before i, without element i.
// hone:function prefix_sum
extern "C" void prefix_sum(const float* x, float* y, int N) {
  float sum = 0;
  for (int i = 0; i < N; ++i) {
    y[i] = sum;
    sum += x[i];
  }
}
