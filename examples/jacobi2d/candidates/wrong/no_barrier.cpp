// hone:expect memory race
// hone:expect correctness wrong_value
// hone:expect correctness unstable
// Threads do not wait for one another between sweeps, so rows next to another thread's may be of either.
// hone:scratch other f32 [H, W]
// hone:function jacobi2d threads=(2)
extern "C" void jacobi2d(const float* x, float* y, float* other, int H, int W, int S) {
  for (int at = 0; at < H * W; ++at) {
    y[at] = x[at];
    other[at] = x[at];
  }
  float* last = S % 2 == 0 ? y : other;
  float* next = S % 2 == 0 ? other : y;
#pragma omp parallel firstprivate(last, next)
  for (int sweep = 0; sweep < S; ++sweep) {
#pragma omp for schedule(static) nowait
    for (int i = 1; i < H - 1; ++i) {
      for (int j = 1; j < W - 1; ++j) {
        const int at = i * W + j;
        next[at] = 0.25f * ((last[at - W] + last[at + W]) + (last[at - 1] + last[at + 1]));
      }
    }
    float* swapped = last;
    last = next;
    next = swapped;
  }
}
