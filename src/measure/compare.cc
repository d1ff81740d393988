#include "measure/compare.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/hash.h"
#include "stats/sequential.h"
#include "stats/summary.h"

namespace hone::measure {
namespace {

using candidate::Failure;
using runner::Arenas;
using runner::Program;
using runner::Release;
using runner::ReleaseOutcome;
using runner::Runner;
using runner::Session;

constexpr std::int64_t kMostSets = 4096;
constexpr double kFast = 0.1;            // the quantile of a side's slots that a disturbed machine leaves alone
constexpr double kReleaseSlack_s = 1.0;  // beyond calls · limits.call_s: a loaded machine is not a time-out

/// What ends a comparison before its time: the candidate's failure, or an Error of ours.
using Stop = std::optional<Failure>;

struct Side {
  const Program* program = nullptr;
  Session::Who who = Session::Who::candidate;
  int threads = 1;
  std::int64_t calls = 1;
  std::unique_ptr<Runner> runner;
};

/// The loop over pairs, with everything it shares.
class Comparer {
 public:
  Comparer(Session& session, const Program& a, const Program& b, const task::Case& on, const CompareOptions& options)
      : session_(session), case_(on), options_(options), random_(entropy64()) {
    sides_[0] = {&a, Session::Who::baseline, 1, 1, nullptr};
    sides_[1] = {&b, Session::Who::candidate, 1, 1, nullptr};
    for (const task::Scalar& s : session.task().scalars) scalars_.push_back(s.value);
  }

  Result<Comparison> run() {
    const std::int64_t start = monotonic_ns();
    int most_threads = 1;
    for (Side& side : sides_) {
      HONE_TRY(const std::vector<int> threads,
               candidate::threads_for(side.program->resolved, session_.task(), case_.dims));
      for (const int t : threads) side.threads = std::max(side.threads, t);
      most_threads = std::max(most_threads, side.threads);
    }
    const KeepOff keep_off(session_.runner_cpus(most_threads));
    HONE_TRY(bool going, again_if_killed([&] { return calibrate(); }));
    for (int pair = 0; going && pair < options_.pairs; ++pair) {
      if (options_.cancel && options_.cancel->load())
        return Error{ErrorCode::cancelled, "interrupted", "", {}};
      HONE_TRY(going, again_if_killed([&] { return run_pair(pair); }));
      if (going && options_.stop) {
        std::vector<double> ratios;
        for (const PairSample& p : out_.pairs) ratios.push_back(p.log_ratio);
        if (options_.stop(ratios)) break;
      }
    }
    for (Side& side : sides_) side.runner.reset();
    if (!out_.failure) HONE_CHECK(settle());
    if (arenas_) HONE_CHECK(session_.oracle().drop_arenas(arenas_->id));
    conclude();
    out_.wall_s = static_cast<double>(monotonic_ns() - start) * 1e-9;
    return std::move(out_);
  }

 private:
  static bool killed(const Failure& failure) {
    return failure.evidence.is_object() && failure.evidence.value("signal", 0) == SIGKILL;
  }

  /// false: b failed and out_.failure says how. A failing baseline is an Error, but for the first kill from outside.
  Result<bool> lost(int side, const Failure& failure) {
    if (side == 0 && (retried_ || !killed(failure)))
      return usage_error(fmt::format("the baseline failed while timed on {}: {}", case_.label, failure.message),
                         "Verify the baseline first: hone verify TASK BASELINE");
    out_.failure = failure;
    out_.failure->gate = "performance";
    if (failure.reason != "timeout") out_.failure->reason = "crash";
    return false;
  }

  /// Nothing of the candidate ends it by SIGKILL, and whoever did may not do so again: the step is repeated whole. Only
  /// once: the second time it is the candidate's own (it may have used up the machine's memory).
  template <typename Step>
  Result<bool> again_if_killed(Step step) {
    HONE_TRY(const bool going, step());
    if (going || retried_ || !out_.failure || !killed(*out_.failure)) return going;
    retried_ = true;
    out_.failure.reset();
    return step();
  }

