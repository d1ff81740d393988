#include "stats/sequential.h"

#include <cmath>
#include <numeric>

#include "stats/distributions.h"

namespace hone::stats {

LookPlan pair_looks(double alpha) { return {{8, 16, 32}, alpha, Spending::proportional, Centre::mean}; }

LookPlan round_looks(double alpha) {
  return {{16, 32, 64, 128}, alpha, Spending::proportional, Centre::median};
}

std::vector<double> spend(const LookPlan& plan) {
  const std::size_t looks = plan.sizes.size();
  std::vector<double> shares(looks);
  if (looks == 0) return shares;
  const double total = std::accumulate(plan.sizes.begin(), plan.sizes.end(), 0.0);
  const double z = normal_quantile(1 - plan.alpha / 2);
  double spent = 0;
  for (std::size_t i = 0; i < looks; ++i) {
    const double size = plan.sizes[i];
    switch (plan.spending) {
      case Spending::equal: shares[i] = plan.alpha / static_cast<double>(looks); break;
      case Spending::proportional: shares[i] = plan.alpha * size / total; break;
      case Spending::late: {
        const double t = size / plan.sizes.back();
        const double up_to_here = 2 * normal_cdf(-z / std::sqrt(t));
        shares[i] = up_to_here - spent;
        spent = up_to_here;
        break;
      }
    }
  }
  return shares;
}

const char* name_of(Answer answer) {
  switch (answer) {
    case Answer::faster: return "faster";
    case Answer::slower: return "slower";
    case Answer::same: return "same";
    case Answer::go_on: return "go on";
    case Answer::undecided: return "undecided";
  }
  return "?";
}

Decision decide(std::span<const double> log_ratios, int look, double margin, const LookPlan& plan) {
  Decision decision;
  const std::vector<double> shares = spend(plan);
  if (look < 0 || static_cast<std::size_t>(look) >= shares.size()) return decision;
  const double confidence = 1 - shares[static_cast<std::size_t>(look)];
  decision.interval = plan.centre == Centre::mean ? skew_interval(log_ratios, confidence)
                                                  : order_statistic_interval(log_ratios, confidence);
  const auto& [low, mid, high, level] = decision.interval;
  const bool last = static_cast<std::size_t>(look) + 1 == shares.size();
  if (low > margin) decision.answer = Answer::faster;
  else if (high < -margin) decision.answer = Answer::slower;
  else if (low > -margin && high < margin) decision.answer = Answer::same;
  else decision.answer = last ? Answer::undecided : Answer::go_on;
  return decision;
}

int look_at(int units, const LookPlan& plan) {
  int look = -1;
  while (static_cast<std::size_t>(look + 1) < plan.sizes.size() &&
         plan.sizes[static_cast<std::size_t>(look + 1)] <= units)
    ++look;
  return look;
}

}  // namespace hone::stats
