#include "propose/descent/descent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "propose/state.h"
#include "propose/surrogate.h"

namespace hone::propose {
namespace {

// Chosen on the recorded spaces of tests/data/spaces (docs/search.md has the table); none is critical.
constexpr double kDoubtNear = 0.5;       // weight of the surrogate's doubt among neighbours
constexpr double kDoubtFar = 1.0;        // and among starts of a new descent
constexpr double kPoorStart = 0.25;      // in logs: a start this much slower than the best is left at once
constexpr double kFailurePenalty = 0.7;  // in logs below the slowest correct point
constexpr int kPatience = 12;            // screens without a step before an optimum is taken as local
constexpr std::size_t kPool = 4000;      // untold points scored for a new start
constexpr double kLast = -1e6;           // score of points with a value that has only failed

struct Told {
  Point point;
  bool correct = false;
  double log = 0, low = 0, high = 0;  // logs of speed-up over the baseline
};

struct Pending {
  std::uint64_t index = 0;
  std::optional<std::uint64_t> against;
  bool again = false;  // asked a second time after an invalid answer
};

class Descent : public Proposer {
 public:
  Descent(candidate::Candidate candidate, Space space, std::uint64_t seed)
      : candidate_(std::move(candidate)), space_(std::move(space)), seed_(seed), random_(seed) {}

  std::string name() const override { return "descent"; }
  std::vector<Proposal> ask(int n) override;
  void tell(std::uint64_t id, const Outcome& outcome) override;
  bool done() const override { return exhausted_ && pending_.empty() && !challenger(); }
  std::string explain() const override;
  Json save() const override;
  Status restore(const Json& state) override;

 private:
  void draw_seeds();
  Proposal propose(std::uint64_t index, std::optional<std::uint64_t> against, bool again = false);
  std::optional<std::uint64_t> next_point();
  std::optional<std::uint64_t> next_on_line();
  std::optional<std::uint64_t> next_neighbour();
  std::optional<std::uint64_t> next_start();
  std::optional<std::uint64_t> best_of(const std::vector<Point>& points, double doubt);
  std::optional<std::uint64_t> challenger() const;
  void tell_screen(const Pending& asked, const Outcome& outcome);
  void tell_comparison(const Pending& asked, const Outcome& outcome);
  void step_to(std::uint64_t index);
  void refit();
  bool only_failed(const Point& point) const;
  bool asked_before(std::uint64_t index) const { return asked_.count(index) > 0; }
  const Told& told(std::uint64_t index) const { return told_[where_.at(index)]; }

  candidate::Candidate candidate_;
  Space space_;
  std::uint64_t seed_;
  stats::Random random_;

  std::uint64_t next_id_ = 0;
  bool seeded_ = false;
  std::vector<std::uint64_t> seeds_;              // not yet asked, last first
  std::vector<std::uint64_t> again_;              // invalid once: asked once more
  std::vector<Told> told_;                        // in the order told
  std::unordered_map<std::uint64_t, std::size_t> where_;
  std::set<std::uint64_t> asked_;                 // every point ever asked
  std::map<std::uint64_t, Pending> pending_;      // by proposal id
  std::optional<std::uint64_t> incumbent_;        // of this descent
  std::optional<std::uint64_t> best_;             // of all
  std::vector<std::uint64_t> refused_;            // lost a paired test against the incumbent
  std::optional<std::uint64_t> came_from_;        // the incumbent before the last step
  int stride_ = 0;                                // of the line search's next point; 0: none
  std::optional<std::uint64_t> line_target_;      // the last point a line search asked for
  int idle_ = 0;                                  // screens told since the last step
  int descents_ = 0;                              // after the first
  bool starting_ = false;                         // the next good screen is the start of a new descent
  bool exhausted_ = false;

