#include "engine/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "stats/interval.h"
#include "stats/summary.h"

namespace hone::engine {
namespace {

using candidate::Assignment;
using judge::Entry;

double ms_since(std::int64_t start) { return static_cast<double>(monotonic_ns() - start) * 1e-6; }

/// A point with its program and its speed-up over the baseline.
struct Known {
  std::shared_ptr<Entry> entry;
  double speedup = 0;
};

std::string key_of(const propose::Proposal& p, const Assignment& assignment) {
  return candidate::source_identity(p.source, assignment);
}

int most_threads(const candidate::Resolved& resolved, const task::Task& task) {
  int most = 1;
  for (const task::Case& c : task.cases)
    if (const auto threads = candidate::threads_for(resolved, task, c.dims); threads.ok())
      for (const int t : *threads) most = std::max(most, t);
  return most;
}

/// Timing on so many threads leaves a processor to builds.
bool leaves_room(const Bench& bench, int threads) {
  return bench.session->runner_cpus(threads).size() < bench.session->runner_cpus(1 << 20).size();
}

/// Builds in threads of their own. Builds share the machine with timing only on processors that timing does not use.
class Builder {
 public:
  Builder(Bench& bench, int threads, bool beside) : bench_(bench), at_once_(beside ? 1 : threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Builder() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  void request(const std::string& key, const candidate::Candidate& source, const Assignment& assignment) {
    const std::lock_guard lock(mutex_);
    if (results_.contains(key)) return;
    results_[key] = nullptr;
    queue_.push_back({key, source, assignment});
    wake_.notify_one();
  }

  Result<std::shared_ptr<Entry>> take(const std::string& key) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return results_[key] != nullptr; });
    auto result = *results_[key];
    results_.erase(key);
    return result;
  }

  /// While held, no build starts on any processor; running ones are waited for. For timing that needs all of them.
  std::unique_lock<std::shared_mutex> quiet() { return std::unique_lock(building_); }
  /// Builds keep off these processors from now on. Where they run beside timing, one at a time is soonest done: two
  /// would share what timing leaves, and the first of a batch, for which everything waits, would take twice as long.
  void keep_off(const std::vector<int>& cpus, bool beside) {
    const std::lock_guard lock(mutex_);
    busy_ = cpus;
    at_once_ = beside ? 1 : static_cast<int>(threads_.size());
    wake_.notify_all();
  }
  double spent_ms() const { return spent_ms_; }

 private:
  struct Request {
    std::string key;
    candidate::Candidate source;
    Assignment assignment;
  };

  void work() {
    for (;;) {
      Request request;
      std::vector<int> busy;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stop_ || (!queue_.empty() && building_now_ < at_once_); });
        if (stop_) return;
        request = std::move(queue_.front());
        queue_.pop_front();
        busy = busy_;
        ++building_now_;
      }
      const std::shared_lock building(building_);
      const measure::KeepOff keep_off(busy);
      const std::int64_t start = monotonic_ns();
      auto entry = judge::enter(*bench_.lane, bench_.task, request.source, request.assignment);
      const std::lock_guard lock(mutex_);
      --building_now_;
      wake_.notify_one();
      spent_ms_ += ms_since(start);
      results_[request.key] = std::make_unique<Result<std::shared_ptr<Entry>>>(
          entry.ok() ? Result<std::shared_ptr<Entry>>(std::make_shared<Entry>(std::move(entry).value()))
                     : Result<std::shared_ptr<Entry>>(entry.error()));
      done_.notify_all();
    }
  }

  Bench& bench_;
  std::mutex mutex_;
  std::shared_mutex building_;
  std::condition_variable wake_, done_;
  std::deque<Request> queue_;
  std::map<std::string, std::unique_ptr<Result<std::shared_ptr<Entry>>>> results_;
  std::vector<int> busy_;
  std::vector<std::thread> threads_;
  double spent_ms_ = 0;
  int at_once_, building_now_ = 0;
  bool stop_ = false;
};

}  // namespace

