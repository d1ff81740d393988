#include "runner/truth.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/clock.h"
#include "candidate/candidate.h"

namespace hone::runner {
namespace {

std::uint64_t element_count(const task::Tensor& tensor, const task::Dims& dims) {
  auto n = task::elements_of(tensor, dims);
  return n.ok() ? static_cast<std::uint64_t>(*n) : 0;
}

/// Moves a finite, non-zero element of `bits` significand bits to a neighbour in its own format.
template <typename Bits>
void step(std::byte* at, bool up, Bits exponent_mask, Bits magnitude_mask) {
  Bits bits;
  std::memcpy(&bits, at, sizeof bits);
  const Bits magnitude = bits & magnitude_mask;
  if (magnitude == 0 || (bits & exponent_mask) == exponent_mask) return;  // zero, NaN, infinity
  const Bits moved = static_cast<Bits>(up ? bits + 1 : bits - 1);
  if ((moved & exponent_mask) == exponent_mask) return;  // the largest finite stays
  std::memcpy(at, &moved, sizeof moved);
}

void step_element(task::DType dtype, std::byte* at, bool up) {
  switch (dtype) {
    case task::DType::f64: return step<std::uint64_t>(at, up, 0x7FF0000000000000ull, 0x7FFFFFFFFFFFFFFFull);
    case task::DType::f32: return step<std::uint32_t>(at, up, 0x7F800000u, 0x7FFFFFFFu);
    case task::DType::f16: return step<std::uint16_t>(at, up, 0x7C00u, 0x7FFFu);
    case task::DType::bf16: return step<std::uint16_t>(at, up, 0x7F80u, 0x7FFFu);
    default: return;
  }
}

using Outputs = std::vector<std::vector<std::byte>>;  // of a Reference

double load_real(const std::byte* at, std::size_t real_bytes, double* low) {
  *low = 0;
  if (real_bytes == 4) {
    float x;
    std::memcpy(&x, at, 4);
    return x;
  }
  if (real_bytes == 8) {
    double x;
    std::memcpy(&x, at, 8);
    return x;
  }
  __extension__ typedef __float128 Quad;
  Quad x;
  std::memcpy(&x, at, 16);
  const double high = static_cast<double>(x);
  *low = std::isfinite(high) ? static_cast<double>(x - static_cast<Quad>(high)) : 0;
  return high;
}

}  // namespace

std::size_t truth_real_bytes(task::Precision p) { return p == task::Precision::f64 ? 16 : 8; }
std::size_t rounded_real_bytes(task::Precision p) {
  return p == task::Precision::f64 || p == task::Precision::integer ? 8 : 4;
}

Result<InputSet> draw_inputs(const task::Task& task, const task::Dims& dims, const std::vector<task::DrawSpec>& specs,
                             const task::DrawSpec& scalars) {
  InputSet set;
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    HONE_TRY(const std::int64_t bytes, task::bytes_of(task.inputs[i], dims));
    std::vector<std::byte> data(static_cast<std::size_t>(bytes) + kReferenceSlack);
    HONE_CHECK(task::draw_input(task, i, dims, specs[i], std::span(data).first(static_cast<std::size_t>(bytes))));
    set.inputs.push_back(std::move(data));
  }
  set.scalars = task::draw_scalars(task, scalars);
  return set;
}

Result<InputSet> draw_inputs(const task::Task& task, const task::Dims& dims, const task::DrawSpec& spec) {
  return draw_inputs(task, dims, std::vector<task::DrawSpec>(task.inputs.size(), spec), spec);
}

Result<double> Evaluator::perturb(std::vector<std::byte>& bytes, task::DType dtype, std::uint64_t key) const {
  // δ is uniform within half an ulp of the class. Where the storage type has just the class's precision that half
  // ulp cannot be stored, so each element moves by one whole ulp with a random sign and the change that causes is
  // scaled by the rms of the uniform one, 1/sqrt(12): to first order the same s, without zeros by luck.
  const std::size_t width = task::size_of(dtype);
  const std::size_t n = (bytes.size() - kReferenceSlack) / width;
  const int class_bits = task_->precision == task::Precision::integer ? task::significand_bits(dtype)
                                                                      : task::significand_bits(task_->precision);
  const bool whole_ulp = class_bits >= task::significand_bits(dtype);
  const double half_ulp_relative = std::ldexp(1.0, -class_bits);
  for (std::size_t i = 0; i < n; i += 4) {
    const task::PhiloxBlock block = task::philox(key, i / 4, 0x5EED);
    for (std::size_t k = 0; k < 4 && i + k < n; ++k) {
      std::byte* at = bytes.data() + (i + k) * width;
      if (whole_ulp) {
        step_element(dtype, at, (block.x[k] & 1) != 0);
      } else {
        const double x = task::load_element(dtype, at);
        const double u = (static_cast<double>(block.x[k]) + 0.5) / 2147483648.0 - 1.0;
        if (std::isfinite(x)) task::store_element(dtype, at, x * (1 + u * half_ulp_relative));
      }
    }
  }
  return whole_ulp ? 1 / std::sqrt(12.0) : 1.0;
}

Result<std::vector<double>> Evaluator::selected_values(const task::Dims& dims, const InputSet& set, std::size_t output,
                                                       std::span<const std::byte> indices) const {
  const task::Tensor& tensor = task_->outputs[output];
  if (!tensor.select) return std::vector<double>{};
  const std::size_t width = task::size_of(tensor.dtype);
  std::vector<long long> chosen(indices.size() / width);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    chosen[i] = static_cast<long long>(task::load_element(tensor.dtype, indices.data() + i * width));
  return references_.truth->select(dims, set, output, chosen);
}