  Surrogate surrogate_;                           // derived from told_
  std::size_t fitted_ = std::numeric_limits<std::size_t>::max();
  std::vector<std::vector<std::uint8_t>> passed_, failed_;  // derived: by knob and value, saturating
};

void Descent::draw_seeds() {
  seeded_ = true;
  const int n = std::clamp(2 * static_cast<int>(space_.knobs().size()), 6, 16);
  std::vector<Point> points = space_.latin_hypercube(n, random_);
  // The author's first values are often a sensible start.
  candidate::Assignment first;
  for (const auto& tunable : candidate_.tunables) first[tunable.name] = tunable.values.front();
  if (const auto point = space_.point(first); point && space_.valid(*point)) points.insert(points.begin(), *point);
  for (const Point& point : points) {
    const std::uint64_t index = space_.index(point);
    if (std::find(seeds_.begin(), seeds_.end(), index) == seeds_.end()) seeds_.push_back(index);
  }
  std::reverse(seeds_.begin(), seeds_.end());
  if (seeds_.empty()) exhausted_ = true;
}

Proposal Descent::propose(std::uint64_t index, std::optional<std::uint64_t> against, bool again) {
  Proposal proposal{candidate_, space_.assignment(space_.at(index)), std::nullopt, next_id_++};
  if (against) proposal.against = space_.assignment(space_.at(*against));
  else asked_.insert(index);
  pending_[proposal.id] = {index, against, again};
  return proposal;
}

std::vector<Proposal> Descent::ask(int n) {
  if (!seeded_) draw_seeds();
  std::vector<Proposal> proposals;
  while (static_cast<int>(proposals.size()) < n) {
    const auto rival = challenger();
    const bool testing = std::any_of(pending_.begin(), pending_.end(), [](const auto& p) { return p.second.against.has_value(); });
    if (rival && !testing) {
      proposals.push_back(propose(*rival, incumbent_));
    } else if (!again_.empty()) {
      proposals.push_back(propose(again_.back(), std::nullopt, true));
      again_.pop_back();
    } else if (!seeds_.empty()) {
      proposals.push_back(propose(seeds_.back(), std::nullopt));
      seeds_.pop_back();
    } else if (told_.empty() || (testing && !incumbent_)) {
      break;  // nothing to go by yet
    } else if (const auto index = next_point()) {
      proposals.push_back(propose(*index, std::nullopt));
    } else {
      break;
    }
  }
  return proposals;
}

std::optional<std::uint64_t> Descent::next_point() {
  if (incumbent_) {
    if (const auto index = next_on_line()) return index;
    if (const auto index = next_neighbour()) return index;
    // Local optimum: but answers still out may yet find a step.
    if (!pending_.empty()) return std::nullopt;
    incumbent_.reset();
    came_from_.reset();
    stride_ = 0;
    refused_.clear();
  }
  const auto start = next_start();
  if (start) {
    starting_ = true;
    idle_ = 0;
  } else if (pending_.empty()) {
    exhausted_ = true;
  }
  return start;
}

std::optional<std::uint64_t> Descent::next_on_line() {
  if (stride_ == 0 || !came_from_) return std::nullopt;
  const Point target = space_.beyond(space_.at(*came_from_), space_.at(*incumbent_), stride_);
  stride_ = 0;  // step_to() sets it again if this one is a step
  const std::uint64_t index = space_.index(target);
  if (asked_before(index) || !space_.valid(target) || only_failed(target)) return std::nullopt;
  line_target_ = index;
  return index;
}

std::optional<std::uint64_t> Descent::next_neighbour() {
  const Point here = space_.at(*incumbent_);
  std::vector<Point> points = space_.neighbours(here);
  const auto drop_asked = [&](std::vector<Point>& from) {
    std::erase_if(from, [&](const Point& p) { return asked_before(space_.index(p)); });
  };
  drop_asked(points);
  const bool all_single_told = points.empty();
  if (all_single_told && idle_ >= kPatience) return std::nullopt;
  if (idle_ >= 3 * kPatience) return std::nullopt;
  std::vector<Point> pairs = space_.pair_neighbours(here);
  drop_asked(pairs);
  points.insert(points.end(), std::make_move_iterator(pairs.begin()), std::make_move_iterator(pairs.end()));
  return best_of(points, kDoubtNear);
}

std::optional<std::uint64_t> Descent::next_start() {
  std::vector<Point> pool;
  if (const auto* points = space_.all()) {
    for (const Point& point : *points)
      if (!asked_before(space_.index(point))) pool.push_back(point);
    if (pool.size() > kPool) {
      random_.shuffle(std::span(pool));
      pool.resize(kPool);
    }
  } else {
    for (std::size_t i = 0; i < kPool / 4; ++i)
      if (auto point = space_.random(random_); point && !asked_before(space_.index(*point))) pool.push_back(*point);
  }
  return best_of(pool, kDoubtFar);
}

std::optional<std::uint64_t> Descent::best_of(const std::vector<Point>& points, double doubt) {
  refit();
  double best = -std::numeric_limits<double>::infinity();
  std::optional<std::uint64_t> chosen;
  for (const Point& point : points) {
    const Surrogate::Guess guess = surrogate_.guess(point);
    const double score = guess.mean + doubt * guess.spread + (only_failed(point) ? kLast : 0);
    if (score > best) best = score, chosen = space_.index(point);
  }
  return chosen;
}

bool Descent::only_failed(const Point& point) const {
  for (std::size_t k = 0; k < passed_.size(); ++k)
    if (failed_[k][point[k]] >= 3 && passed_[k][point[k]] == 0) return true;
  return false;
}

void Descent::refit() {
  if (fitted_ == told_.size()) return;
  fitted_ = told_.size();
  double slowest = 0;
  bool any = false;
  for (const Told& t : told_)
    if (t.correct) slowest = any ? std::min(slowest, t.log) : t.log, any = true;
  std::vector<Point> points;
  std::vector<double> values;
  passed_.assign(space_.knobs().size(), {});
  failed_.assign(space_.knobs().size(), {});
  for (std::size_t k = 0; k < passed_.size(); ++k) {
    passed_[k].assign(space_.knobs()[k].values.size(), 0);
    failed_[k].assign(space_.knobs()[k].values.size(), 0);
  }
  for (const Told& t : told_) {
    points.push_back(t.point);
    values.push_back(t.correct ? t.log : slowest - kFailurePenalty);
    for (std::size_t k = 0; k < t.point.size(); ++k) {
      std::uint8_t& count = (t.correct ? passed_ : failed_)[k][t.point[k]];
      if (count < 255) ++count;
    }
  }
  surrogate_.fit(space_, points, values, seed_ * 0x9E3779B97F4A7C15ull + told_.size());
}

/// The fastest told point that looks faster than the incumbent and has not lost a test against it.
std::optional<std::uint64_t> Descent::challenger() const {
  if (!incumbent_) return std::nullopt;
  const double bar = told(*incumbent_).log;
  std::optional<std::uint64_t> found;
  double best = bar;
  for (const Told& t : told_) {
    if (!t.correct || t.log <= best) continue;
    const std::uint64_t index = space_.index(t.point);
    if (std::find(refused_.begin(), refused_.end(), index) != refused_.end()) continue;
    best = t.log;
    found = index;
  }
  return found;
}

void Descent::tell(std::uint64_t id, const Outcome& outcome) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const Pending asked = found->second;
  pending_.erase(found);
  if (asked.against) tell_comparison(asked, outcome);
  else tell_screen(asked, outcome);
}

void Descent::tell_screen(const Pending& asked, const Outcome& outcome) {
  if (outcome.invalid) {
    if (!asked.again) again_.push_back(asked.index);
    return;
  }
  const auto log_of = [](double x) { return x > 0 ? std::log(x) : -std::numeric_limits<double>::infinity(); };
  Told t{space_.at(asked.index), outcome.correct && outcome.speedup > 0, 0, 0, 0};
  if (t.correct) {
    t.log = log_of(outcome.speedup);
    t.low = log_of(outcome.low);
    t.high = std::max(t.log, log_of(outcome.high));
  }
  where_[asked.index] = told_.size();
  told_.push_back(t);
  ++idle_;
  if (!t.correct) return;
  if (!best_ || t.log > told(*best_).log) best_ = asked.index;
  if (!incumbent_) {
    // Among seeds the fastest so far; a later start only when it is worth descending from.
    if (!starting_ || t.log >= told(*best_).log - kPoorStart) {
      incumbent_ = asked.index;
      descents_ += starting_;
      starting_ = false;
      idle_ = 0;
    }
    return;
  }
  // Apart beyond doubt, or the seeds are still being looked through: no further test.
  const Told& bar = told(*incumbent_);
  if (!outcome.dropped && (t.low > bar.high || (!seeds_.empty() && t.log > bar.log)))
    step_to(asked.index);
}

void Descent::tell_comparison(const Pending& asked, const Outcome& outcome) {
  if (!incumbent_ || *asked.against != *incumbent_) return;  // the incumbent moved on meanwhile
  if (outcome.correct && !outcome.invalid && outcome.low > 1) {
    // The paired ratio is the better estimate of the two.
    const Told bar = told(*incumbent_);
    Told& t = told_[where_.at(asked.index)];
    t.log = bar.log + std::log(outcome.speedup);
    t.low = bar.low + std::log(outcome.low);
    t.high = bar.high + std::log(outcome.high);
    fitted_ = std::numeric_limits<std::size_t>::max();
    step_to(asked.index);
  } else {
    refused_.push_back(asked.index);
  }
}

void Descent::step_to(std::uint64_t index) {
  const bool seeding = !seeds_.empty();
  came_from_ = seeding ? std::nullopt : incumbent_;
  // The change that led here is itself one stride long, so 2 doubles it.
  const bool further = line_target_ == index;
  line_target_.reset();
  incumbent_ = index;
  stride_ = came_from_ ? (further ? 2 : 1) : 0;
  idle_ = 0;
  refused_.clear();
  if (!best_ || told(index).log > told(*best_).log) best_ = index;
}

std::string Descent::explain() const {
  if (!incumbent_)
    return told_.empty() ? "looking at seeds" : fmt::format("looking for a new start after {} points", told_.size());
  return fmt::format("descent {}: around a point {:.3g}x the baseline, {} points since the last step, {} told",
                     descents_ + 1, std::exp(told(*incumbent_).log), idle_, told_.size());
}

Json optional_json(const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(); }
std::optional<std::uint64_t> optional_index(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<std::uint64_t>());
}

