#pragma once
// A bandit splits the budget between proposers by gain per second. Discounted UCB (Garivier & Moulines 2011): old
// rewards fade, as a proposer that found the easy gains must not live off them; a proposer not tried for long
// becomes attractive again.

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hone::search {

class Bandit {
 public:
  explicit Bandit(std::vector<std::string> names, double discount = 0.95, double exploration = 0.5);

  /// Index of the arm to play among those `open`; −1 when none is. Arms never played come first, in order.
  int pick(const std::vector<bool>& open) const;
  /// `gain`: log of best after over best before, 0 when nothing improved. `seconds` > 0: what it cost.
  void reward(int arm, double gain, double seconds);

  /// Discounted gain per second of an arm; 0 before it was played.
  double rate(int arm) const;

  Json save() const;
  Status restore(const Json& state);

 private:
  struct Arm {
    std::string name;
    double plays = 0, gain = 0, seconds = 0;  // discounted
  };
  std::vector<Arm> arms_;
  double discount_, exploration_;
};

}  // namespace hone::search