struct JudgeEvaluator::Inner {
  /// Candidates mostly use as many threads as the baseline.
  Inner(Bench& b, const EvaluatorOptions& o)
      : bench(b), options(o),
        builder(b, std::max(1, o.build_threads),
                o.timing && leaves_room(b, most_threads(b.session->baseline().resolved, b.task))) {}

  Bench& bench;
  EvaluatorOptions options;
  std::unique_ptr<judge::ScreenContext> context;
  std::optional<Known> anchor;
  std::map<std::string, Known> known;  // correct points, for compare jobs
  std::map<std::string, double> pilots;
  EvaluatorStats stats;
  std::optional<judge::Verdict> last_verified;
  std::optional<Entry> last_entry;
  double verify_s = 0;  // spent on verify jobs, from beginning to end
  Builder builder;  // last: its threads end first

  measure::CompareOptions compare_options(double slots_s) {
    measure::CompareOptions c;
    c.pilots = &pilots;
    c.slots_s = slots_s;
    c.margin = options.margin;
    c.cancel = options.cancel;
    // Screens are many: shorter warm-up and fewer spot checks; finalists get the full ones.
    const bool brief = slots_s < 0.5;
    c.warm_up_ms = brief ? 0.6 : 10;  // brief: one release
    c.check_ms = brief ? 5 : 200;
    c.check_least = brief ? 1 : 2;
    return c;
  }

  /// Times `program` over `base` on every timed case; fills the verdict's speeds.
  Status time(const runner::Program& base, const runner::Program& program, double slots_s, const search::Race& race,
              double base_speedup, judge::Verdict& verdict, bool* dropped) {
    const std::int64_t start = monotonic_ns();
    const std::vector<task::Case> cases = timed_cases(bench.task);
    const int threads = std::max(most_threads(base.resolved, bench.task), most_threads(program.resolved, bench.task));
    const std::vector<int> cpus = bench.session->runner_cpus(threads);
    // A kernel that needs every processor is timed with nothing else running.
    std::unique_lock<std::shared_mutex> quiet;
    const bool beside = leaves_room(bench, threads);
    builder.keep_off(cpus, beside);
    if (!beside) quiet = builder.quiet();
    for (const task::Case& c : cases) {
      measure::CompareOptions compare = compare_options(slots_s / static_cast<double>(cases.size()));
      if (options.early_stop && cases.size() == 1)
        compare.stop = [&](const std::vector<double>& ratios) {
          std::vector<double> over_baseline = ratios;
          for (double& r : over_baseline) r += std::log(base_speedup);
          if (race.on() && race.clearly_slower(over_baseline)) {
            *dropped = true;
            return true;
          }
          return clear(ratios);
        };
      HONE_TRY(const measure::Comparison seen, measure::compare(*bench.session, base, program, c, compare));
      if (compare.stop && static_cast<int>(seen.pairs.size()) < compare.pairs) ++stats.stopped_early;
      verdict.speeds.push_back(judge::speed_of(seen, c, compare.confidence));
      if (seen.failure) {
        verdict.correct = false;
        verdict.cls = judge::Class::wrong;
        verdict.failure = seen.failure;
        break;
      }
    }
    if (!verdict.failure) judge::conclude_speeds(verdict, options.margin);
    ++stats.timed;
    const double ms = ms_since(start);
    stats.timing_ms += ms;
    verdict.timing_ms += ms;
    return {};
  }

  /// Far enough from "the same" that more pairs would change nothing of what is done with it. A winner goes on until
  /// its interval is worth something; a loser that far behind in each of two pairs is not looked at again.
  static bool clear(const std::vector<double>& ratios) {
    constexpr double kFarBehind = 0.25, kFar = 0.10;  // in logs; processes differ by a few hundredths
    if (ratios.size() >= 2 && std::all_of(ratios.begin(), ratios.end(), [](double r) { return r < -kFarBehind; }))
      return true;
    if (ratios.size() < 4) return false;
    const stats::Interval i = stats::t_interval(ratios, 0.995);
    return i.low > kFar || i.high < -kFar;
  }

