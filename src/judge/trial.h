#pragma once
// Runs draws of one candidate in the session's runners and books what comes back. A failure of the runner is tried
// again alone before it counts: only what repeats is the candidate's.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "judge/budget.h"
#include "runner/session.h"

namespace hone::judge {

/// A draw ready to run. Borrowed: must outlive the call.
struct ReadyDraw {
  DrawName name;
  runner::Prepared prepared;
  std::vector<double> scalars;
  const runner::Arenas* arenas = nullptr;
  bool twice = false;  ///< also asks whether two runs agree
};

/// Prepares a draw at the oracle.
Result<ReadyDraw> make_ready(runner::Session& session, DrawName name, const runner::Arenas* arenas, bool twice);

/// Completes a failure's evidence: case, dims, distribution, seed, next.
candidate::Failure at_draw(candidate::Failure failure, const DrawName& draw);

/// Seed number `index` of a judgement: never 0, unrelated to its neighbours.
std::uint64_t derived_seed(std::uint64_t base, std::uint64_t index);
/// "0x0123456789abcdef": as a JSON number many readers would round it.
std::string seed_text(std::uint64_t seed);

class Trial {
 public:
  Trial(runner::Session& session, const runner::Program& program) : session_(session), program_(program) {}
  /// Runs it (twice where asked) and adds what was measured to the ledger; a failure ends the judgement.
  Result<std::optional<candidate::Failure>> run(const ReadyDraw& draw, Ledger* ledger);
  /// Runs it once and books nothing: what was measured, or the failure, not tried again.
  Result<std::variant<runner::DrawCheck, candidate::Failure>> look(const ReadyDraw& draw) { return attempt(draw); }
  /// Before arenas go away: the runner must not stay bound to them.
  void release() { bound_ = 0; }
  bool deterministic() const { return deterministic_; }
  int runs() const { return runs_; }
  /// What went wrong once and not again.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  using Attempt = std::variant<runner::DrawCheck, candidate::Failure>;
  Result<Attempt> attempt(const ReadyDraw& draw);
  Result<Attempt> settle(const ReadyDraw& draw, candidate::Failure first);

  runner::Session& session_;
  const runner::Program& program_;
  std::unique_ptr<runner::Runner> runner_;
  std::uint64_t bound_ = 0;
  std::vector<double> bound_scalars_;
  bool deterministic_ = true;
  int runs_ = 0, odd_failures_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace hone::judge
