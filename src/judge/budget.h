#pragma once
// The error budget (DESIGN.md §7): measured errors are pooled over the draws of one distribution, and every
// output of every case gets a class. docs/error-budget.md tells how the constants were calibrated.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "judge/verdict.h"
#include "runner/metrics.h"
#include "runner/oracle.h"
#include "task/draw.h"

namespace hone::judge {

/// An output of fewer elements is judged over at least kLeastDraws draws.
inline constexpr std::int64_t kSmallOutput = 256;
inline constexpr int kLeastDraws = 16;
/// A draw with more than this share of its elements skipped is invalid.
inline constexpr double kSkippedShare = 0.001;

/// rms z(c) ≤ rms_factor · rms z(r) + rms_floor and max z(c) ≤ max_factor · max z(r) + max_floor.
struct Budget {
  double rms_factor = runner::kRmsFactor, rms_floor = runner::kRmsFloor;
  double max_factor = runner::kMaxFactor, max_floor = runner::kMaxFloor;
  /// All four constants times `scale`: calibration.
  Budget scaled(double scale) const;
};

/// Which draw: enough to make it again.
struct DrawName {
  std::string case_label;
  task::Dims dims;
  task::DrawSpec spec;
};

/// How one output of one case fared under one distribution.
struct OutputDecision {
  Class cls = Class::A;
  std::string reason;                ///< wrong: a word of reasons.h
  runner::OutputErrors pooled;       ///< over the valid draws
  double rms_limit = 0, max_limit = 0;
  int draws = 0, invalid_draws = 0;
  runner::BadElement bad;            ///< wrong or C: what to show
  DrawName draw;                     ///< where `bad` is
  bool rms_only = false;             ///< the rms is beyond its limit while no single element is
};

/// Errors of one case under one distribution.
class Pool {
 public:
  void add(const DrawName& draw, const runner::DrawCheck& check);
  int draws() const { return static_cast<int>(draws_.size()); }
  /// One decision an output. A pool whose draws are all invalid decides nothing: class A, draws = 0.
  std::vector<OutputDecision> decide(const Budget& budget) const;

 private:
  struct One {
    DrawName name;
    std::vector<runner::OutputErrors> outputs;
    bool valid = true;
  };
  OutputDecision decide_output(std::size_t output, const Budget& budget) const;
  std::vector<One> draws_;
};

/// Every pool of one judgement.
class Ledger {
 public:
  explicit Ledger(Budget budget) : budget_(budget) {}
  void add(const DrawName& draw, const runner::DrawCheck& check);
  /// Closes the pool of a case and distribution; the first wrong decision in it, if any.
  std::optional<OutputDecision> close(const std::string& case_label, task::Distribution distribution);
  /// What only all pools together tell: an output that r computes exactly on every draw must be exact.
  std::optional<OutputDecision> close_all();
  /// Over all closed pools: the least class that covers every output.
  Class cls() const;
  /// The first decision that is C, to show why.
  std::optional<OutputDecision> first_c() const;
  /// {output: {distribution: the case nearest to its limits}}.
  Json errors() const;
  /// "specials: N=3: 4 of 4 draws invalid", …
  std::vector<std::string> notes() const;
  /// Some nominal pool had a valid draw.
  bool any_nominal() const;

 private:
  Budget budget_;
  std::map<std::pair<std::string, task::Distribution>, Pool> open_;
  std::vector<OutputDecision> closed_;
};

double rms(double sum2, std::int64_t n);
/// Share of the budget used: above 1 is beyond it.
double share_of(const OutputDecision& decision);
/// rms and max of candidate and reference, limits, draws, share.
Json to_json(const OutputDecision& decision);

/// The correctness gate's failure for a decision that is wrong (or C where C is not allowed): evidence {output, index,
/// value, truth, reference, error_candidate, error_reference, distribution, seed, case, next}.
candidate::Failure failure_of(const OutputDecision& decision);

}  // namespace hone::judge