  static propose::Outcome outcome_of(const judge::Verdict& v, double base_speedup) {
    propose::Outcome o;
    o.correct = v.correct;
    o.invalid = v.cls == judge::Class::undecided;
    if (!v.correct || v.speeds.empty()) return o;
    o.invalid = v.answer == judge::Answer::invalid;
    o.speedup = v.geomean * base_speedup;
    o.low = v.geomean_low * base_speedup;
    o.high = v.geomean_high * base_speedup;
    return o;
  }

  Result<search::Judged> judge(const search::Job& job, const search::Race& race) {
    const std::int64_t start = monotonic_ns();
    Result<search::Judged> judged = job.kind == search::Kind::compare ? judge_pair(job)
                                    : job.kind == search::Kind::screen ? judge_screen(job, race)
                                    : job.kind == search::Kind::retime ? judge_retime(job)
                                                                       : judge_verify(job);
    if (job.kind == search::Kind::verify) verify_s += ms_since(start) * 1e-3;
    if (judged.ok()) judged->seconds = ms_since(start) * 1e-3;
    return judged;
  }

  Result<std::shared_ptr<Entry>> entry_of(const search::Job& job, const Assignment& assignment) {
    const std::string key = key_of(job.proposal, assignment);
    if (const auto it = known.find(key); it != known.end()) return it->second.entry;
    const std::int64_t start = monotonic_ns();
    builder.request(key, job.proposal.source, assignment);
    auto entry = builder.take(key);
    stats.waiting_ms += ms_since(start);
    ++stats.built;
    return entry;
  }

  Result<search::Judged> judge_screen(const search::Job& job, const search::Race& race) {
    HONE_TRY(const std::shared_ptr<Entry> entry, entry_of(job, job.proposal.assignment));
    const std::int64_t start = monotonic_ns();
    HONE_TRY(judge::Verdict verdict, judge::screen(*bench.session, *entry, *context));
    stats.screen_ms += ms_since(start);
    ++stats.screened;
    search::Judged judged;
    bool dropped = false;
    double base_speedup = 1;
    if (verdict.correct && options.timing) {
      const runner::Program& base = anchor ? anchor->entry->program : bench.session->baseline();
      if (anchor) base_speedup = anchor->speedup;
      HONE_CHECK(time(base, entry->program, options.screen_s, race, base_speedup, verdict, &dropped));
    }
    judged.outcome = outcome_of(verdict, base_speedup);
    judged.outcome.dropped = dropped;
    if (verdict.correct) {
      known[key_of(job.proposal, job.proposal.assignment)] = {entry, judged.outcome.speedup};
      constexpr double kNewAnchor = 1.05;  // re-anchoring on less would add up noise from step to step
      if (options.timing && !judged.outcome.invalid && !dropped &&
          (!anchor || judged.outcome.low > anchor->speedup * kNewAnchor))
        anchor = Known{entry, judged.outcome.speedup};
    }
    scale_speeds(verdict, base_speedup);
    judged.verdict = judge::to_json(verdict, false);
    return judged;
  }

  /// Speeds measured over the anchor become speed-ups over the baseline, and say so.
  static void scale_speeds(judge::Verdict& v, double base_speedup) {
    if (base_speedup == 1) return;
    for (judge::Speed& s : v.speeds) {
      s.ratio *= base_speedup;
      s.low *= base_speedup;
      s.high *= base_speedup;
      s.baseline_ns = s.candidate_ns * s.ratio;
      s.reason = s.reason.empty() ? fmt::format("timed over a point known to be {:.3f} times the baseline", base_speedup)
                                  : s.reason;
    }
    v.geomean *= base_speedup;
    v.geomean_low *= base_speedup;
    v.geomean_high *= base_speedup;
  }

  Result<search::Judged> judge_pair(const search::Job& job) {
    HONE_TRY(const std::shared_ptr<Entry> b, entry_of(job, job.proposal.assignment));
    HONE_TRY(const std::shared_ptr<Entry> a, entry_of(job, *job.proposal.against));
    search::Judged judged;
    for (const auto& e : {a, b})
      if (e->failure) return judged;
    judge::Verdict verdict;
    verdict.correct = true;
    bool dropped = false;
    HONE_CHECK(time(a->program, b->program, options.screen_s, search::Race(), 1, verdict, &dropped));
    judged.outcome = outcome_of(verdict, 1);
    return judged;
  }

