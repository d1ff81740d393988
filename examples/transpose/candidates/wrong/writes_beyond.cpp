// hone:expect correctness out_of_bounds
// hone:expect correctness crash
// hone:expect memory address
// Off by one: the last pass of the outer loop writes behind the end of y.
// hone:function transpose
extern "C" void transpose(const float* x, float* y, int R, int C) {
  for (int j = 0; j <= C; ++j) {
    for (int i = 0; i < R; ++i) {
      y[j * R + i] = x[i * C + (j < C ? j : 0)];
    }
  }
}
