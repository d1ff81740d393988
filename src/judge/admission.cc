#include "judge/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "judge/case_plan.h"
#include "judge/trial.h"

namespace hone::judge {
namespace {

using Outputs = std::vector<std::string>;  // bytes in storage types, in the task's order

/// What is needed of one draw to put wrong answers to the budget.
struct Known {
  DrawName name;
  runner::Prepared prepared;
  std::vector<std::string> inputs;
  std::vector<double> scalars;
  Outputs rounded;  // r
};

std::vector<double> values_of(task::DType type, const std::string& bytes) {
  const std::size_t width = task::size_of(type);
  std::vector<double> out(bytes.size() / width);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = task::load_element(type, reinterpret_cast<const std::byte*>(bytes.data()) + i * width);
  return out;
}

std::string repeated(task::DType type, double value, std::size_t bytes) {
  std::string out(bytes, '\0');
  const std::size_t width = task::size_of(type);
  for (std::size_t at = 0; at + width <= bytes; at += width)
    task::store_element(type, reinterpret_cast<std::byte*>(out.data()) + at, value);
  return out;
}

/// The constant with the least squared error, or for integers the one that is right most often.
double best_constant(task::DType type, const std::vector<double>& values) {
  if (!task::is_floating(type)) {
    std::map<double, int> seen;
    for (const double v : values) ++seen[v];
    return std::max_element(seen.begin(), seen.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
  }
  double sum = 0, n = 0;
  for (const double v : values)
    if (std::isfinite(v)) {
      sum += v;
      ++n;
    }
  return n > 0 ? sum / n : 0;
}

std::string first_part(task::DType type, const std::string& right, double share) {
  const std::size_t width = task::size_of(type), n = right.size() / width;
  const std::size_t kept = std::min(n - 1, static_cast<std::size_t>(static_cast<double>(n) * share));
  std::string out(right.size(), '\0');
  std::memcpy(out.data(), right.data(), kept * width);
  return out;
}

class Admission {
 public:
  Admission(runner::Session& session, std::uint64_t seed, const Budget& budget, const Watch* watch)
      : session_(session), task_(session.task()), seed_(seed), budget_(budget), watch_(watch ? *watch : unlimited_) {}

  Result<AdmissionReport> run() {
    const std::int64_t start = monotonic_ns();
    report_.seed = seed_;
    HONE_CHECK(draw());
    finite();
    HONE_CHECK(deterministic());
    for (std::size_t o = 0; o < task_.outputs.size(); ++o) HONE_CHECK(nulls(o));
    for (std::size_t i = 0; i < task_.inputs.size(); ++i) HONE_CHECK(input_matters(i));
    for (std::size_t i = 0; i < task_.scalars.size(); ++i) HONE_CHECK(scalar_matters(i));
    for (const Known& one : known_) HONE_CHECK(session_.oracle().forget(one.prepared.id));
    for (const AdmissionFinding& f : report_.findings) report_.admitted &= f.ok || !f.strong;
    report_.ms = static_cast<double>(monotonic_ns() - start) * 1e-6;
    return std::move(report_);
  }

 private:
  Result<SizedCase> choose_case() const {
    HONE_TRY(const std::vector<SizedCase> all, by_size(task_, task_.cases));
    for (const bool timed : {true, false})
      for (const SizedCase& one : all) {
        bool any_elements = true;
        for (const task::Tensor& output : task_.outputs) {
          HONE_TRY(const std::int64_t n, task::elements_of(output, one.task_case.dims));
          any_elements &= n > 0;
        }
        if (any_elements && (one.task_case.time || !timed)) return one;
      }
    return usage_error(fmt::format("task '{}' has no case in which every output has elements", task_.name),
                       "Add a [[case]] with every dim above 0");
  }

  Status draw() {
    auto chosen = choose_case();
    if (!chosen.ok()) return std::move(chosen).error();
    const int n = std::max(2, draws_for(*chosen, Effort{}, task::Distribution::nominal));
    for (int i = 0; i < n; ++i) {
      HONE_CHECK(in_time());
      Known one;
      one.name = {chosen->task_case.label, chosen->task_case.dims,
                  {derived_seed(seed_, static_cast<std::uint64_t>(i)), task::Distribution::nominal, 0}};
      HONE_TRY(one.prepared, session_.oracle().prepare({one.name.dims, one.name.spec}));
      HONE_TRY(one.inputs, session_.oracle().inputs_of(one.prepared.id));
      HONE_TRY(one.scalars, session_.oracle().scalars_of(one.prepared.id));
      HONE_TRY(one.rounded, session_.oracle().truth_of(one.prepared.id, true));
      known_.push_back(std::move(one));
    }
    return {};
  }

  Status in_time() const {
    HONE_CHECK(watch_.next("null answers"));
    if (!watch_.over()) return {};
    return usage_error(fmt::format("the time limit of {} was over before it was known whether null answers fail",
                                   format_duration_ns(watch_.limit_s() * 1e9)),
                       "Give more time (--time-limit 20min), or the task a smaller timed case");
  }

  void say(std::string check, bool ok, bool strong, std::string detail, std::string next) {
    report_.findings.push_back({std::move(check), ok, strong, std::move(detail), ok ? "" : std::move(next)});
  }

  /// Class of the answers `make` gives for every draw, under the budget.
  template <typename Make>
  Result<Class> judged(Make make) {
    Ledger ledger(budget_);
    for (std::size_t d = 0; d < known_.size(); ++d) {
      HONE_CHECK(in_time());
      HONE_TRY(const Outputs outputs, make(d));
      HONE_TRY(const runner::DrawCheck check, session_.oracle().check_bytes(known_[d].prepared.id, outputs));
      ledger.add(known_[d].name, check);
    }
    (void)ledger.close_all();
    return ledger.cls();
  }

  void finite() {
    for (std::size_t o = 0; o < task_.outputs.size(); ++o) {
      const task::DType type = task_.outputs[o].dtype;
      if (!task::is_floating(type)) continue;
      std::size_t finite = 0, all = 0;
      for (const Known& one : known_)
        for (const double v : values_of(type, one.rounded[o])) {
          finite += std::isfinite(v);
          ++all;
        }
      say("finite: " + task_.outputs[o].name, 2 * finite >= all, false,
          fmt::format("{} of {} elements of the reference are finite", finite, all),
          "Draw values for which the reference is finite: NaN hides errors");
    }
    std::size_t invalid = 0;
    for (const Known& one : known_)
      invalid += static_cast<double>(one.prepared.skipped) > kSkippedShare * static_cast<double>(one.prepared.total);
    say("reference: in place", invalid < known_.size(), true,
        fmt::format("{} of {} nominal draws have the reference not finite where the truth is", invalid, known_.size()),
        "Make the reference stable (subtract the maximum, scale before squaring)");
  }

  Status deterministic() {
    const Known& one = known_.front();
    HONE_TRY(const Outputs first, session_.oracle().reference_on(one.name.dims, one.inputs, one.scalars));
    HONE_TRY(const Outputs second, session_.oracle().reference_on(one.name.dims, one.inputs, one.scalars));
    say("deterministic", first == second, true,
        first == second ? "two evaluations of the reference agree bit for bit"
                        : "two evaluations of the reference on the same inputs differ",
        "Look for uninitialised memory or state in the reference");
    return {};
  }

  Status null(const std::string& name, std::size_t output, bool strong,
              const std::function<std::string(std::size_t draw)>& wrong) {
    HONE_TRY(const Class cls, judged([&](std::size_t d) -> Result<Outputs> {
               Outputs outputs = known_[d].rounded;
               outputs[output] = wrong(d);
               return outputs;
             }));
    const bool caught = cls == Class::wrong;
    // Where the null is the answer itself, the task is what it is.
    bool is_answer = true;
    for (std::size_t d = 0; d < known_.size(); ++d) is_answer &= wrong(d) == known_[d].rounded[output];
    say(fmt::format("null: {} for {}", name, task_.outputs[output].name), caught, strong || !is_answer,
        caught ? "fails, as it must" : fmt::format("would pass in class {}", name_of(cls)),
        is_answer ? "The output is no more than that: nothing is left to compute"
                  : "Draw inputs for which the output varies, or judge another quantity");
    return {};
  }

  Status nulls(std::size_t o) {
    const task::Tensor& output = task_.outputs[o];
    const auto size = [&](std::size_t d) { return known_[d].rounded[o].size(); };
    HONE_CHECK(null("zeros", o, true, [&](std::size_t d) { return std::string(size(d), '\0'); }));
    HONE_CHECK(null("ones", o, true, [&](std::size_t d) { return repeated(output.dtype, 1, size(d)); }));
    std::vector<double> all;  // one constant for every draw: a candidate knows none of them
    for (const Known& one : known_)
      for (const double v : values_of(output.dtype, one.rounded[o])) all.push_back(v);
    const double best = best_constant(output.dtype, all);
    HONE_CHECK(null("best constant", o, true, [&](std::size_t d) { return repeated(output.dtype, best, size(d)); }));
    for (std::size_t i = 0; i < task_.inputs.size(); ++i)
      if (task_.inputs[i].dtype == output.dtype && known_[0].inputs[i].size() == size(0))
        HONE_CHECK(null("copy of " + task_.inputs[i].name, o, false,
                        [&](std::size_t d) { return known_[d].inputs[i]; }));
    HONE_CHECK(null("stale output", o, true, [&](std::size_t d) { return known_[(d + 1) % known_.size()].rounded[o]; }));
    for (const double share : {0.5, 0.9, 0.99})
      HONE_CHECK(null(fmt::format("first {:.0f} %", 100 * share), o, true,
                      [&](std::size_t d) { return first_part(output.dtype, known_[d].rounded[o], share); }));
    return {};
  }

  Status input_matters(std::size_t i) {
    const auto other = [&](std::size_t d) { return (d + 1) % known_.size(); };
    const std::string check = "sensitive: " + task_.inputs[i].name;
    if (known_[0].inputs[i] == known_[other(0)].inputs[i]) {
      say(check, known_[0].inputs[i].empty(), false, "the input is the same in every draw",
          "Draw it (or let its rows be shuffled): an answer made for it beforehand would pass");
      return {};
    }
    HONE_TRY(const Class cls, judged([&](std::size_t d) -> Result<Outputs> {
               std::vector<std::string> moved = known_[d].inputs;
               moved[i] = known_[other(d)].inputs[i];
               return session_.oracle().reference_on(known_[d].name.dims, moved, known_[d].scalars);
             }));
    say(check, cls == Class::wrong, true,
        cls == Class::wrong ? "another draw of it changes the output beyond the budget"
                            : "another draw of it changes nothing that the budget sees",
        "Draw larger values, or leave the input out of the task: a candidate need not read it");
    return {};
  }

  Status scalar_matters(std::size_t i) {
    HONE_TRY(const Class cls, judged([&](std::size_t d) -> Result<Outputs> {
               std::vector<double> moved = known_[d].scalars;
               moved[i] = moved[i] == 0 ? 1 : 2 * moved[i];
               return session_.oracle().reference_on(known_[d].name.dims, known_[d].inputs, moved);
             }));
    say("sensitive: " + task_.scalars[i].name, cls == Class::wrong, false,
        cls == Class::wrong ? "twice its value changes the output beyond the budget"
                            : "twice its value changes nothing that the budget sees",
        "Let it be redrawn (values = { kind = \"uniform\", low = …, high = … }), or draw inputs for which it counts");
    return {};
  }

  runner::Session& session_;
  const task::Task& task_;
  std::uint64_t seed_;
  Budget budget_;
  const Watch unlimited_;
  const Watch& watch_;
  std::vector<Known> known_;
  AdmissionReport report_;
};

}  // namespace

Result<AdmissionReport> admit(runner::Session& session, std::uint64_t seed, const Budget& budget, const Watch* watch) {
  return Admission(session, seed != 0 ? seed : entropy64(), budget, watch).run();
}

Json to_json(const AdmissionReport& report) {
  Json out = {{"admitted", report.admitted}, {"seed", seed_text(report.seed)}, {"ms", number(report.ms)}, {"findings", Json::array()}};
  for (const AdmissionFinding& f : report.findings) {
    out["findings"].push_back({{"check", f.check}, {"ok", f.ok}, {"strong", f.strong}, {"detail", f.detail}, {"next", f.next}});
  }
  return out;
}

}  // namespace hone::judge
