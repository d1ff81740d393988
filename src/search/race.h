#pragma once
// Racing: a candidate clearly slower than the best is dropped after few rounds.
//
// After each round one asks whether the upper confidence bound of the candidate's log speed-up lies below what
// the best is known to reach. Round n may err with probability error · (m − 1) / (n (n − 1)), where m is the
// first round looked at; these sum to `error` over all rounds, so a candidate as fast as the best is dropped
// with probability at most `error` however long it runs (for about normal log-ratios).

#include <optional>
#include <span>

namespace hone::search {

struct RaceOptions {
  int first_round = 4;    ///< fewer rounds never drop a candidate
  double error = 0.02;    ///< chance that one as fast as the best is dropped
  double slack = 0.02;    ///< in logs: one this little slower is not dropped, it may still be worth a step
};

class Race {
 public:
  /// Drops nothing.
  Race() = default;
  /// `best_low`: lower bound of the best's speed-up over the same baseline; the race runs against that, not
  /// against its lucky estimate.
  explicit Race(double best_low, RaceOptions options = {});

  bool on() const { return best_log_.has_value(); }
  /// `log_ratios`: log(baseline time / candidate time) of each round so far.
  bool clearly_slower(std::span<const double> log_ratios) const;

 private:
  std::optional<double> best_log_;
  RaceOptions options_;
};

}  // namespace hone::search
