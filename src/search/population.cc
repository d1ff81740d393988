#include "search/population.h"

#include <algorithm>

namespace hone::search {
namespace {
bool usable(const propose::Outcome& outcome) {
  return outcome.correct && !outcome.invalid && !outcome.dropped && outcome.speedup > 0;
}
}  // namespace

void Population::rank() {
  std::stable_sort(members_.begin(), members_.end(), [](const Contender& a, const Contender& b) {
    if (a.latest().low != b.latest().low) return a.latest().low > b.latest().low;
    return a.sequence < b.sequence;
  });
  if (members_.size() > capacity_) members_.resize(capacity_);
}

void Population::screened(Contender contender) {
  if (!usable(contender.outcome)) return;
  members_.push_back(std::move(contender));
  rank();
}

void Population::retimed(std::uint64_t sequence, const propose::Outcome& fresh) {
  const auto member = std::find_if(members_.begin(), members_.end(), [&](const Contender& c) { return c.sequence == sequence; });
  if (member == members_.end()) return;
  if (usable(fresh)) member->fresh = fresh;
  else if (!fresh.invalid) members_.erase(member);
  rank();
}

}  // namespace hone::search