  /// A fresh process of side s with its tensors bound. Touches nothing that the other side's thread does.
  Result<runner::RunnerOutcome> begin(int s) {
    Side& side = sides_[s];
    side.runner.reset();
    HONE_TRY(runner::RunnerOutcome outcome, session_.start_runner(side.who, *side.program, side.threads));
    if (std::holds_alternative<Failure>(outcome)) return outcome;
    HONE_TRY(const Stop failure, std::get<std::unique_ptr<Runner>>(outcome)->bind(*arenas_, case_.dims, scalars_));
    if (failure) return runner::RunnerOutcome(*failure);
    return outcome;
  }

  Result<bool> take(int s, Result<runner::RunnerOutcome> begun) {
    HONE_TRY(runner::RunnerOutcome outcome, std::move(begun));
    if (auto* failure = std::get_if<Failure>(&outcome)) return lost(s, *failure);
    sides_[s].runner = std::get<std::unique_ptr<Runner>>(std::move(outcome));
    return true;
  }

  Result<bool> start_side(int s) { return take(s, begin(s)); }

  /// Both at once: much of a start is waiting for the other process.
  Result<bool> start_both() {
    std::optional<Result<runner::RunnerOutcome>> theirs;
    std::thread other([&] { theirs = begin(1); });
    auto mine = begin(0);
    other.join();
    HONE_TRY(const bool going, take(0, std::move(mine)));
    if (!going) return false;
    return take(1, std::move(*theirs));
  }

  /// One release with fresh contents; `slot` gets the times. calls = 0 measures the empty release.
  Result<bool> release(int s, std::int64_t calls, Slot* slot, std::uint64_t* seed_used = nullptr) {
    const std::uint64_t seed = random_();
    if (calls > 0) HONE_CHECK(session_.oracle().fill(arenas_->id, seed, calls, options_.cold));
    // A call may take call_s once. Many calls are given fifty times what they took before, or a release of thousands that
    // hangs would be waited for all day.
    const double limit = session_.task().limits.call_s + 50e-9 * expected_ns_[s] * static_cast<double>(calls);
    HONE_TRY(ReleaseOutcome outcome, sides_[s].runner->release(calls, limit + kReleaseSlack_s));
    if (auto* failure = std::get_if<Failure>(&outcome)) return lost(s, *failure);
    const Release& r = std::get<Release>(outcome);
    slot->side = s;
    slot->calls = calls;
    slot->outside_ns = r.outside_ns;
    slot->inside_ns = r.inside_ns;
    if (calls > 0) side_of_seed_[seed] = s;
    if (seed_used) *seed_used = seed;
    return true;
  }

  Result<double> empty_release(int s, bool* going) {
    Slot slot;
    HONE_TRY(*going, release(s, 0, &slot));
    return slot.outside_ns;
  }

  Status make_arenas(std::int64_t sets) {
    if (arenas_) HONE_CHECK(session_.oracle().drop_arenas(arenas_->id));
    HONE_TRY(arenas_, session_.oracle().make_timing_arenas(case_.dims, sets));
    return {};
  }

