#include "search/bandit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone::search {

Bandit::Bandit(std::vector<std::string> names, double discount, double exploration)
    : discount_(discount), exploration_(exploration) {
  for (std::string& name : names) arms_.push_back({std::move(name)});
}

double Bandit::rate(int arm) const {
  const Arm& a = arms_[static_cast<std::size_t>(arm)];
  return a.seconds > 0 ? a.gain / a.seconds : 0;
}

int Bandit::pick(const std::vector<bool>& open) const {
  double plays = 0, best_rate = 0;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    plays += arms_[i].plays;
    best_rate = std::max(best_rate, rate(static_cast<int>(i)));
  }
  int chosen = -1;
  double best = -1;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (!open[i]) continue;
    double score = std::numeric_limits<double>::infinity();
    if (arms_[i].plays > 0) {
      // Rates have no natural scale: the best one counts 1.
      score = best_rate > 0 ? rate(static_cast<int>(i)) / best_rate : 0;
      score += exploration_ * std::sqrt(std::log(1 + plays) / arms_[i].plays);
    }
    if (score > best) best = score, chosen = static_cast<int>(i);
  }
  return chosen;
}

void Bandit::reward(int arm, double gain, double seconds) {
  for (Arm& a : arms_) {
    a.plays *= discount_;
    a.gain *= discount_;
    a.seconds *= discount_;
  }
  Arm& played = arms_[static_cast<std::size_t>(arm)];
  played.plays += 1;
  played.gain += std::max(0.0, gain);
  played.seconds += std::max(1e-9, seconds);
}

Json Bandit::save() const {
  Json arms = Json::array();
  for (const Arm& a : arms_)
    arms.push_back({{"name", a.name}, {"plays", number(a.plays)}, {"gain", number(a.gain)}, {"seconds", number(a.seconds)}});
  return arms;
}

Status Bandit::restore(const Json& state) {
  const Error other = usage_error("the saved bandit has other proposers", "Resume with the proposers of the run.");
  if (!state.is_array() || state.size() != arms_.size()) return other;
  std::vector<Arm> arms;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    const Json& a = state[i];
    if (!a.is_object() || !a.contains("name") || a["name"] != arms_[i].name) return other;
    for (const char* key : {"plays", "gain", "seconds"}) HONE_CHECK(get_number(a, key, "bandit"));
    arms.push_back({arms_[i].name, as_double(a["plays"]), as_double(a["gain"]), as_double(a["seconds"])});
  }
  arms_ = std::move(arms);
  return {};
}

}  // namespace hone::search