Result<std::vector<Truth>> Evaluator::evaluate(const task::Dims& dims, const InputSet& set, int evaluations,
                                               std::uint64_t seed) const {
  const std::size_t real = truth_real_bytes(task_->precision);
  const std::size_t rounded_real = rounded_real_bytes(task_->precision);
  const std::int64_t start = monotonic_ns();
  HONE_TRY(const Outputs t, references_.truth->run(dims, set, real));
  last_truth_ms_ = static_cast<double>(monotonic_ns() - start) * 1e-6;
  HONE_TRY(const Outputs r, references_.rounded->run(dims, set, rounded_real));
  std::optional<Outputs> lower;
  if (references_.lower) {
    HONE_TRY(lower, references_.lower->run(dims, set, 4));
  }

  std::vector<Truth> truths(task_->outputs.size());
  for (std::size_t o = 0; o < truths.size(); ++o) {
    const task::Tensor& tensor = task_->outputs[o];
    Truth& truth = truths[o];
    truth.dtype = tensor.dtype;
    truth.select = tensor.select;
    const std::size_t n = element_count(tensor, dims), width = task::size_of(tensor.dtype);
    truth.rounded_bits.resize(n * width);
    if (tensor.select) {
      const auto bytes = n * width;
      std::memcpy(truth.rounded_bits.data(), r[o].data(), bytes);
      HONE_TRY(truth.hi, selected_values(dims, set, o, std::span(t[o]).first(bytes)));
      HONE_TRY(truth.rounded, selected_values(dims, set, o, std::span(r[o]).first(bytes)));
      if (lower) {
        HONE_TRY(truth.lower, selected_values(dims, set, o, std::span((*lower)[o]).first(bytes)));
      }
      continue;
    }
    truth.hi.resize(n);
    truth.rounded.resize(n);
    if (!task::is_floating(tensor.dtype)) {
      for (std::size_t i = 0; i < n; ++i) {
        truth.hi[i] = task::load_element(tensor.dtype, t[o].data() + i * width);
        truth.rounded[i] = task::load_element(tensor.dtype, r[o].data() + i * width);
      }
      // Integers are exact: what must match bit for bit is the float64 build's answer, and r's where they agree.
      std::memcpy(truth.rounded_bits.data(), t[o].data(), n * width);
      continue;
    }
    if (real == 16) truth.lo.resize(n);
    double low = 0;
    for (std::size_t i = 0; i < n; ++i) {
      truth.hi[i] = load_real(t[o].data() + i * real, real, &low);
      if (real == 16) truth.lo[i] = low;
      const double rounded = load_real(r[o].data() + i * rounded_real, rounded_real, &low);
      task::store_element(tensor.dtype, truth.rounded_bits.data() + i * width, rounded);
      // A reference's output is stored too: r's error counts as a user would see it, in the storage type.
      truth.rounded[i] = task::load_element(tensor.dtype, truth.rounded_bits.data() + i * width);
    }
    if (lower) {
      truth.lower.resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        std::byte stored[16];
        task::store_element(tensor.dtype, stored, load_real((*lower)[o].data() + i * 4, 4, &low));
        truth.lower[i] = task::load_element(tensor.dtype, stored);
      }
    }
    truth.spread.assign(n, 0.0);
  }
  for (std::size_t o = 0; o < truths.size(); ++o)
    if (truths[o].select) truths[o].spread.assign(truths[o].hi.size(), 0.0);

  bool any_floating_input = false;
  for (const task::Tensor& input : task_->inputs) any_floating_input |= task::is_floating(input.dtype);
  if (!any_floating_input) return truths;
  for (int e = 0; e < evaluations; ++e) {
    InputSet moved = set;
    double scale = 1;
    for (std::size_t i = 0; i < moved.inputs.size(); ++i) {
      if (!task::is_floating(task_->inputs[i].dtype)) continue;
      HONE_TRY(scale, perturb(moved.inputs[i], task_->inputs[i].dtype,
                              seed * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(e) * 131 + i + 1));
    }
    HONE_TRY(const Outputs p, references_.truth->run(dims, moved, real));
    for (std::size_t o = 0; o < truths.size(); ++o) {
      Truth& truth = truths[o];
      if (truth.spread.empty()) continue;
      const std::size_t n = truth.hi.size();
      if (truth.select) {
        const std::size_t width = task::size_of(truth.dtype);
        HONE_TRY(const std::vector<double> values,
                 selected_values(dims, moved, o, std::span(p[o]).first(n * width)));
        for (std::size_t i = 0; i < n; ++i) {
          const double d = (values[i] - truth.hi[i]) * scale;
          if (std::isfinite(d)) truth.spread[i] += d * d / evaluations;
        }
        continue;
      }
      for (std::size_t i = 0; i < n; ++i) {
        double low = 0;
        const double high = load_real(p[o].data() + i * real, real, &low);
        const double d = ((high - truth.hi[i]) + (low - (truth.lo.empty() ? 0 : truth.lo[i]))) * scale;
        if (std::isfinite(d)) truth.spread[i] += d * d / evaluations;
      }
    }
  }
  for (Truth& truth : truths)
    for (double& s : truth.spread) s = std::sqrt(s);
  return truths;
}

}  // namespace hone::runner
