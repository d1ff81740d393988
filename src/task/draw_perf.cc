// Speed of the draws: millions of elements a second on one core, the best of 15 draws of 2^20
// elements.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "task/draw.h"

namespace {

using namespace hone::task;

double millions_a_second(DType dtype, Values::Kind kind) {
  Task task;
  Tensor x;
  x.name = "x";
  x.dtype = dtype;
  x.shape = {Expression::parse("N").value()};
  x.values.kind = kind;
  x.values.high = 100;
  task.inputs = {x};
  constexpr std::int64_t n = 1 << 20;
  std::vector<std::byte> out(static_cast<std::size_t>(n) * size_of(dtype));
  double best = 0;
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    const auto start = std::chrono::steady_clock::now();
    if (!draw_input(task, 0, {{"N", n}}, {seed, {}, 0}, out).ok()) return 0;
    const double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, static_cast<double>(n) / s / 1e6);
  }
  return best;
}

}  // namespace

int main() {
  struct Row {
    const char* what;
    DType dtype;
    Values::Kind kind;
    double at_least;
  };
  const Row rows[] = {{"draw normals f32", DType::f32, Values::Kind::normal, 50},
                      {"draw normals f64", DType::f64, Values::Kind::normal, 30},
                      {"draw normals bf16", DType::bf16, Values::Kind::normal, 20},
                      {"draw uniforms f32", DType::f32, Values::Kind::uniform, 100},
                      {"draw integers i32", DType::i32, Values::Kind::integers, 50},
                      {"draw permutation i32", DType::i32, Values::Kind::permutation, 10}};
  for (const Row& row : rows) {
    const double speed = millions_a_second(row.dtype, row.kind);
    std::printf("%s | %.0f M/s | at least %.0f M/s | %s\n", row.what, speed, row.at_least,
                speed >= row.at_least ? "yes" : "no");
  }
  return 0;
}
