#pragma once
// Which cases meet how many draws of which distribution, and where their tensors lie.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "judge/judge.h"
#include "runner/session.h"
#include "task/draw.h"
#include "task/task.h"

namespace hone::judge {

/// Float64 evaluations of one prepared draw: t, four for s, and about as much again for r and its lower class.
inline constexpr double kEvaluations = 6;

struct SizedCase {
  enum class Size { tiny, small, large };
  task::Case task_case;
  std::int64_t bytes = 0;  ///< of all tensors
  Size size = Size::small; ///< tiny: some output below kSmallOutput elements; large: beyond kSmallBytes
};
inline constexpr std::int64_t kSmallBytes = std::int64_t{1} << 20;

/// Cheapest first; of equal ones the order of the task.
Result<std::vector<SizedCase>> by_size(const task::Task& task, const std::vector<task::Case>& cases);
int draws_for(const SizedCase& one, const Effort& effort, task::Distribution distribution);
/// Nominal first, the others in an order keyed by the seed.
std::vector<task::Distribution> shuffled(std::vector<task::Distribution> distributions, std::uint64_t seed);

/// A case and what one float64 evaluation of it took.
struct ClockedCase {
  SizedCase one;
  double truth_ms = 0;
};
/// Hidden shapes whose evaluation together takes about `oracle_s` at most, judged by the cases already clocked.
Result<std::vector<SizedCase>> hidden_cases(const task::Task& task, std::uint64_t seed,
                                            const std::vector<ClockedCase>& clocked, double oracle_s);
/// How work grows: the task's flops where stated, else the product of the dims that are not 0.
double work_of(const task::Task& task, const task::Dims& dims);

/// Arenas on both sides of the guards, dropped at the end.
class CaseArenas {
 public:
  static Result<std::unique_ptr<CaseArenas>> make(runner::Session& session, const task::Dims& dims);
  ~CaseArenas();
  CaseArenas(const CaseArenas&) = delete;
  CaseArenas& operator=(const CaseArenas&) = delete;
  /// Draw i lies at the upper guard when even, else at the lower.
  const runner::Arenas* side(int i) const { return i % 2 == 0 ? &upper_ : &lower_; }

 private:
  explicit CaseArenas(runner::Session& session) : session_(session) {}
  runner::Session& session_;
  runner::Arenas upper_, lower_;
};

}  // namespace hone::judge
