#pragma once
// propose: something that makes candidates. ask(n) / tell(…); it owns no clock, process or archive. One file
// (or folder) a proposer; the list is in propose/registry.cc.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "candidate/candidate.h"
#include "task/task.h"

namespace hone::propose {

/// What a proposer learns of one point.
struct Outcome {
  bool correct = false;
  bool invalid = false;      // could not be judged (timing invalid, environment)
  double speedup = 0;        // over the baseline; 0 when not correct or not timed
  double low = 0, high = 0;  // interval of speedup
  bool dropped = false;      // raced out early: speedup is an estimate
};

/// Asks for a paired comparison of two points already told as correct: answers log(speed of a / speed of b) with
/// an interval. A proposer returns it from ask() when it must know whether a step is real.
struct Proposal {
  candidate::Candidate source;        // whole candidate (shared text); cheap to copy via shared_ptr is not needed
  candidate::Assignment assignment;
  std::optional<candidate::Assignment> against;  // paired with this point rather than with the baseline
  std::uint64_t id = 0;               // unique within the proposer
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  /// Up to n new proposals; fewer when it waits for tells; none and done() when the space is exhausted.
  virtual std::vector<Proposal> ask(int n) = 0;
  virtual void tell(std::uint64_t id, const Outcome& outcome) = 0;
  virtual bool done() const = 0;
  /// One line for --explain: what it is doing and why.
  virtual std::string explain() const = 0;
  /// Everything needed to go on exactly as if never stopped.
  virtual Json save() const = 0;
  virtual Status restore(const Json& state) = 0;
};

struct ProposerOptions {
  std::uint64_t seed = 1;
};

}  // namespace hone::propose
