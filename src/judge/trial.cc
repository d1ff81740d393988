#include "judge/trial.h"

#include <fmt/format.h>

#include "judge/reasons.h"

namespace hone::judge {
namespace {

using candidate::Failure;

// Alone, a draw that failed once must then succeed this often, or the failure is the candidate's after all.
constexpr int kConfirmations = 3;
// A candidate that fails once here and once there is not a machine's bad luck.
constexpr int kOddFailures = 2;

// Two runs agree when everything the oracle measured does: a changed bit moves bits_differ, a sum or a maximum.
bool same_errors(const runner::DrawCheck& a, const runner::DrawCheck& b) {
  for (std::size_t o = 0; o < a.outputs.size() && o < b.outputs.size(); ++o) {
    const runner::OutputErrors &x = a.outputs[o], &y = b.outputs[o];
    if (x.bits_differ != y.bits_differ || x.sum2_candidate != y.sum2_candidate ||
        x.max_candidate != y.max_candidate || x.exact_wrong != y.exact_wrong)
      return false;
  }
  return true;
}

std::optional<Failure> beside_the_outputs(const runner::DrawCheck& check) {
  if (check.inputs_changed)
    return Failure{"correctness", "inputs_changed", "an input was changed by the call", Json::object()};
  if (!check.red_zone.empty()) return Failure{"correctness", "out_of_bounds", check.red_zone, Json::object()};
  return std::nullopt;
}

}  // namespace

std::uint64_t derived_seed(std::uint64_t base, std::uint64_t index) {
  const task::PhiloxBlock block = task::philox(base, index, 0x4A554447);
  const std::uint64_t seed = (std::uint64_t{block.x[1]} << 32) | block.x[0];
  return seed == 0 ? 1 : seed;
}

std::string seed_text(std::uint64_t seed) { return fmt::format("0x{:016x}", seed); }

Failure at_draw(Failure failure, const DrawName& draw) {
  failure.message += fmt::format("; case {}, distribution {}", draw.case_label,
                                 task::name_of(draw.spec.distribution));
  failure.evidence["distribution"] = task::name_of(draw.spec.distribution);
  failure.evidence["seed"] = seed_text(draw.spec.seed);
  failure.evidence["case"] = draw.case_label;
  failure.evidence["dims"] = draw.dims;
  if (const Reason* reason = find_reason(failure.gate, failure.reason)) failure.evidence["next"] = reason->next;
  return failure;
}

Result<ReadyDraw> make_ready(runner::Session& session, DrawName name, const runner::Arenas* arenas, bool twice) {
  ReadyDraw out;
  HONE_TRY(out.prepared, session.oracle().prepare({name.dims, name.spec}));
  if (!session.task().scalars.empty()) {
    HONE_TRY(out.scalars, session.oracle().scalars_of(out.prepared.id));
  }
  out.name = std::move(name);
  out.arenas = arenas;
  out.twice = twice;
  return out;
}

Result<Trial::Attempt> Trial::attempt(const ReadyDraw& draw) {
  ++runs_;
  if (!runner_) {
    const int threads = program_.resolved.openmp ? session_.task().limits.threads : 1;
    HONE_TRY(runner::RunnerOutcome started,
             session_.start_runner(runner::Session::Who::candidate, program_, threads));
    if (auto* failure = std::get_if<Failure>(&started)) return Attempt(std::move(*failure));
    runner_ = std::get<std::unique_ptr<runner::Runner>>(std::move(started));
    bound_ = 0;
  }
  if (bound_ != draw.arenas->id || bound_scalars_ != draw.scalars) {
    HONE_TRY(std::optional<Failure> failure, runner_->bind(*draw.arenas, draw.name.dims, draw.scalars));
    if (failure) {
      runner_.reset();
      return Attempt(std::move(*failure));
    }
    bound_ = draw.arenas->id;
    bound_scalars_ = draw.scalars;
  }
  HONE_TRY(Attempt result, session_.run_draw(*runner_, *draw.arenas, draw.prepared));
  if (std::holds_alternative<Failure>(result)) runner_.reset();
  return result;
}

// No machine's bad luck writes frames: whoever forged one is not tried again until it fits.
bool is_forgery(const Failure& failure) {
  return failure.evidence.value("forged", false);
}

// The draw is tried again in a fresh runner of its own. What repeats is a verdict; what does not is put down to the
// machine, unless it happens again.
Result<Trial::Attempt> Trial::settle(const ReadyDraw& draw, Failure first) {
  if (is_forgery(first)) return Attempt(std::move(first));
  Attempt last = first;
  for (int i = 0; i < kConfirmations; ++i) {
    runner_.reset();
    HONE_TRY(last, attempt(draw));
    if (auto* again = std::get_if<Failure>(&last)) {
      if (i == 0) {
        again->evidence["repeated"] = true;
        return last;
      }
      return Attempt(Failure{"correctness", "unstable",
                             fmt::format("of {} runs of one draw some failed ({}) and some did not", i + 2,
                                         first.message),
                             {{"first", first.message}, {"again", again->message}}});
    }
  }
  ++odd_failures_;
  notes_.push_back(fmt::format("{} once, not repeated in {} runs alone: {}", first.reason, kConfirmations,
                               first.message));
  if (odd_failures_ >= kOddFailures)
    return Attempt(Failure{"correctness", "unstable",
                           fmt::format("{} draws failed once each, the last: {}", odd_failures_, first.message),
                           {{"first", notes_.front()}, {"again", first.message}}});
  return last;
}

Result<std::optional<Failure>> Trial::run(const ReadyDraw& draw, Ledger* ledger) {
  std::optional<runner::DrawCheck> before;
  for (int i = 0; i < (draw.twice ? 2 : 1); ++i) {
    HONE_TRY(Attempt result, attempt(draw));
    if (auto* failure = std::get_if<Failure>(&result)) {
      HONE_TRY(result, settle(draw, *failure));
      if (auto* settled = std::get_if<Failure>(&result)) return std::optional(at_draw(std::move(*settled), draw.name));
    }
    runner::DrawCheck& check = std::get<runner::DrawCheck>(result);
    if (auto failure = beside_the_outputs(check)) return std::optional(at_draw(std::move(*failure), draw.name));
    ledger->add(draw.name, check);
    if (before && !same_errors(*before, check)) deterministic_ = false;
    before = std::move(check);
  }
  return std::optional<Failure>();
}

}  // namespace hone::judge
