#pragma once
// A small model of log time over told points: extremely randomised trees (Geurts, Ernst & Wehenkel 2006). It
// needs no scaling, takes words as well as numbers, learns interactions of knobs, and the spread between trees
// says where it knows little. Rebuilt from scratch in about a millisecond per hundred points.

#include <cstdint>
#include <vector>

#include "propose/space.h"

namespace hone::propose {

class Surrogate {
 public:
  struct Guess {
    double mean = 0;
    double spread = 0;  ///< standard deviation between trees
  };

  /// The same points, values and seed give the same model.
  void fit(const Space& space, const std::vector<Point>& points, const std::vector<double>& values,
           std::uint64_t seed);
  Guess guess(const Point& point) const;
  bool fitted() const { return !trees_.empty(); }

 private:
  struct Node {
    int knob = -1;          // −1: a leaf
    bool equal = false;     // goes left when digit == cut, else when digit < cut
    std::uint16_t cut = 0;
    int left = 0, right = 0;
    double value = 0;
  };
  using Tree = std::vector<Node>;
  struct Builder;

  std::vector<Tree> trees_;
};

}  // namespace hone::propose
