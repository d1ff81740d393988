#pragma once
// The valid points of a candidate's tunables. A point is one digit a knob; digits of a knob whose values are all
// integers follow the values upwards, whatever order they were written in, so that one step is a small change.
// Nothing is enumerated unless asked: a space may be larger than memory.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "candidate/candidate.h"
#include "stats/random.h"

namespace hone::propose {

struct Knob {
  std::string name;
  std::vector<std::string> values;
  bool ordered = false;  ///< integers, ascending; otherwise words without an order
};

using Point = std::vector<std::uint16_t>;

class Space {
 public:
  using Predicate = std::function<bool(const candidate::Assignment&)>;

  /// `valid` says which points satisfy the constraints.
  Space(const std::vector<candidate::Tunable>& tunables, Predicate valid);
  /// Validity by candidate::satisfies; an error when a knob has no value or the product exceeds 2^62.
  static Result<Space> of(const candidate::Candidate& candidate, const task::Task& task);

  const std::vector<Knob>& knobs() const { return knobs_; }
  /// Points of the whole product, valid or not.
  std::uint64_t product() const { return product_; }

  bool valid(const Point& point) const { return valid_(assignment(point)); }
  /// Mixed radix: the last knob varies fastest.
  std::uint64_t index(const Point& point) const;
  Point at(std::uint64_t index) const;
  candidate::Assignment assignment(const Point& point) const;
  /// Nothing when a knob is missing or has no such value.
  std::optional<Point> point(const candidate::Assignment& assignment) const;

  /// One knob changed: by one step where ordered, to each other value where not. Valid ones only.
  std::vector<Point> neighbours(const Point& point) const;
  /// Two knobs changed, each as above.
  std::vector<Point> pair_neighbours(const Point& point) const;
  /// `point` plus `step` times the change from `from` to `point`, on ordered knobs, kept within range.
  Point beyond(const Point& from, const Point& point, int step) const;

  /// Every valid point in index order when the product is at most `limit`, else nothing. Found once, then kept.
  const std::vector<Point>* all(std::uint64_t limit = kListed) const;
  /// A valid point at random, uniform where the space can be listed; nothing when none was found.
  std::optional<Point> random(stats::Random& random) const;
  /// Up to n distinct valid points near the cells of a Latin hypercube: every knob's range is covered evenly as
  /// far as constraints allow.
  std::vector<Point> latin_hypercube(int n, stats::Random& random) const;

  static constexpr std::uint64_t kListed = 50'000;

 private:
  std::vector<std::uint16_t> moves(const Point& point, std::size_t knob) const;
  double distance(const Point& a, const Point& b) const;
  std::optional<Point> repair(Point target, stats::Random& random) const;

  std::vector<Knob> knobs_;
  Predicate valid_;
  std::uint64_t product_ = 1;
  mutable std::optional<std::vector<Point>> listed_;
};

}  // namespace hone::propose
