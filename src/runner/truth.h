#pragma once
// Evaluates the reference: t in the wider type, r in the task's own, s by moving the inputs within their rounding.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/metrics.h"
#include "runner/reference.h"
#include "task/draw.h"
#include "task/task.h"

namespace hone::runner {

/// Each input by its own draw: timing takes windows of one long draw at different offsets.
Result<InputSet> draw_inputs(const task::Task& task, const task::Dims& dims, const std::vector<task::DrawSpec>& specs,
                             const task::DrawSpec& scalars);
Result<InputSet> draw_inputs(const task::Task& task, const task::Dims& dims, const task::DrawSpec& spec);

class Evaluator {
 public:
  /// `task` must outlive it.
  Evaluator(const task::Task& task, References references) : task_(&task), references_(std::move(references)) {}

  /// `evaluations` float64 evaluations give s (4 for a verdict, fewer for spot checks of timed calls).
  Result<std::vector<Truth>> evaluate(const task::Dims& dims, const InputSet& set, int evaluations,
                                      std::uint64_t seed) const;
  /// For select outputs: the float64 value of each index in `output`; NaN where out of range. Else empty.
  Result<std::vector<double>> selected_values(const task::Dims& dims, const InputSet& set, std::size_t output,
                                              std::span<const std::byte> indices) const;
  /// Of the last evaluate(): one call of t.
  double last_truth_ms() const { return last_truth_ms_; }

 private:
  Result<double> perturb(std::vector<std::byte>& bytes, task::DType dtype, std::uint64_t key) const;

  const task::Task* task_;
  References references_;
  mutable double last_truth_ms_ = 0;
};

/// Bytes of HONE_REAL in the oracle's build and in r's.
std::size_t truth_real_bytes(task::Precision precision);
std::size_t rounded_real_bytes(task::Precision precision);

}  // namespace hone::runner
