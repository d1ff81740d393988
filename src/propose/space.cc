#include "propose/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace hone::propose {
namespace {

constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 62;

std::optional<std::int64_t> integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Knob knob_of(const candidate::Tunable& tunable) {
  Knob knob{tunable.name, tunable.values, true};
  for (const std::string& value : tunable.values) knob.ordered = knob.ordered && integer(value);
  if (knob.ordered)
    std::stable_sort(knob.values.begin(), knob.values.end(),
                     [](const std::string& a, const std::string& b) { return *integer(a) < *integer(b); });
  return knob;
}

}  // namespace

Space::Space(const std::vector<candidate::Tunable>& tunables, Predicate valid) : valid_(std::move(valid)) {
  for (const candidate::Tunable& tunable : tunables) {
    knobs_.push_back(knob_of(tunable));
    const std::uint64_t values = std::max<std::uint64_t>(1, tunable.values.size());
    product_ = product_ > kTooLarge / values ? kTooLarge : product_ * values;
  }
}

Result<Space> Space::of(const candidate::Candidate& candidate, const task::Task& task) {
  for (const candidate::Tunable& tunable : candidate.tunables) {
    if (tunable.values.empty() || tunable.values.size() > std::numeric_limits<std::uint16_t>::max())
      return usage_error(fmt::format("{}: tunable {} has {} values", candidate.path, tunable.name, tunable.values.size()),
                         "Give it between 1 and 65535.");
  }
  Space space(candidate.tunables, [candidate, task](const candidate::Assignment& assignment) {
    return candidate::satisfies(candidate, assignment, task);
  });
  if (space.product_ >= kTooLarge)
    return usage_error(candidate.path + ": its tunables have more than 2^62 combinations", "Give fewer values.");
  return space;
}

std::uint64_t Space::index(const Point& point) const {
  std::uint64_t result = 0;
  for (std::size_t k = 0; k < knobs_.size(); ++k) result = result * knobs_[k].values.size() + point[k];
  return result;
}

Point Space::at(std::uint64_t index) const {
  Point point(knobs_.size());
  for (std::size_t k = knobs_.size(); k-- > 0;) {
    point[k] = static_cast<std::uint16_t>(index % knobs_[k].values.size());
    index /= knobs_[k].values.size();
  }
  return point;
}

candidate::Assignment Space::assignment(const Point& point) const {
  candidate::Assignment result;
  for (std::size_t k = 0; k < knobs_.size(); ++k) result[knobs_[k].name] = knobs_[k].values[point[k]];
  return result;
}

std::optional<Point> Space::point(const candidate::Assignment& assignment) const {
  Point point;
  for (const Knob& knob : knobs_) {
    const auto chosen = assignment.find(knob.name);
    if (chosen == assignment.end()) return std::nullopt;
    const auto value = std::find(knob.values.begin(), knob.values.end(), chosen->second);
    if (value == knob.values.end()) return std::nullopt;
    point.push_back(static_cast<std::uint16_t>(value - knob.values.begin()));
  }
  return point;
}

std::vector<std::uint16_t> Space::moves(const Point& point, std::size_t knob) const {
  const int here = point[knob], count = static_cast<int>(knobs_[knob].values.size());
  std::vector<std::uint16_t> result;
  for (int v = 0; v < count; ++v)
    if (v != here && (!knobs_[knob].ordered || std::abs(v - here) == 1))
      result.push_back(static_cast<std::uint16_t>(v));
  return result;
}

std::vector<Point> Space::neighbours(const Point& point) const {
  std::vector<Point> result;
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    Point next = point;
    for (const std::uint16_t value : moves(point, k)) {
      next[k] = value;
      if (valid(next)) result.push_back(next);
    }
  }
  return result;
}

std::vector<Point> Space::pair_neighbours(const Point& point) const {
  std::vector<Point> result;
  for (std::size_t k = 0; k < knobs_.size(); ++k)
    for (std::size_t l = k + 1; l < knobs_.size(); ++l)
      for (const std::uint16_t a : moves(point, k))
        for (const std::uint16_t b : moves(point, l)) {
          Point next = point;
          next[k] = a;
          next[l] = b;
          if (valid(next)) result.push_back(std::move(next));
        }
  return result;
}

Point Space::beyond(const Point& from, const Point& point, int step) const {
  Point result = point;
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    if (!knobs_[k].ordered) continue;
    const int last = static_cast<int>(knobs_[k].values.size()) - 1;
    result[k] = static_cast<std::uint16_t>(std::clamp(point[k] + step * (point[k] - from[k]), 0, last));
  }
  return result;
}

const std::vector<Point>* Space::all(std::uint64_t limit) const {
  if (product_ > limit) return nullptr;
  if (!listed_) {
    listed_.emplace();
    for (std::uint64_t i = 0; i < product_; ++i)
      if (Point point = at(i); valid(point)) listed_->push_back(std::move(point));
  }
  return &*listed_;
}

std::optional<Point> Space::random(stats::Random& random) const {
  if (const auto* points = all()) {
    if (points->empty()) return std::nullopt;
    return (*points)[random.below(points->size())];
  }
  for (int attempt = 0; attempt < 1000; ++attempt)
    if (Point point = at(random.below(product_)); valid(point)) return point;
  return repair(at(random.below(product_)), random);
}

/// Each ordered knob counts by the share of its range, a word by whether it differs.
double Space::distance(const Point& a, const Point& b) const {
  double sum = 0;
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    if (a[k] == b[k]) continue;
    const auto range = static_cast<double>(knobs_[k].values.size() - 1);
    sum += knobs_[k].ordered ? std::abs(a[k] - b[k]) / range : 1;
  }
  return sum;
}

/// A walk that changes more and more knobs of the target until a valid point turns up.
std::optional<Point> Space::repair(Point target, stats::Random& random) const {
  for (int attempt = 0; attempt < 4000; ++attempt) {
    if (valid(target)) return target;
    Point next = target;
    for (int change = 0; change <= attempt / 500; ++change) {
      const std::size_t k = random.below(knobs_.size());
      next[k] = static_cast<std::uint16_t>(random.below(knobs_[k].values.size()));
    }
    if (valid(next)) return next;
    if (attempt % 16 == 15) target = std::move(next);
  }
  return std::nullopt;
}

std::vector<Point> Space::latin_hypercube(int n, stats::Random& random) const {
  std::vector<Point> targets(static_cast<std::size_t>(std::max(n, 0)), Point(knobs_.size()));
  std::vector<std::size_t> cells(targets.size());
  for (std::size_t k = 0; k < knobs_.size(); ++k) {
    std::iota(cells.begin(), cells.end(), std::size_t{0});
    random.shuffle(std::span(cells));
    const auto values = static_cast<double>(knobs_[k].values.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const double share = (static_cast<double>(cells[i]) + random.uniform()) / static_cast<double>(targets.size());
      targets[i][k] = static_cast<std::uint16_t>(std::min(share * values, values - 1));
    }
  }
  const auto* points = all();
  std::vector<Point> result;
  std::set<std::uint64_t> taken;
  for (const Point& target : targets) {
    std::optional<Point> best;
    if (points) {
      double least = std::numeric_limits<double>::infinity();
      for (const Point& point : *points) {
        const double d = distance(target, point) + 1e-6 * random.uniform();  // ties by chance
        if (d < least && !taken.count(index(point))) least = d, best = point;
      }
    } else {
      best = repair(target, random);
    }
    if (best && taken.insert(index(*best)).second) result.push_back(std::move(*best));
  }
  return result;
}

}  // namespace hone::propose
