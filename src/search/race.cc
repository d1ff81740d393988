#include "search/race.h"

#include <cmath>

#include "stats/distributions.h"
#include "stats/summary.h"

namespace hone::search {

Race::Race(double best_low, RaceOptions options) : options_(options) {
  if (best_low > 0 && std::isfinite(best_low)) best_log_ = std::log(best_low);
}

bool Race::clearly_slower(std::span<const double> log_ratios) const {
  const auto rounds = static_cast<int>(log_ratios.size());
  if (!best_log_ || rounds < options_.first_round || rounds < 2) return false;
  const double n = rounds, m = options_.first_round;
  const double share = options_.error * (m - 1) / (n * (n - 1));
  const double upper = stats::mean(log_ratios) + stats::student_quantile(1 - share, n - 1) *
                                                     stats::standard_deviation(log_ratios) / std::sqrt(n);
  return upper < *best_log_ - options_.slack;
}

}  // namespace hone::search
