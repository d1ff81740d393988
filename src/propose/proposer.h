#pragma once
// propose: something that makes candidates. ask(n) / tell(…); it owns no clock, process or archive. One file
// (or folder) a proposer; the list is in propose/registry.cc. Read space.h next: the points a proposer of
// tunables chooses from.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "candidate/candidate.h"
#include "task/task.h"

namespace hone::propose {

/// What a proposer learns of one proposal.
struct Outcome {
  bool correct = false;
  bool invalid = false;      ///< could not be judged (timing invalid, environment): says nothing of the point
  double speedup = 0;        ///< over the baseline, or over `against` where the proposal named one; 0 when not
                             ///< correct or not timed
  double low = 0, high = 0;  ///< interval of speedup
  bool dropped = false;      ///< raced out early as clearly slower than the best: speedup is an estimate
};

Json to_json(const Outcome& outcome);
Result<Outcome> outcome_from_json(const Json& json);

/// One thing to judge. Without `against` it is a new point, timed beside the baseline. With it, both points
/// have been told as correct before and the question is a paired comparison: how much faster is `assignment`
/// than `against`? A proposer asks that when it must know whether a step is real, and believes it when
/// Outcome.low > 1.
struct Proposal {
  candidate::Candidate source;
  candidate::Assignment assignment;
  std::optional<candidate::Assignment> against;
  std::uint64_t id = 0;  ///< unique within the proposer, increasing
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  /// Up to n new proposals; fewer, even none, when it waits for tells; none and done() when it has no more.
  virtual std::vector<Proposal> ask(int n) = 0;
  /// Answers one proposal; each is told exactly once, in any order.
  virtual void tell(std::uint64_t id, const Outcome& outcome) = 0;
  virtual bool done() const = 0;
  /// One line for --explain: what it is doing and why.
  virtual std::string explain() const = 0;
  /// Everything needed to go on exactly as if never stopped, proposals not yet told included.
  virtual Json save() const = 0;
  /// Into a proposer made from the same candidate, task and options.
  virtual Status restore(const Json& state) = 0;
};

struct ProposerOptions {
  std::uint64_t seed = 1;
};

}  // namespace hone::propose
