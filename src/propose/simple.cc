#include "propose/simple.h"

#include <fmt/format.h>

#include <map>
#include <unordered_set>

#include "propose/state.h"

namespace hone::propose {
namespace {

/// What both share: numbering, and points asked but not yet told.
class Simple : public Proposer {
 public:
  Simple(candidate::Candidate candidate, Space space) : candidate_(std::move(candidate)), space_(std::move(space)) {}

  std::vector<Proposal> ask(int n) override {
    std::vector<Proposal> proposals;
    while (static_cast<int>(proposals.size()) < n) {
      const std::optional<Point> point = next();
      if (!point) break;
      proposals.push_back({candidate_, space_.assignment(*point), std::nullopt, asked_++});
    }
    return proposals;
  }
  void tell(std::uint64_t, const Outcome&) override { ++told_; }
  bool done() const override { return exhausted_; }

 protected:
  virtual std::optional<Point> next() = 0;

  candidate::Candidate candidate_;
  Space space_;
  std::uint64_t asked_ = 0, told_ = 0;
  bool exhausted_ = false;
};

class RandomProposer : public Simple {
 public:
  RandomProposer(candidate::Candidate candidate, Space space, std::uint64_t seed)
      : Simple(std::move(candidate), std::move(space)), random_(seed) {}

  std::string name() const override { return "random"; }
  std::string explain() const override { return fmt::format("a random valid point; {} asked so far", asked_); }

  Json save() const override {
    return {{"asked", asked_}, {"told", told_}, {"exhausted", exhausted_}, {"random", save_random(random_)}, {"taken", taken_in_order_}};
  }
  Status restore(const Json& state) override {
    return read_state("random", [&] {
      asked_ = state.at("asked");
      told_ = state.at("told");
      exhausted_ = state.at("exhausted");
      random_ = restore_random(state.at("random"));
      taken_in_order_ = state.at("taken").get<std::vector<std::uint64_t>>();
      taken_ = {taken_in_order_.begin(), taken_in_order_.end()};
    });
  }

 private:
  std::optional<Point> next() override {
    const auto* points = space_.all();
    if (points && taken_.size() == points->size()) exhausted_ = true;
    for (int attempt = 0; !exhausted_; ++attempt) {
      const std::optional<Point> point = space_.random(random_);
      // In a listed space every point turns up in the end; in a huge one repeats mean that little is valid.
      if (!point || (!points && attempt == 10000)) exhausted_ = true;
      else if (taken_.insert(space_.index(*point)).second) {
        taken_in_order_.push_back(space_.index(*point));
        return point;
      }
    }
    return std::nullopt;
  }

  stats::Random random_;
  std::unordered_set<std::uint64_t> taken_;
  std::vector<std::uint64_t> taken_in_order_;
};

class ExhaustiveProposer : public Simple {
 public:
  using Simple::Simple;
  std::string name() const override { return "exhaustive"; }
  std::string explain() const override {
    return fmt::format("every valid point in order; at {} of {} combinations", position_, space_.product());
  }
  Json save() const override {
    return {{"asked", asked_}, {"told", told_}, {"exhausted", exhausted_}, {"position", position_}};
  }
  Status restore(const Json& state) override {
    return read_state("exhaustive", [&] {
      asked_ = state.at("asked");
      told_ = state.at("told");
      exhausted_ = state.at("exhausted");
      position_ = state.at("position");
    });
  }

 private:
  std::optional<Point> next() override {
    while (position_ < space_.product())
      if (Point point = space_.at(position_++); space_.valid(point)) return point;
    exhausted_ = true;
    return std::nullopt;
  }

  std::uint64_t position_ = 0;
};

}  // namespace

std::unique_ptr<Proposer> make_random(candidate::Candidate candidate, Space space, const ProposerOptions& options) {
  return std::make_unique<RandomProposer>(std::move(candidate), std::move(space), options.seed);
}

std::unique_ptr<Proposer> make_exhaustive(candidate::Candidate candidate, Space space) {
  return std::make_unique<ExhaustiveProposer>(std::move(candidate), std::move(space));
}

}  // namespace hone::propose
