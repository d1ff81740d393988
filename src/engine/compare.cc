#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "engine/bench.h"
#include "engine/document.h"
#include "engine/performance.h"
#include "judge/judge.h"
#include "measure/compare.h"
#include "report/verdict.h"
#include "task/task_file.h"

namespace hone {
namespace {

/// A candidate as read, before anything is built.
struct Named {
  std::string path;
  candidate::Candidate candidate;
  candidate::Assignment assignment;
};

struct Contestant {
  std::string name;
  judge::Entry entry;
  std::optional<candidate::Failure> failure;
};

/// Builds it and asks whether it is right: a time without a check of correctness says nothing.
Result<Contestant> enter(engine::Bench& bench, judge::ScreenContext& context, const Named& named) {
  Contestant c;
  c.name = named.path;
  HONE_TRY(c.entry, judge::enter(*bench.lane, bench.task, named.candidate, named.assignment));
  HONE_TRY(const judge::Verdict verdict, judge::screen(*bench.session, c.entry, context));
  if (!verdict.correct) c.failure = verdict.failure;
  return c;
}

/// Overall answer from the geometric mean over the timed cases.
void conclude(report::Comparison& c, double margin) {
  if (c.failure || c.speeds.empty()) {
    c.answer = judge::Answer::invalid;
    return;
  }
  judge::Verdict v;
  v.speeds = c.speeds;
  judge::conclude_speeds(v, margin);
  c.geomean = v.geomean;
  c.geomean_low = v.geomean_low;
  c.geomean_high = v.geomean_high;
  c.answer = v.answer;
}

/// `b` over `a` on every timed case.
Result<report::Comparison> measure_pair(engine::Bench& bench, const std::string& a_name, const runner::Program& a,
                                        const Contestant& b, const BenchRequest& request, bool cold) {
  report::Comparison out;
  out.a = b.name + (cold ? "" : " (warm)");
  out.b = a_name;
  out.failure = b.failure;
  if (out.failure) {
    out.answer = judge::Answer::invalid;
    return out;
  }
  measure::CompareOptions options;
  options.slots_s = request.slots_s;
  options.pairs = request.pairs;
  options.cold = cold;
  options.check_linearity = true;
  options.cancel = request.cancel;
  for (const task::Case& c : engine::timed_cases(bench.task)) {
    engine::announce(request, fmt::format("timing {} on {}, {}", b.name, c.label, cold ? "cold" : "warm"));
    HONE_TRY(const measure::Comparison seen, measure::compare(*bench.session, a, b.entry.program, c, options));
    out.speeds.push_back(judge::speed_of(seen, c, options.confidence));
    if (seen.failure) out.failure = seen.failure;
  }
  conclude(out, options.margin);
  return out;
}

Status check(const BenchRequest& request) {
  // Fewer than two pairs have no interval; a t interval over very few is honest but useless.
  if (request.pairs < 2) return usage_error("--pairs must be at least 2", "8 is the default");
  if (!(request.slots_s > 0)) return usage_error("--seconds must be above 0");
  return {};
}

Result<Document> run(const BenchRequest& request, bool two) {
  HONE_CHECK(check(request));
  const std::int64_t start = monotonic_ns();
  HONE_TRY(task::Task task, task::read_task(request.task));
  if (engine::timed_cases(task).empty())
    return usage_error("the task has no timed case", "Leave out time = false in one [[case]]");
  std::vector<Named> all;
  for (const std::string& path : request.candidates) {
    HONE_TRY(candidate::Candidate candidate, candidate::read(path));
    HONE_TRY(candidate::Assignment assignment, engine::choose(candidate, task, request.tunables));
    all.push_back({path, std::move(candidate), std::move(assignment)});
  }
  HONE_TRY(engine::Bench bench, engine::open_bench(std::move(task), request));
  HONE_TRY(const std::unique_ptr<judge::ScreenContext> context, judge::ScreenContext::prepare(*bench.session));
  std::vector<Contestant> contestants;
  for (const Named& named : all) {
    engine::announce(request, "checking " + named.path);
    HONE_TRY(Contestant c, enter(bench, *context, named));
    contestants.push_back(std::move(c));
  }
  report::CompareReport report;
  report.task = bench.task.name;
  report.sandbox = bench.session->sandbox_layers();
  report.device = bench.lane->device();
  std::vector<bool> temperatures;
  if (!request.warm) temperatures.push_back(true);
  if (request.warm || (request.both && !two)) temperatures.push_back(false);
  if (two && contestants[0].failure) {
    report::Comparison failed;
    failed.a = contestants[1].name;
    failed.b = contestants[0].name;
    failed.failure = contestants[0].failure;
    failed.answer = judge::Answer::invalid;
    report.comparisons.push_back(failed);
  } else {
    for (std::size_t i = two ? 1 : 0; i < contestants.size(); ++i)
      for (const bool cold : temperatures) {
        const runner::Program& a = two ? contestants[0].entry.program : bench.session->baseline();
        HONE_TRY(report::Comparison c, measure_pair(bench, two ? contestants[0].name : "baseline", a, contestants[i],
                                                    request, cold));
        report.comparisons.push_back(std::move(c));
      }
  }
  report.total_ms = static_cast<double>(monotonic_ns() - start) * 1e-6;
  return engine::document_of(report, request, report::all_measured(report) ? 0 : 1);
}

}  // namespace

Result<Document> bench(const BenchRequest& request) {
  if (request.candidates.empty()) return usage_error("no candidate to measure", "hone bench TASK CANDIDATE…");
  return run(request, false);
}

Result<Document> compare(const BenchRequest& request) {
  if (request.candidates.size() != 2)
    return usage_error(fmt::format("compare takes two candidates, {} given", request.candidates.size()),
                       "hone compare TASK A B; to compare with the baseline use hone bench");
  return run(request, true);
}

}  // namespace hone
