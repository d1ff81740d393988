#include "judge/case_plan.h"

#include <algorithm>
#include <cmath>

#include "judge/trial.h"
#include "task/task_file.h"

namespace hone::judge {
namespace {

Result<SizedCase> sized(const task::Task& task, const task::Case& task_case) {
  SizedCase out{task_case, 0, SizedCase::Size::small};
  HONE_TRY(out.bytes, task::total_bytes(task, task_case.dims));
  if (out.bytes > kSmallBytes) out.size = SizedCase::Size::large;
  for (const task::Tensor& output : task.outputs) {
    HONE_TRY(const std::int64_t n, task::elements_of(output, task_case.dims));
    if (n > 0 && n < kSmallOutput) out.size = SizedCase::Size::tiny;
  }
  return out;
}

}  // namespace

Result<std::vector<SizedCase>> by_size(const task::Task& task, const std::vector<task::Case>& cases) {
  std::vector<SizedCase> out;
  for (const task::Case& one : cases) {
    HONE_TRY(SizedCase next, sized(task, one));
    out.push_back(std::move(next));
  }
  std::stable_sort(out.begin(), out.end(), [](const SizedCase& a, const SizedCase& b) { return a.bytes < b.bytes; });
  return out;
}

int draws_for(const SizedCase& one, const Effort& effort, task::Distribution distribution) {
  const bool nominal = distribution == task::Distribution::nominal;
  switch (one.size) {
    case SizedCase::Size::tiny: return std::max(effort.draws_tiny, kLeastDraws);
    case SizedCase::Size::small: return nominal ? effort.draws_small : std::max(1, effort.draws_small / 2);
    case SizedCase::Size::large: return nominal ? effort.draws_large : std::max(1, effort.draws_large / 2);
  }
  return 1;
}

std::vector<task::Distribution> shuffled(std::vector<task::Distribution> distributions, std::uint64_t seed) {
  for (std::size_t i = distributions.size(); i > 2; --i) {
    const std::size_t j = 1 + static_cast<std::size_t>(derived_seed(seed, i) % (i - 1));
    std::swap(distributions[i - 1], distributions[j]);
  }
  return distributions;
}

double work_of(const task::Task& task, const task::Dims& dims) {
  if (!task.work.flops.empty())
    if (auto parsed = task::Expression::parse(task.work.flops); parsed.ok())
      if (auto flops = parsed->evaluate_real(dims); flops.ok()) return std::max(1.0, *flops);
  double product = 1;
  for (const auto& [name, value] : dims) product *= static_cast<double>(std::max<std::int64_t>(1, value));
  return product;
}

Result<std::vector<SizedCase>> hidden_cases(const task::Task& task, std::uint64_t seed,
                                            const std::vector<ClockedCase>& clocked, double oracle_s) {
  // The dearest case clocked tells best what a unit of work costs: on small ones the clock sees the call.
  double ms_per_work = 0, dearest_ms = 0;
  for (const ClockedCase& c : clocked)
    if (c.truth_ms > dearest_ms) {
      dearest_ms = c.truth_ms;
      ms_per_work = c.truth_ms / work_of(task, c.one.task_case.dims);
    }
  const auto distributions = task::distributions_for(task);
  const auto cost_ms = [&](const SizedCase& one) {
    int draws = 0;
    for (const task::Distribution d : distributions) draws += draws_for(one, Effort{}, d);
    return ms_per_work * work_of(task, one.task_case.dims) * kEvaluations * draws;
  };
  std::vector<SizedCase> best;
  std::int64_t limit = task::kMostHiddenBytes;
  for (int attempt = 0; attempt < 12; ++attempt, limit /= 4) {
    auto drawn = task::draw_hidden_cases(task, seed, limit);
    if (!drawn.ok()) {
      // A limit below the range's smallest shape: what the last limit gave is as small as it gets.
      if (attempt == 0) return std::move(drawn).error();
      break;
    }
    HONE_TRY(best, by_size(task, *drawn));
    double total_ms = 0;
    for (const SizedCase& one : best) total_ms += cost_ms(one);
    if (total_ms <= oracle_s * 1e3) return best;
  }
  // Still too dear: as many as fit, at least the cheapest.
  double total_ms = 0;
  std::vector<SizedCase> kept;
  for (SizedCase& one : best) {
    total_ms += cost_ms(one);
    if (kept.empty() || total_ms <= oracle_s * 1e3) kept.push_back(std::move(one));
  }
  return kept;
}

Result<std::unique_ptr<CaseArenas>> CaseArenas::make(runner::Session& session, const task::Dims& dims) {
  std::unique_ptr<CaseArenas> out(new CaseArenas(session));
  HONE_TRY(out->upper_, session.oracle().make_arenas(dims, runner::Side::upper));
  HONE_TRY(out->lower_, session.oracle().make_arenas(dims, runner::Side::lower));
  return out;
}

CaseArenas::~CaseArenas() {
  // A session whose oracle died cannot drop anything; nothing is lost by that.
  for (const runner::Arenas* arenas : {&upper_, &lower_})
    if (arenas->id != 0) (void)session_.oracle().drop_arenas(arenas->id);
}

}  // namespace hone::judge
