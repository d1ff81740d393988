#pragma once
// What the loop needs of the world: something that judges, something that remembers, a clock. The engine
// plugs in the judge and the archive; tests plug in a recorded space and a vector.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "propose/proposer.h"
#include "search/race.h"

namespace hone::search {

/// screen: a new point over the baseline. compare: a known point over another, paired. retime: a known point
/// over the baseline again, on fresh draws and rounds, before it is believed to be the best. verify: the full
/// judgement of a finalist; its interval is the one reported.
enum class Kind { screen, compare, retime, verify };
const char* name_of(Kind kind);

struct Job {
  Kind kind = Kind::screen;
  std::uint64_t sequence = 0;  ///< unique within the run, in the order asked
  std::string proposer;
  propose::Proposal proposal;
};

struct Judged {
  propose::Outcome outcome;
  double seconds = 0;           ///< what judging it cost
  Json verdict = Json::object();  ///< for the archive; the loop does not look inside
};

class Evaluator {
 public:
  using Finished = std::function<Status(std::size_t index, Judged judged)>;

  virtual ~Evaluator() = default;
  /// Judges every job of the batch and calls `finished` exactly once for each, in any order, from the calling
  /// thread, as soon as it is known (the loop commits it there and then). A candidate's failure is an Outcome;
  /// an error means that the run cannot go on. An error from `finished` must be returned at once. Returns early
  /// and well, leaving jobs unfinished, when `stop()` turns true. Screens may be dropped when race.clearly_slower()
  /// says so.
  virtual Status evaluate(std::span<const Job> jobs, const Race& race, const std::function<bool()>& stop,
                          const Finished& finished) = 0;
};

/// One committed judgement. (kind, proposer, proposal_id) occurs once in a run and is what a resume goes by.
struct Record {
  Kind kind = Kind::screen;
  std::uint64_t sequence = 0;
  std::string proposer;
  std::uint64_t proposal_id = 0;
  candidate::Assignment assignment;
  std::optional<candidate::Assignment> against;
  propose::Outcome outcome;
  double seconds = 0;    ///< cost of judging it
  double elapsed_s = 0;  ///< of the run's own clock, when it was committed
};
Json to_json(const Record& record);
Result<Record> record_from_json(const Json& json);

/// The run's memory. What append() has answered survives kill -9.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual Status append(const Record& record, const propose::Proposal& proposal, const Json& verdict) = 0;
  /// Every record appended so far, in the order of `sequence`.
  virtual Result<std::vector<Record>> records() = 0;
};

}  // namespace hone::search
