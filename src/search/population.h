#pragma once
// The best points of a run. Ranked by the lower bound of the speed-up, not by the estimate: among many points the
// luckiest estimate is the best by chance, while a bound already pays for how little was measured. A point that
// was timed again on fresh rounds is ranked by those alone, as they were not what selected it.

#include <cstdint>
#include <optional>
#include <vector>

#include "propose/proposer.h"

namespace hone::search {

/// A point with what is known of it.
struct Contender {
  std::string proposer;
  propose::Proposal proposal;
  propose::Outcome outcome;               ///< of its screen
  std::optional<propose::Outcome> fresh;  ///< timed again
  std::uint64_t sequence = 0;             ///< of its screen

  const propose::Outcome& latest() const { return fresh ? *fresh : outcome; }
};

class Population {
 public:
  explicit Population(std::size_t capacity = 16) : capacity_(capacity) {}

  /// Wrong, invalid, untimed and dropped points are not kept.
  void screened(Contender contender);
  /// A point that turns out wrong or invalid leaves.
  void retimed(std::uint64_t sequence, const propose::Outcome& fresh);

  /// Null when empty.
  const Contender* best() const { return members_.empty() ? nullptr : &members_.front(); }
  /// Best first.
  const std::vector<Contender>& members() const { return members_; }

 private:
  void rank();

  std::size_t capacity_;
  std::vector<Contender> members_;
};

}  // namespace hone::search