  /// Nanoseconds a call of side s, about; nothing when b failed. A program met before is not asked again.
  Result<std::optional<double>> pilot(int s, std::int64_t sets) {
    const std::string key = fmt::format("{:016x} {} {}", fingerprint(std::as_bytes(std::span(sides_[s].program->object))),
                                        case_.label, options_.cold);
    if (options_.pilots)
      if (const auto it = options_.pilots->find(key); it != options_.pilots->end()) {
        expected_ns_[s] = it->second;
        return std::optional(it->second);
      }
    constexpr std::optional<double> kFailed;
    HONE_TRY(bool going, start_side(s));
    if (!going) return kFailed;
    Slot slot;
    HONE_TRY(going, release(s, 1, &slot));  // first touch of code and tables
    if (!going) return kFailed;
    // The least of three: one that another program lengthened would make every call look free.
    double empty = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      HONE_TRY(const double ns, empty_release(s, &going));
      if (!going) return kFailed;
      empty = std::min(empty, ns);
    }
    // More calls until the release is long enough, or the sets are used up: one call alone may cost what many do.
    std::int64_t calls = 1;
    double per_call = 0;
    for (;;) {
      HONE_TRY(going, release(s, calls, &slot));
      if (!going) return kFailed;
      per_call = std::max(1.0, slot.outside_ns - empty) / static_cast<double>(calls);
      expected_ns_[s] = per_call;
      if (slot.outside_ns - empty > options_.slot_ms * 1e6 || calls == sets) break;
      calls = std::min(sets, calls * 4);
    }
    sides_[s].runner.reset();
    per_call = std::max(per_call, 50.0);
    if (options_.pilots) (*options_.pilots)[key] = per_call;
    return std::optional(per_call);
  }

  /// Finds how many calls go to one release on each side, and makes as many sets of inputs.
  Result<bool> calibrate() {
    HONE_TRY(const std::int64_t bytes, task::total_bytes(session_.task(), case_.dims));
    output_bytes_ = 0;
    for (const task::Tensor& output : session_.task().outputs) {
      HONE_TRY(const std::int64_t each, task::bytes_of(output, case_.dims));
      output_bytes_ += static_cast<double>(each);
    }
    const std::int64_t fit = static_cast<std::int64_t>(options_.memory_bytes) / std::max<std::int64_t>(1, bytes + 512);
    const std::int64_t most = std::clamp<std::int64_t>(fit, 1, kMostSets);
    const std::int64_t pilot_sets = std::min<std::int64_t>(most, 16);
    HONE_CHECK(make_arenas(pilot_sets));
    double call_ns[2] = {0, 0};
    for (int s = 0; s < 2; ++s) {
      HONE_TRY(const std::optional<double> ns, pilot(s, pilot_sets));
      if (!ns) return false;
      call_ns[s] = *ns;
      sides_[s].calls = std::clamp<std::int64_t>(std::llround(std::ceil(options_.slot_ms * 1e6 / *ns)), 1, most);
    }
    // The first call after a wake-up is dearer than the next. Sides near each other share it among as many calls, or
    // 1 against 2 calls would make a difference of a percent by itself.
    const std::int64_t fewest = std::min(sides_[0].calls, sides_[1].calls);
    const std::int64_t highest = std::max(sides_[0].calls, sides_[1].calls);
    if (highest <= 2 * fewest) sides_[0].calls = sides_[1].calls = highest;
    for (int s = 0; s < 2; ++s) slot_ns_[s] = call_ns[s] * static_cast<double>(sides_[s].calls);
    // A power of two, so that the arenas of one comparison mostly fit the next one of the case.
    const auto calls = static_cast<std::uint64_t>(std::max(sides_[0].calls, sides_[1].calls));
    const std::int64_t sets = std::min<std::int64_t>(most, static_cast<std::int64_t>(std::bit_ceil(calls)));
    if (sets > pilot_sets || sets < pilot_sets / 4) HONE_CHECK(make_arenas(sets));
    HONE_TRY(out_.freshness, session_.oracle().freshness(arenas_->id));
    out_.a_calls = sides_[0].calls;
    out_.b_calls = sides_[1].calls;
    out_.cold = options_.cold;
    const double per_pair_ns = options_.slots_s * 1e9 / options_.pairs;
    rounds_ = std::clamp(static_cast<int>(per_pair_ns / (2 * (slot_ns_[0] + slot_ns_[1]))), 1, 400);
    return true;
  }

  /// The same for both sides of a pair, since where tensors lie moves a time by some percent (the caches predict ways
  /// by it), and another one for the next pair.
  std::uint64_t random_address() {
    constexpr std::uint64_t kLowest = 0x2000'0000'0000, kStep = std::uint64_t{2} << 20, kSteps = std::uint64_t{1} << 20;
    return kLowest + random_() % kSteps * kStep;
  }

