#include "propose/surrogate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/random.h"

namespace hone::propose {
namespace {
constexpr int kTrees = 32;
constexpr std::size_t kSmallestSplit = 2;
}  // namespace

struct Surrogate::Builder {
  const Space& space;
  const std::vector<Point>& points;
  const std::vector<double>& values;
  stats::Random& random;
  Tree& tree;

  struct Split {
    int knob = -1;
    bool equal = false;
    std::uint16_t cut = 0;
    double loss = 0;
  };

  static bool left(const Point& point, int knob, bool equal, std::uint16_t cut) {
    const std::uint16_t digit = point[static_cast<std::size_t>(knob)];
    return equal ? digit == cut : digit < cut;
  }

  /// One random cut of one knob, between the digits that occur; nothing when they are all the same.
  Split draw(std::size_t knob, std::span<const std::size_t> rows) {
    std::uint16_t low = 0xffff, high = 0;
    for (const std::size_t row : rows) {
      low = std::min(low, points[row][knob]);
      high = std::max(high, points[row][knob]);
    }
    Split split;
    if (low == high) return split;
    split.knob = static_cast<int>(knob);
    split.equal = !space.knobs()[knob].ordered;
    split.cut = split.equal ? points[rows[random.below(rows.size())]][knob]
                            : static_cast<std::uint16_t>(low + 1 + random.below(std::uint64_t{high} - low));
    return split;
  }

  /// Sum of squared distances to the two means.
  double loss(const Split& split, std::span<const std::size_t> rows) {
    double sum[2] = {}, squares = 0, count[2] = {};
    for (const std::size_t row : rows) {
      const int side = left(points[row], split.knob, split.equal, split.cut);
      sum[side] += values[row];
      squares += values[row] * values[row];
      count[side] += 1;
    }
    return squares - sum[0] * sum[0] / count[0] - sum[1] * sum[1] / count[1];
  }

  int grow(std::span<std::size_t> rows) {
    const int here = static_cast<int>(tree.size());
    tree.emplace_back();
    double sum = 0;
    for (const std::size_t row : rows) sum += values[row];
    tree.back().value = sum / static_cast<double>(rows.size());
    if (rows.size() < kSmallestSplit) return here;
    Split best;
    for (std::size_t k = 0; k < space.knobs().size(); ++k) {
      Split split = draw(k, rows);
      if (split.knob < 0) continue;
      split.loss = loss(split, rows);
      if (best.knob < 0 || split.loss < best.loss) best = split;
    }
    if (best.knob < 0) return here;
    const auto middle = std::partition(rows.begin(), rows.end(), [&](std::size_t row) {
      return left(points[row], best.knob, best.equal, best.cut);
    });
    const auto size = static_cast<std::size_t>(middle - rows.begin());
    const int a = grow(rows.first(size)), b = grow(rows.subspan(size));
    Node& node = tree[static_cast<std::size_t>(here)];
    node.knob = best.knob;
    node.equal = best.equal;
    node.cut = best.cut;
    node.left = a;
    node.right = b;
    return here;
  }
};

void Surrogate::fit(const Space& space, const std::vector<Point>& points, const std::vector<double>& values,
                    std::uint64_t seed) {
  trees_.clear();
  if (points.empty()) return;
  stats::Random random(seed);
  std::vector<std::size_t> rows(points.size());
  for (int t = 0; t < kTrees; ++t) {
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    Builder{space, points, values, random, trees_.emplace_back()}.grow(rows);
  }
}

Surrogate::Guess Surrogate::guess(const Point& point) const {
  double sum = 0, squares = 0;
  for (const Tree& tree : trees_) {
    std::size_t at = 0;
    while (tree[at].knob >= 0)
      at = static_cast<std::size_t>(Builder::left(point, tree[at].knob, tree[at].equal, tree[at].cut) ? tree[at].left
                                                                                                    : tree[at].right);
    sum += tree[at].value;
    squares += tree[at].value * tree[at].value;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(1, trees_.size()));
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean))};
}

}  // namespace hone::propose