Json Descent::save() const {
  Json told = Json::array(), pending = Json::array(), asked = Json::array();
  for (const Told& t : told_)
    told.push_back({space_.index(t.point), t.correct, number(t.log), number(t.low), number(t.high)});
  for (const auto& [id, p] : pending_) pending.push_back({id, p.index, optional_json(p.against), p.again});
  for (const std::uint64_t index : asked_) asked.push_back(index);
  return {{"random", save_random(random_)}, {"next_id", next_id_},       {"seeded", seeded_},
          {"seeds", seeds_},                {"again", again_},           {"told", told},
          {"pending", pending},             {"asked", asked},            {"incumbent", optional_json(incumbent_)},
          {"best", optional_json(best_)},   {"refused", refused_},       {"came_from", optional_json(came_from_)},
          {"stride", stride_},              {"line", optional_json(line_target_)}, {"idle", idle_},
          {"descents", descents_},          {"starting", starting_},     {"exhausted", exhausted_}};
}

Status Descent::restore(const Json& state) {
  return read_state("descent", [&] {
    random_ = restore_random(state.at("random"));
    next_id_ = state.at("next_id");
    seeded_ = state.at("seeded");
    seeds_ = state.at("seeds").get<std::vector<std::uint64_t>>();
    again_ = state.at("again").get<std::vector<std::uint64_t>>();
    told_.clear();
    where_.clear();
    for (const Json& t : state.at("told")) {
      where_[t.at(0)] = told_.size();
      told_.push_back({space_.at(t.at(0)), t.at(1), as_double(t.at(2)), as_double(t.at(3)), as_double(t.at(4))});
    }
    pending_.clear();
    for (const Json& p : state.at("pending")) pending_[p.at(0)] = {p.at(1), optional_index(p.at(2)), p.at(3)};
    asked_.clear();
    for (const Json& index : state.at("asked")) asked_.insert(index.get<std::uint64_t>());
    incumbent_ = optional_index(state.at("incumbent"));
    best_ = optional_index(state.at("best"));
    refused_ = state.at("refused").get<std::vector<std::uint64_t>>();
    came_from_ = optional_index(state.at("came_from"));
    stride_ = state.at("stride");
    line_target_ = optional_index(state.at("line"));
    idle_ = state.at("idle");
    descents_ = state.at("descents");
    starting_ = state.at("starting");
    exhausted_ = state.at("exhausted");
    fitted_ = std::numeric_limits<std::size_t>::max();
  });
}

}  // namespace

std::unique_ptr<Proposer> make_descent(candidate::Candidate candidate, Space space, const ProposerOptions& options) {
  return std::make_unique<Descent>(std::move(candidate), std::move(space), options.seed);
}

}  // namespace hone::propose