  /// The time of the first release; nothing when b failed.
  Result<std::optional<double>> warm_up(int s) {
    Slot slot;
    double spent = 0;
    std::optional<double> first;
    // At random between one and one and a half times as long: nobody can count on where timing starts.
    const double want = options_.warm_up_ms * 1e6 * (1 + 0.5 * static_cast<double>(random_() % 1024) / 1024);
    do {
      HONE_TRY(const bool going, release(s, sides_[s].calls, &slot));
      if (!going) return std::optional<double>();
      if (!first) first = slot.outside_ns;
      spent += slot.outside_ns;
    } while (spent < want);
    return first;
  }

  /// k/16, k/4, k calls must take time in proportion: work done once for many calls shows here.
  Result<bool> check_linearity(double empty) {
    const std::int64_t k = sides_[1].calls;
    if (k < 16) return true;
    constexpr int kRepeats = 3;
    double per_call[3];
    const std::int64_t counts[3] = {k / 16, k / 4, k};
    for (int i = 0; i < 3; ++i) {
      std::vector<double> times;
      for (int r = 0; r < kRepeats; ++r) {
        Slot slot;
        HONE_TRY(const bool going, release(1, counts[i], &slot));
        if (!going) return false;
        times.push_back((slot.outside_ns - empty) / static_cast<double>(counts[i]));
      }
      per_call[i] = stats::median(times);
    }
    // Few calls are measured badly (one wake-up's noise is shared by k/16 calls), and are colder; only a release that
    // gets much cheaper by the call than it should says something.
    const double noise = 100e3 / static_cast<double>(counts[0]);
    if (per_call[0] > 2 * per_call[2] + noise && per_call[1] > 1.3 * per_call[2] + noise / 4)
      ++nonlinear_;
    return true;
  }

  Result<bool> run_pair(int pair) {
    bool going = true;
    arenas_->at = random_address();
    HONE_TRY(going, start_both());
    if (!going) return false;
    // What an empty release costs is no property of a kernel. The baseline's is subtracted from both sides: its error
    // then cancels in the ratio, and a candidate gains nothing by making its own look dear.
    std::vector<double> empties;
    double first_ns = 0;  // of b, which is warmed up last
    for (int s = 0; s < 2; ++s) {
      HONE_TRY(const std::optional<double> first, warm_up(s));
      if (!first) return false;
      first_ns = *first;
      for (int i = 0; i < (s == 0 ? 3 : 1); ++i) {
        HONE_TRY(const double ns, empty_release(s, &going));
        if (!going) return false;
        if (s == 0) empties.push_back(ns);
      }
    }
    if (options_.check_linearity) {
      HONE_TRY(going, check_linearity(stats::median(empties)));
      if (!going) return false;
    }
    std::vector<Slot> slots;
    for (int round = 0; round < rounds_; ++round) {
      const int first = static_cast<int>(random_() & 1);
      const int order[4] = {first, 1 - first, 1 - first, first};
      for (const int s : order) {
        Slot slot;
        std::uint64_t seed = 0;
        HONE_TRY(going, release(s, sides_[s].calls, &slot, &seed));
        if (!going) return false;
        slot.pair = pair;
        slot.round = round;
        slots.push_back(slot);
        HONE_CHECK(keep_some(s, seed));
      }
      const int s = round & 1;  // in turn, so that neither process is kept warmer
      HONE_TRY(const double ns, empty_release(s, &going));
      if (!going) return false;
      if (s == 0) empties.push_back(ns);
    }
    for (Side& side : sides_) side.runner.reset();
    add_sample(slots, stats::median(empties));
    // Threads and tables are made in a millisecond or two; what takes its first calls longer than
    // that is work whose answer is kept for later ones.
    constexpr double kOnce_ns = 3e6;
    const double typical = out_.pairs.back().b_ns * static_cast<double>(sides_[1].calls);
    const auto& inputs = session_.task().inputs;
    const bool may_prepare = std::any_of(inputs.begin(), inputs.end(), [](const task::Tensor& t) { return t.is_static; });
    if (!may_prepare && first_ns > 2 * typical + out_.pairs.back().empty_ns + kOnce_ns) ++dear_first_;
    return true;
  }