  Result<search::Judged> judge_retime(const search::Job& job) {
    HONE_TRY(const std::shared_ptr<Entry> entry, entry_of(job, job.proposal.assignment));
    search::Judged judged;
    if (entry->failure) return judged;
    judge::Verdict verdict;
    verdict.correct = true;
    bool dropped = false;
    HONE_CHECK(time(bench.session->baseline(), entry->program, options.retime_s, search::Race(), 1, verdict, &dropped));
    judged.outcome = outcome_of(verdict, 1);
    return judged;
  }

  bool verify_over() const { return options.verify_limit_s > 0 && verify_s >= options.verify_limit_s; }

  Result<search::Judged> judge_verify(const search::Job& job) {
    const judge::Watch watch(options.verify_limit_s > 0 ? options.verify_limit_s - verify_s : 0, options.cancel);
    HONE_TRY(const std::shared_ptr<Entry> entry, entry_of(job, job.proposal.assignment));
    const std::int64_t start = monotonic_ns();
    judge::VerifyOptions verify;
    verify.watch = &watch;
    verify.allowed = options.allowed;
    verify.memory = options.memory_gate;
    verify.memory_options.allow_missing_tools = options.allow_missing_tools;
    verify.performance = [&](const Entry& e, judge::Verdict& v) -> Status {
      const auto quiet = builder.quiet();
      PerformanceOptions performance;
      performance.slots_s = options.verify_s;
      performance.margin = options.margin;
      performance.most_pairs = 16;
      performance.watch = &watch;
      return judge_performance(*bench.session, e, performance, v);
    };
    HONE_TRY(judge::Verdict verdict, judge::verify(*bench.session, *entry, verify));
    stats.verify_ms += ms_since(start);
    search::Judged judged;
    judged.outcome = outcome_of(verdict, 1);
    judged.verdict = judge::to_json(verdict, true);
    last_verified = std::move(verdict);
    last_entry = *entry;
    return judged;
  }
};

JudgeEvaluator::JudgeEvaluator(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
JudgeEvaluator::~JudgeEvaluator() = default;

Result<std::unique_ptr<JudgeEvaluator>> JudgeEvaluator::make(Bench& bench, const EvaluatorOptions& options) {
  auto inner = std::make_unique<Inner>(bench, options);
  judge::ScreenOptions screen;
  screen.allowed = options.allowed;
  HONE_TRY(inner->context, judge::ScreenContext::prepare(*bench.session, screen));
  return std::unique_ptr<JudgeEvaluator>(new JudgeEvaluator(std::move(inner)));
}

Status JudgeEvaluator::evaluate(std::span<const search::Job> jobs, const search::Race& race,
                                const std::function<bool()>& stop, const Finished& finished) {
  Inner& in = *inner_;
  for (const search::Job& job : jobs)  // builds run ahead, in the order they will be needed
    if (!in.known.contains(key_of(job.proposal, job.proposal.assignment)))
      in.builder.request(key_of(job.proposal, job.proposal.assignment), job.proposal.source, job.proposal.assignment);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (stop() || (jobs[i].kind == search::Kind::verify && in.verify_over())) return {};
    Result<search::Judged> judged = in.judge(jobs[i], race);
    if (!judged.ok() && judged.error().code == ErrorCode::cancelled) return {};
    if (!judged.ok()) return std::move(judged).error();
    HONE_CHECK(finished(i, std::move(judged).value()));
  }
  in.stats.build_ms = in.builder.spent_ms();
  return {};
}

const EvaluatorStats& JudgeEvaluator::stats() const { return inner_->stats; }
const std::optional<judge::Verdict>& JudgeEvaluator::last_verified() const { return inner_->last_verified; }
const std::optional<Entry>& JudgeEvaluator::last_verified_entry() const { return inner_->last_entry; }

}  // namespace hone::engine
