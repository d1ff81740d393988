#pragma once
// search: the run loop. It asks proposers for candidates, has them judged, tells the answers, keeps the best,
// and can be stopped and resumed at any instant.
//
// Everything that decides the course of a run is either fixed beforehand (seed, options, proposers) or in the
// journal (outcomes, what they cost, the run's clock). So resuming is replaying: the loop starts anew, and
// takes the answer of every job that has a record from the journal instead of judging it. Jobs of a batch that
// was in flight have no record and are judged again, once. A run that ended may be resumed with a larger budget. On a judge that answers alike, a resumed run equals
// the uninterrupted one job by job.
//
// A batch: the bandit picks a proposer, it is asked for a few points, they are judged and committed one by one,
// then told in the order asked. The best is whoever has the best lower bound; elites are timed again on fresh
// rounds before one of them is verified and reported (timing many and reporting the luckiest would overstate).
// Read evaluator.h first, then bandit.h, population.h, race.h, budget.h.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "propose/proposer.h"
#include "search/budget.h"
#include "search/evaluator.h"
#include "search/population.h"

namespace hone::search {

struct Progress {
  std::int64_t tried = 0, correct = 0, dropped = 0;  ///< points screened
  std::int64_t evaluations = 0;                      ///< screens and comparisons
  const Contender* best = nullptr;                   ///< null before the first correct point
  double elapsed_s = 0;
  std::optional<double> left_s;                      ///< of a time budget
  std::string proposer;                              ///< whose batch is running
  std::string explain;                               ///< what it says it is doing
  bool replaying = false;                            ///< answers still come from the journal
};

struct LoopOptions {
  Budget budget;
  int batch = 4;            ///< points asked for at once; larger ones learn later, smaller ones leave cores idle
  int finalists = 3;        ///< elites timed again at the end
  double final_share = 0.1; ///< of a time budget, kept back for finalists
  std::function<void(const Progress&)> progress;  ///< after every judgement
  const std::atomic<bool>* cancel = nullptr;      ///< stops cleanly: nothing committed is lost
  Clock* clock = nullptr;                         ///< null: the system's
};

enum class Ended { budget, target, exhausted, cancelled };
const char* name_of(Ended ended);

struct LoopResult {
  Ended ended = Ended::budget;
  std::optional<Contender> best;             ///< by fresh timing; none when nothing was correct
  std::optional<propose::Outcome> verified;  ///< of `best`; none when cancelled before
  std::vector<Contender> elites;             ///< best first, `best` included
  std::vector<Contender> rejected;           ///< finalists that failed verification
  std::int64_t tried = 0, correct = 0, dropped = 0, evaluations = 0;
  std::int64_t replayed = 0;                 ///< answers taken from the journal
  double elapsed_s = 0;                      ///< over all sessions of this run
  Json state = Json::object();               ///< bandit and proposers at the end, for --explain and the archive
};

/// Errors: the journal belongs to another run (its records do not match what the proposers ask), or journal
/// or evaluator failed. A cancelled run is a result, not an error.
Result<LoopResult> run_loop(std::vector<std::unique_ptr<propose::Proposer>> proposers, Evaluator& evaluator,
                            Journal& journal, const LoopOptions& options);

}  // namespace hone::search