  /// Which timed outputs are checked is decided after the release. Outputs are kept at random, about four a process,
  /// fewer where they are large; the oracle then checks as many as there is time for.
  Status keep_some(int s, std::uint64_t seed) {
    constexpr double kKeepBytes = 256e6;
    const double releases = 2.0 * rounds_ * options_.pairs;
    const double fit = std::clamp(kKeepBytes / std::max(1.0, output_bytes_), 2.0, 4.0 * options_.pairs);
    const double chance = s == 0 ? fit / 4 / releases : fit / releases;  // the baseline is ours: a look now and then
    if (static_cast<double>(random_() % 1'000'000) >= 1e6 * chance) return {};
    const auto call = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(sides_[s].calls));
    return session_.oracle().collect(arenas_->id, seed, {call}, s == 0 ? "a" : "b");
  }

  void add_sample(const std::vector<Slot>& slots, double empty) {
    std::vector<double> ratios, times[2];
    for (std::size_t i = 0; i + 4 <= slots.size(); i += 4) {
      double sum[2] = {0, 0};
      for (std::size_t k = i; k < i + 4; ++k) {
        const Slot& slot = slots[k];
        // An empty release longer than a full one happens only by a hiccup; a tenth keeps the logarithm finite.
        const double ns = std::max(slot.outside_ns - empty, 0.1 * slot.outside_ns);
        sum[slot.side] += ns;
        times[slot.side].push_back(ns / static_cast<double>(slot.calls));
      }
      ratios.push_back(std::log(sum[0] / static_cast<double>(sides_[0].calls)) -
                       std::log(sum[1] / static_cast<double>(sides_[1].calls)));
    }
    PairSample sample;
    sample.log_ratio = stats::hodges_lehmann(ratios);
    sample.fast_log_ratio = std::log(stats::quantile(times[0], kFast) / stats::quantile(times[1], kFast));
    sample.rounds = static_cast<int>(ratios.size());
    sample.a_ns = stats::median(times[0]);
    sample.b_ns = stats::median(times[1]);
    sample.empty_ns = empty;
    out_.rounds += sample.rounds;
    out_.pairs.push_back(sample);
    for (const Slot& slot : slots) out_.slots_s += slot.outside_ns * 1e-9;
    out_.slots.insert(out_.slots.end(), slots.begin(), slots.end());
  }

  Status settle() {
    HONE_TRY(const auto settled, session_.oracle().settle(options_.check_ms, options_.check_least));
    for (const auto& s : settled) {
      const bool untouched = s.tag == "untouched";
      if (untouched && !side_of_seed_.contains(s.seed)) continue;  // it was killed
      const bool ours = untouched ? side_of_seed_.at(s.seed) == 1 : s.tag == "b";
      if (ours && !untouched) ++out_.checked;
      std::string why;
      if (plausible(s.check, &why)) continue;
      if (untouched) why = fmt::format("output '{}' was not written at all", s.check.outputs[0].name);
      if (!ours)
        return usage_error(fmt::format("an output of the baseline was wrong while it was timed: {}", why),
                           "Verify the baseline first: hone verify TASK BASELINE");
      Failure failure{"performance", "wrong_when_timed",
                      "a timed call left a wrong output: " + why, {{"case", case_.label}, {"call", s.call}, {"seed", s.seed}}};
      out_.failure = failure;
      return {};
    }
    return {};
  }

