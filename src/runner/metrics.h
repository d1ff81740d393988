#pragma once
// The error of an output against the truth, as numbers that can be pooled (DESIGN.md §7). The oracle computes
// them; the judge decides. z(k) = |k − t| / (s + half an ulp of t in the output's type).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/types.h"

namespace hone::runner {

/// The truth of one output on one draw. t = hi + lo (lo is zero below class f64).
struct Truth {
  task::DType dtype = task::DType::f32;
  bool select = false;              ///< the element is an index; hi, rounded and spread are of what it selects
  task::DType value_dtype = task::DType::f32;  ///< select: type whose ulp counts for the value selected
  std::vector<double> hi, lo;       ///< n elements; lo empty when zero. select: value of t's own index
  std::vector<double> spread;       ///< s, n elements; empty for integers
  std::vector<double> rounded;      ///< r as float64, n elements; integers too. select: value of r's index
  std::vector<std::byte> rounded_bits;  ///< r cast to the storage type
  std::vector<double> lower;        ///< r of the next lower class, or empty
};

/// One element worth showing.
struct BadElement {
  std::int64_t index = -1;
  double value = 0, truth = 0, reference = 0;  ///< candidate, t, r
  double z_candidate = 0, z_reference = 0;
  std::string why;                             ///< "beyond the budget", "NaN where the truth is finite", …
};

/// Sums over the elements of one output on one draw; add() pools draws.
struct OutputErrors {
  std::string name;
  std::int64_t elements = 0, counted = 0, skipped = 0;  ///< skipped: r not finite where t is
  double sum2_candidate = 0, max_candidate = 0;         ///< of z
  double sum2_reference = 0, max_reference = 0;
  double sum2_lower = 0, max_lower = 0;                 ///< when Truth.lower is there
  bool has_lower = false;
  std::int64_t bits_differ = 0;      ///< elements not bitwise equal to r
  std::int64_t exact_wrong = 0;      ///< integers that differ; NaN or infinity out of place
  std::int64_t inexact = 0;          ///< where r equals t throughout: values other than t's (0 and −0 are equal)
  bool reference_exact = true;       ///< r equals t on every element; never for select
  std::int64_t poison_left = 0;      ///< elements still holding the poison
  BadElement worst;                  ///< the first exact mismatch, else the largest z; index −1: none counted
  BadElement first_bad;              ///< first beyond kMaxFactor·(max z(r) of this draw) + kMaxFloor, or exactly wrong
  BadElement first_inexact;          ///< first counted in `inexact`

  void add(const OutputErrors& other);
};
Json to_json(const OutputErrors& errors);
Result<OutputErrors> output_errors_from_json(const Json& json);

/// The constants of the error budget (DESIGN.md §7): rms z(c) ≤ kRmsFactor · rms z(r) + kRmsFloor, and
/// max z(c) ≤ kMaxFactor · max z(r) + kMaxFloor. Calibrated: docs/error-budget.md.
inline constexpr double kRmsFactor = 5, kRmsFloor = 2.5, kMaxFactor = 5, kMaxFloor = 10;

/// Elements fall into classes by what t becomes in the output's type: finite, +infinity, −infinity or NaN. Where r
/// falls into another class than t, the reference itself is out of place: the element is skipped and counted.
/// Elsewhere c must fall into t's class. An integer is right if it equals t or r. An element holding the poison is
/// counted in poison_left unless t is the poison.
/// `output` holds n elements of truth.dtype as the candidate left them. `values` are, for select outputs, the
/// float64 values of the indices the candidate chose (NaN for an index out of range), else empty.
OutputErrors measure_errors(const std::string& name, const Truth& truth, std::span<const std::byte> output,
                            std::span<const double> values, std::span<const std::byte> poison_pattern);

/// Half an ulp of `truth` in `type`, never under half the smallest normal's ulp. Powers of two count by their own binade.
double half_ulp(task::DType type, double truth);

}  // namespace hone::runner
