#pragma once
// A recorded space: every point of a tunable kernel, compiled and timed once (bench/record_space), so that search
// is tested without a compiler or a clock and the optimum is known. The file is text: lines `# key: value`, a line
// with the knobs' names and `ns`, then one line a valid point, its time in nanoseconds or `wrong`.

#include <string>
#include <unordered_map>
#include <vector>

#include "propose/proposer.h"
#include "propose/space.h"
#include "stats/random.h"

namespace hone::propose {

class Recorded {
 public:
  static Result<Recorded> parse(std::string_view text, std::string_view what);
  static Result<Recorded> read(const std::string& path);

  const candidate::Candidate& candidate() const { return candidate_; }  ///< knobs only; no source
  const Space& space() const { return *space_; }
  std::size_t points() const { return times_.size(); }
  std::size_t wrong() const { return wrong_; }
  /// Nanoseconds; 0 when wrong; nothing when the point is not valid.
  std::optional<double> time_ns(const candidate::Assignment& assignment) const;
  double best_ns() const { return best_ns_; }
  double median_ns() const { return median_ns_; }
  /// How many points reach `share` (say 0.95) of the best's speed.
  std::size_t within(double share) const;

 private:
  candidate::Candidate candidate_;
  std::shared_ptr<std::unordered_map<std::uint64_t, double>> map_;
  std::vector<double> times_;
  std::shared_ptr<Space> space_;
  std::size_t wrong_ = 0;
  double best_ns_ = 0, median_ns_ = 0;
};

/// Answers proposals from a recording. The baseline is the median correct point. With noise, every answer has a
/// fresh log-normal error of that deviation and an interval that holds the truth with probability 95 %; it
/// depends on the seed and on what is asked, so a resumed run hears what it would have heard.
class RecordedJudge {
 public:
  RecordedJudge(const Recorded& recorded, double noise = 0, std::uint64_t seed = 1)
      : recorded_(recorded), noise_(noise), seed_(seed) {}
  /// `salt` tells repeated questions apart.
  Outcome judge(const Proposal& proposal, std::uint64_t salt = 0) const;

 private:
  const Recorded& recorded_;
  double noise_;
  std::uint64_t seed_;
};

}  // namespace hone::propose