  void conclude() {
    if (out_.failure) {
      out_.answer = Answer::invalid;
      out_.reason = out_.failure->message;
      return;
    }
    std::vector<double> ratios, fast, a, b;
    for (const PairSample& p : out_.pairs) {
      ratios.push_back(p.log_ratio);
      fast.push_back(p.fast_log_ratio);
      a.push_back(p.a_ns);
      b.push_back(p.b_ns);
    }
    if (ratios.empty()) {
      out_.answer = Answer::invalid;
      out_.reason = "nothing was measured";
      return;
    }
    out_.a_ns = stats::median(a);
    out_.b_ns = stats::median(b);
    // A neighbour on the same core, a stolen processor: the machine only ever lengthens a slot, by half or to double, and
    // with enough such slots no summary of whole rounds holds still. The fast slots still tell, and are believed
    // where they agree with the rounds and are clearly surer. On a quiet machine the rounds are as sure and decide.
    constexpr double kClearlySurer = 1.5;
    const stats::Interval of_rounds = stats::t_interval(ratios, options_.confidence);
    const stats::Interval of_fast = stats::t_interval(fast, options_.confidence);
    out_.disturbed = kClearlySurer * of_fast.half_width() < of_rounds.half_width() && of_rounds.contains(of_fast.mid);
    if (out_.disturbed) out_.reason = "disturbed machine: the speed-up is that of the fastest tenth of slots";
    out_.ratio = stats::map(out_.disturbed ? of_fast : of_rounds, [](double x) { return std::exp(x); });
    const double low = out_.ratio.low, high = out_.ratio.high, edge = 1 + options_.margin;
    out_.answer = low > edge          ? Answer::faster
                  : high < 1 / edge   ? Answer::slower
                  : low > 1 / edge && high < edge ? Answer::same
                                                  : Answer::undecided;
    invalidate();
  }

  void invalidate() {
    // The inside timer is the runner's claim. It cannot make a candidate faster, but when both clocks tell different
    // stories about slots of a millisecond, something works outside the call.
    std::vector<double> differences;
    for (const Slot& slot : out_.slots)
      if (slot.side == 1)
        differences.push_back((slot.outside_ns - out_.pairs[static_cast<std::size_t>(slot.pair)].empty_ns - slot.inside_ns) /
                              slot.outside_ns);
    const double typical_ns = out_.pairs.empty() ? 0 : out_.b_ns * static_cast<double>(out_.b_calls);
    const double allowed = 0.25 + 400e3 / std::max(1.0, typical_ns);
    const double seen = differences.empty() ? 0 : stats::median(differences);
    if (std::abs(seen) > allowed) {
      out_.answer = Answer::invalid;
      out_.reason = fmt::format("the clock outside and the timer inside the runner disagree by {:.0f} %: something works outside the "
                                "call, or the machine is too busy to measure on", 100 * seen);
    }
    if (dear_first_ * 2 > static_cast<int>(out_.pairs.size())) {
      out_.answer = Answer::invalid;
      out_.reason = "the first calls of a process take far longer than later ones: answers, or what leads to them, are kept from call to call. "
                    "Compute everything in each call; an input declared static may be prepared once";
    }
    if (nonlinear_ * 2 > static_cast<int>(out_.pairs.size())) {
      out_.answer = Answer::invalid;
      out_.reason = "time is not linear in the number of calls: the first call of a release does the work of later ones";
    }
  }

  Session& session_;
  const task::Case& case_;
  const CompareOptions& options_;
  std::mt19937_64 random_;
  Side sides_[2];
  std::vector<double> scalars_;
  std::optional<Arenas> arenas_;
  double slot_ns_[2] = {0, 0};
  double expected_ns_[2] = {0, 0};  // of a call, as far as known
  double output_bytes_ = 0;  // of one call
  int rounds_ = 1;
  int nonlinear_ = 0, dear_first_ = 0;
  std::unordered_map<std::uint64_t, int> side_of_seed_;  // of releases that came to their end
  bool retried_ = false;
  Comparison out_;
};

}  // namespace

const char* name_of(Answer answer) {
  switch (answer) {
    case Answer::faster: return "faster";
    case Answer::slower: return "slower";
    case Answer::same: return "same";
    case Answer::undecided: return "undecided";
    case Answer::invalid: return "invalid";
  }
  return "invalid";
}

