// Candidates judged a second, compile included, on a 128^3 product, nothing cached; and what a verdict costs beyond
// compiling and timing. HONE_BENCH_POINTS: candidates a figure (32).

#include <algorithm>
#include <fstream>
#include <random>

#include "base/clock.h"
#include "base/files.h"
#include "bench/figure.h"
#include "engine/bench.h"
#include "engine/evaluator.h"
#include "engine/performance.h"

namespace {

using namespace hone;
using figures::Wanted;

constexpr const char* kTask = R"toml([task]
name = "product128"
lanes = ["cpu"]
precision = "f32"
[dims]
M = "rows"
N = "columns"
K = "inner"
[[input]]
name = "a"
dtype = "f32"
shape = ["M", "K"]
[[input]]
name = "b"
dtype = "f32"
shape = ["K", "N"]
[[output]]
name = "c"
dtype = "f32"
shape = ["M", "N"]
[reference]
source = { cpu = "reference.cpp" }
[[case]]
M = 128
N = 128
K = 128
[[case]]
M = 7
N = 33
K = 29
time = false
)toml";

constexpr const char* kReference = R"cpp(// hone:function product128
extern "C" void product128(const float* a, const float* b, HONE_OUT* c, int M, int N, int K) {
  for (int i = 0; i < M * N; ++i) c[i] = 0;
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j) c[i * N + j] += HONE_MUL(a[i * K + k], b[k * N + j]);
}
)cpp";

// Row blocks of ROWS rows share what they read of b; TAG makes sources distinct that would otherwise be one; TIMES = 2 is
// a clear loser.
constexpr const char* kCandidate = R"cpp(// hone:tune ROWS = 1 2 3 4 5 6 7 8
// hone:tune TAG = 0 1 2 3 4 5 6 7
// hone:tune TIMES = 1 2
// hone:function product128
static volatile const int tag = TAG;
extern "C" void product128(const float* a, const float* b, float* c, int M, int N, int K) {
  for (int t = 0; t < TIMES; ++t) {
    for (int i = 0; i < M * N; ++i) c[i] = 0;
    for (int i = 0; i < M; i += ROWS)
      for (int k = 0; k < K; ++k)
        for (int r = 0; r < ROWS; ++r)
          if (i + r < M)
            for (int j = 0; j < N; ++j) c[(i + r) * N + j] += a[(i + r) * K + k] * b[k * N + j];
    asm volatile("" : : "r"(c) : "memory");
  }
}
)cpp";

std::vector<search::Job> jobs_of(const candidate::Candidate& candidate, const task::Task& task, std::size_t count) {
  std::vector<candidate::Assignment> points = figures::must(candidate::all_assignments(candidate, task, 4096));
  std::mt19937 random(1);
  std::shuffle(points.begin(), points.end(), random);
  std::vector<search::Job> jobs;
  for (std::size_t i = 0; i < std::min(count, points.size()); ++i) {
    search::Job job;
    job.sequence = i;
    job.proposal.source = candidate;
    job.proposal.assignment = points[i];
    job.proposal.id = i;
    jobs.push_back(job);
  }
  return jobs;
}

/// Candidates a second over all jobs; the reference, jails and truths are there before the clock starts.
double rate(engine::Bench& bench, const candidate::Candidate& candidate, const engine::EvaluatorOptions& options,
            std::size_t count, bool race) {
  auto evaluator = figures::must(engine::JudgeEvaluator::make(bench, options));
  const std::vector<search::Job> jobs = jobs_of(candidate, bench.task, count);
  int correct = 0;
  const std::int64_t start = monotonic_ns();
  double best_low = 0;
  for (std::size_t i = 0; i < jobs.size(); i += 8) {
    const std::span<const search::Job> batch(jobs.data() + i, std::min<std::size_t>(8, jobs.size() - i));
    const Status s = evaluator->evaluate(batch, race && best_low > 0 ? search::Race(best_low) : search::Race(), [] { return false; },
                                         [&](std::size_t, search::Judged judged) -> Status {
                                           correct += judged.outcome.correct ? 1 : 0;
                                           best_low = std::max(best_low, judged.outcome.low);
                                           return {};
                                         });
    if (!s.ok()) figures::give_up(s.error().text());
  }
  const double seconds = static_cast<double>(monotonic_ns() - start) * 1e-9;
  if (correct != static_cast<int>(jobs.size())) figures::give_up("a candidate was judged wrong");
  return static_cast<double>(jobs.size()) / seconds;
}

void overhead(engine::Bench& bench, const candidate::Candidate& candidate) {
  auto context = figures::must(judge::ScreenContext::prepare(*bench.session));
  std::vector<double> with_warm_up, without;
  for (const search::Job& job : jobs_of(candidate, bench.task, 8)) {
    const judge::Entry entry = figures::must(judge::enter(*bench.lane, bench.task, candidate, job.proposal.assignment));
    const std::int64_t start = monotonic_ns();
    const judge::Verdict verdict = figures::must(judge::screen(*bench.session, entry, *context));
    if (!verdict.correct) figures::give_up("a candidate was judged wrong");
    measure::CompareOptions options;
    options.slots_s = 0.25;
    options.warm_up_ms = 1;
    options.check_ms = 5;
    options.check_least = 1;
    const auto seen = figures::must(
        measure::compare(*bench.session, bench.session->baseline(), entry.program, bench.task.cases[0], options));
    const double ms = static_cast<double>(monotonic_ns() - start) * 1e-6;
    without.push_back(ms - seen.slots_s * 1e3);
    with_warm_up.push_back(ms - seen.slots_s * 1e3 - 8 * 2 * options.warm_up_ms);
  }
  std::sort(without.begin(), without.end());
  std::sort(with_warm_up.begin(), with_warm_up.end());
  figures::figure("overhead of a verdict, 8 pairs, beyond compiling and timed slots", without[without.size() / 2], "ms", Wanted::at_most, 250);
  figures::told("the same, warm-up counted as timing", with_warm_up[with_warm_up.size() / 2], "ms");
}

double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  return 0;
}

}  // namespace

int main() {
  const TemporaryFolder folder = figures::must(TemporaryFolder::make("hone-throughput-"));
  if (!write_file(folder.path() / "task.toml", kTask).ok() || !write_file(folder.path() / "reference.cpp", kReference).ok())
    figures::give_up("cannot write the task");
  Common common;
  common.use_cache = false;
  engine::Bench bench = figures::must(engine::open_bench(folder.path().string(), common));
  const candidate::Candidate candidate = figures::must(candidate::parse(kCandidate, "product128.cpp"));
  const auto points = static_cast<std::size_t>(figures::count_from("HONE_BENCH_POINTS", 32));
  engine::EvaluatorOptions options;
  options.timing = false;
  figures::figure("candidates a second, correctness only", rate(bench, candidate, options, points, false), "/s", Wanted::at_least, 8);
  options.timing = true;
  options.early_stop = false;
  figures::figure("candidates a second, 0.25 s of timing", rate(bench, candidate, options, points, false), "/s", Wanted::at_least, 2.3);
  options.early_stop = true;
  figures::figure("candidates a second, clear winners and losers stopped early", rate(bench, candidate, options, points, true), "/s",
                Wanted::at_least, 4);
  overhead(bench, candidate);
  figures::figure("coordinator's memory, peak", peak_mb(), "MB", Wanted::at_most, 150);
}
