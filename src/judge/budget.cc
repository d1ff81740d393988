#include "judge/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/reasons.h"

namespace hone::judge {
namespace {

using runner::BadElement;
using runner::OutputErrors;

bool is_valid(const runner::DrawCheck& check) {
  for (const OutputErrors& e : check.outputs)
    if (static_cast<double>(e.skipped) > kSkippedShare * static_cast<double>(e.elements)) return false;
  return true;
}

struct Limits {
  double rms = 0, max = 0;
};
Limits limits_of(const Budget& budget, double sum2, double max, std::int64_t n) {
  return {budget.rms_factor * rms(sum2, n) + budget.rms_floor, budget.max_factor * max + budget.max_floor};
}

const char* reason_of_exact(const OutputErrors& e) {
  if (e.worst.why.find("index") != std::string::npos) return "wrong_index";
  if (e.worst.why.find("integer") != std::string::npos) return "wrong_integer";
  return "not_finite";
}

}  // namespace

double rms(double sum2, std::int64_t n) { return n > 0 ? std::sqrt(sum2 / static_cast<double>(n)) : 0; }

Budget Budget::scaled(double scale) const {
  return {rms_factor * scale, rms_floor * scale, max_factor * scale, max_floor * scale};
}

void Pool::add(const DrawName& draw, const runner::DrawCheck& check) {
  draws_.push_back({draw, check.outputs, is_valid(check)});
}

OutputDecision Pool::decide_output(std::size_t output, const Budget& budget) const {
  OutputDecision out;
  std::vector<const One*> valid;
  for (const One& one : draws_) {
    if (!one.valid) {
      ++out.invalid_draws;
      out.draw = one.name;
      continue;
    }
    if (valid.empty()) out.pooled.name = one.outputs[output].name;
    out.pooled.add(one.outputs[output]);
    valid.push_back(&one);
  }
  out.draws = static_cast<int>(valid.size());
  if (valid.empty()) {
    if (!draws_.empty()) out.pooled.name = draws_[0].outputs[output].name;
    return out;
  }
  out.draw = valid[0]->name;
  const OutputErrors& all = out.pooled;
  const Limits own = limits_of(budget, all.sum2_reference, all.max_reference, all.counted);
  out.rms_limit = own.rms;
  out.max_limit = own.max;

  const auto first_draw = [&](auto wanted) -> const One* {
    for (const One* one : valid)
      if (wanted(one->outputs[output])) return one;
    return valid[0];
  };
  if (all.poison_left > 0 || all.exact_wrong > 0) {
    out.cls = Class::wrong;
    out.reason = all.poison_left > 0 ? "unwritten" : reason_of_exact(all);
    const One* one = first_draw([](const OutputErrors& e) { return e.exact_wrong > 0 || e.poison_left > 0; });
    out.draw = one->name;
    out.bad = one->outputs[output].first_bad;
    return out;
  }
  const double rms_c = rms(all.sum2_candidate, all.counted);
  const bool beyond_max = all.max_candidate > own.max, beyond_rms = rms_c > own.rms;
  if (!beyond_max && !beyond_rms) {
    out.cls = all.bits_differ == 0 ? Class::A : Class::B;
    return out;
  }
  out.rms_only = !beyond_max;
  const One* one = nullptr;
  if (beyond_max) {
    one = first_draw([&](const OutputErrors& e) { return e.max_candidate > own.max; });
    // The draw's own limit is at most the pooled one, so its first bad element may still be within the pool's.
    const OutputErrors& e = one->outputs[output];
    out.bad = e.first_bad.index >= 0 && e.first_bad.z_candidate > own.max ? e.first_bad : e.worst;
  } else {
    one = *std::max_element(valid.begin(), valid.end(), [&](const One* a, const One* b) {
      return rms(a->outputs[output].sum2_candidate, a->outputs[output].counted) <
             rms(b->outputs[output].sum2_candidate, b->outputs[output].counted);
    });
    out.bad = one->outputs[output].worst;
  }
  out.draw = one->name;
  const Limits lower = limits_of(budget, all.sum2_lower, all.max_lower, all.counted);
  if (all.has_lower && all.max_candidate <= lower.max && rms_c <= lower.rms) {
    out.cls = Class::C;
    return out;
  }
  out.cls = Class::wrong;
  out.reason = "wrong_value";
  return out;
}

std::vector<OutputDecision> Pool::decide(const Budget& budget) const {
  std::vector<OutputDecision> out;
  if (draws_.empty()) return out;
  for (std::size_t o = 0; o < draws_[0].outputs.size(); ++o) out.push_back(decide_output(o, budget));
  return out;
}

void Ledger::add(const DrawName& draw, const runner::DrawCheck& check) {
  open_[{draw.case_label, draw.spec.distribution}].add(draw, check);
}

std::optional<OutputDecision> Ledger::close(const std::string& case_label, task::Distribution distribution) {
  const auto it = open_.find({case_label, distribution});
  if (it == open_.end()) return std::nullopt;
  std::optional<OutputDecision> wrong;
  for (OutputDecision& decision : it->second.decide(budget_)) {
    if (decision.cls == Class::wrong && !wrong) wrong = decision;
    closed_.push_back(std::move(decision));
  }
  open_.erase(it);
  return wrong;
}

std::optional<OutputDecision> Ledger::close_all() {
  std::optional<OutputDecision> wrong;
  while (!open_.empty()) {
    const auto [label, distribution] = open_.begin()->first;
    auto one = close(label, distribution);
    if (one && !wrong) wrong = std::move(one);
  }
  if (wrong) return wrong;
  std::map<std::string, bool> exact;
  for (const OutputDecision& d : closed_)
    if (d.draws > 0 && d.pooled.counted > 0) {
      const auto [it, first] = exact.emplace(d.pooled.name, true);
      it->second = it->second && d.pooled.reference_exact;
    }
  for (OutputDecision& d : closed_) {
    if (d.draws == 0 || d.pooled.inexact == 0 || !exact[d.pooled.name]) continue;
    d.bad = d.pooled.first_inexact;
    // The lower class's r may itself be inexact where this one is exact.
    const bool lower_inexact = d.pooled.has_lower && d.pooled.max_lower > 0;
    d.cls = lower_inexact ? Class::C : Class::wrong;
    d.reason = lower_inexact ? "" : "not_exact";
    if (d.cls == Class::wrong) return d;
  }
  return std::nullopt;
}

Class Ledger::cls() const {
  Class worst = Class::A;
  for (const OutputDecision& d : closed_) {
    if (d.cls == Class::wrong) return Class::wrong;
    if (d.cls == Class::C) worst = Class::C;
    if (d.cls == Class::B && worst == Class::A) worst = Class::B;
  }
  return worst;
}

std::optional<OutputDecision> Ledger::first_c() const {
  for (const OutputDecision& d : closed_)
    if (d.cls == Class::C) return d;
  return std::nullopt;
}

Json Ledger::errors() const {
  std::map<std::pair<std::string, task::Distribution>, const OutputDecision*> nearest;
  for (const OutputDecision& d : closed_) {
    const OutputDecision*& slot = nearest[{d.pooled.name, d.draw.spec.distribution}];
    const bool worse = !slot || (d.cls == Class::wrong && slot->cls != Class::wrong) ||
                       (slot->cls != Class::wrong && share_of(d) > share_of(*slot));
    if (worse) slot = &d;
  }
  Json out = Json::object();
  for (const auto& [key, decision] : nearest) out[key.first][task::name_of(key.second)] = to_json(*decision);
  return out;
}

std::vector<std::string> Ledger::notes() const {
  std::vector<std::string> out;
  for (const OutputDecision& d : closed_)
    if (d.invalid_draws > 0) {
      std::string note = fmt::format("{}, {}: {} of {} draws left out, the reference is not finite where it should be",
                                     d.draw.case_label, task::name_of(d.draw.spec.distribution), d.invalid_draws,
                                     d.draws + d.invalid_draws);
      if (std::find(out.begin(), out.end(), note) == out.end()) out.push_back(std::move(note));
    }
  return out;
}

bool Ledger::any_nominal() const {
  return std::any_of(closed_.begin(), closed_.end(), [](const OutputDecision& d) {
    return d.draws > 0 && d.draw.spec.distribution == task::Distribution::nominal;
  });
}

double share_of(const OutputDecision& d) {
  if (d.rms_limit <= 0 || d.max_limit <= 0) return 0;
  return std::max(rms(d.pooled.sum2_candidate, d.pooled.counted) / d.rms_limit, d.pooled.max_candidate / d.max_limit);
}

Json to_json(const OutputDecision& d) {
  Json out = {{"case", d.draw.case_label},
              {"class", name_of(d.cls)},
              {"draws", d.draws},
              {"elements", d.pooled.elements},
              {"rms", number(rms(d.pooled.sum2_candidate, d.pooled.counted))},
              {"rms_reference", number(rms(d.pooled.sum2_reference, d.pooled.counted))},
              {"rms_limit", number(d.rms_limit)},
              {"max", number(d.pooled.max_candidate)},
              {"max_reference", number(d.pooled.max_reference)},
              {"max_limit", number(d.max_limit)},
              {"share", number(share_of(d))},
              {"bits_differ", d.pooled.bits_differ}};
  if (d.pooled.has_lower) out["rms_lower"] = number(rms(d.pooled.sum2_lower, d.pooled.counted));
  if (d.pooled.skipped > 0) out["skipped"] = d.pooled.skipped;
  if (d.invalid_draws > 0) out["invalid_draws"] = d.invalid_draws;
  return out;
}

candidate::Failure failure_of(const OutputDecision& d) {
  candidate::Failure out;
  out.gate = "correctness";
  out.reason = d.cls == Class::C ? "less_precise" : d.reason;
  const char* distribution = task::name_of(d.draw.spec.distribution);
  std::string seen = fmt::format("output '{}' element {} is {:.9g}, the truth is {:.9g}", d.pooled.name, d.bad.index,
                                 d.bad.value, d.bad.truth);
  if (d.rms_only)
    seen += fmt::format(" (no element is beyond its limit, but the rms error of all is {:.3g} units, limit {:.3g})",
                        rms(d.pooled.sum2_candidate, d.pooled.counted), d.rms_limit);
  else if (std::isfinite(d.bad.z_candidate) && d.reason != "not_exact")
    seen += fmt::format(" (error {:.3g} units, limit {:.3g}, the reference's largest {:.3g})", d.bad.z_candidate,
                        d.max_limit, d.pooled.max_reference);
  else
    seen += fmt::format(" ({})", d.bad.why);
  if (d.reason == "unwritten") seen += fmt::format("; {} elements were never written", d.pooled.poison_left);
  out.message = fmt::format("{}; case {}, distribution {}", seen, d.draw.case_label, distribution);
  const Reason* reason = find_reason(out.gate, out.reason);
  out.evidence = {{"output", d.pooled.name},
                  {"index", d.bad.index},
                  {"value", number(d.bad.value)},
                  {"truth", number(d.bad.truth)},
                  {"reference", number(d.bad.reference)},
                  {"error_candidate", number(d.bad.z_candidate)},
                  {"error_reference", number(d.bad.z_reference)},
                  {"why", d.bad.why},
                  {"distribution", distribution},
                  {"seed", fmt::format("0x{:016x}", d.draw.spec.seed)},
                  {"case", d.draw.case_label},
                  {"dims", d.draw.dims},
                  {"pooled", to_json(d)},
                  {"next", reason ? reason->next : ""}};
  return out;
}

}  // namespace hone::judge