bool plausible(const runner::DrawCheck& check, std::string* why) {
  if (check.inputs_changed) {
    *why = "inputs changed";
    return false;
  }
  for (const runner::OutputErrors& o : check.outputs) {
    // The budget of DESIGN.md §7 needs draws pooled; a single draw is allowed four times as much.
    const double n = static_cast<double>(std::max<std::int64_t>(1, o.counted));
    const double rms_c = std::sqrt(o.sum2_candidate / n), rms_r = std::sqrt(o.sum2_reference / n);
    const double lower_rms = o.has_lower ? std::sqrt(o.sum2_lower / n) : 0;
    const double lower_max = o.has_lower ? o.max_lower : 0;
    const bool wrong = o.exact_wrong > 0 || rms_c > 16 * std::max(rms_r, lower_rms) + 8 ||
                       o.max_candidate > 16 * std::max(o.max_reference, lower_max) + 32;
    if (wrong) {
      *why = fmt::format("output '{}' element {} is {} where {} is true", o.name, o.worst.index, o.worst.value,
                         o.worst.truth);
      return false;
    }
  }
  return true;
}

Result<Comparison> compare(runner::Session& session, const runner::Program& a, const runner::Program& b,
                           const task::Case& on, const CompareOptions& options) {
  return Comparer(session, a, b, on, options).run();
}

Result<Comparison> compare_sequential(runner::Session& session, const runner::Program& a, const runner::Program& b,
                                      const task::Case& on, const CompareOptions& options, int most_pairs) {
  const stats::LookPlan plan = stats::pair_looks(1 - options.confidence);
  std::vector<double> ratios;
  int look = 0;
  for (std::size_t l = 0; l < plan.sizes.size() && plan.sizes[l] <= most_pairs; ++l) {
    look = static_cast<int>(l);
    CompareOptions part = options;
    part.pairs = plan.sizes[l] - static_cast<int>(ratios.size());
    part.slots_s = options.slots_s * part.pairs / options.pairs;
    HONE_TRY(Comparison seen, compare(session, a, b, on, part));
    if (seen.answer == Answer::invalid) return seen;
    for (const PairSample& p : seen.pairs) ratios.push_back(p.log_ratio);
    const stats::Decision decision = stats::decide(ratios, look, std::log1p(options.margin), plan);
    if (decision.answer != stats::Answer::go_on) break;
  }
  // What was looked at until it pleased is biased; a fresh set of the size just fixed is not.
  CompareOptions fresh = options;
  fresh.pairs = std::max(options.pairs, static_cast<int>(ratios.size()));
  fresh.slots_s = options.slots_s * fresh.pairs / options.pairs;
  return compare(session, a, b, on, fresh);
}

Json samples_to_json(const Comparison& c) {
  Json rows = Json::array();
  for (const Slot& s : c.slots) rows.push_back({s.pair, s.round, s.side, s.calls, s.outside_ns, s.inside_ns});
  Json pairs = Json::array();
  for (const PairSample& p : c.pairs)
    pairs.push_back({{"log_ratio", p.log_ratio}, {"fast_log_ratio", p.fast_log_ratio}, {"rounds", p.rounds}, {"a_ns", p.a_ns}, {"b_ns", p.b_ns},
                     {"empty_ns", p.empty_ns}});
  return {{"columns", {"pair", "round", "side", "calls", "outside_ns", "inside_ns"}}, {"rows", rows}, {"pairs", pairs}};
}

KeepOff::KeepOff(const std::vector<int>& cpus) {
  cpu_set_t usable, wanted;
  CPU_ZERO(&usable);
  CPU_ZERO(&wanted);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &usable)) {
      before_.push_back(cpu);
      if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) CPU_SET(cpu, &wanted);
    }
  if (CPU_COUNT(&wanted) == 0 || ::sched_setaffinity(0, sizeof wanted, &wanted) != 0) before_.clear();
}

KeepOff::~KeepOff() {
  if (before_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : before_) CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace hone::measure
