#include "engine/bench.h"
#include "engine/document.h"
#include "engine/performance.h"
#include "judge/judge.h"
#include "report/verdict.h"
#include "task/task_file.h"

namespace hone {

Result<VerifyResult> verify(const VerifyRequest& request) {
  HONE_CHECK(engine::check_limit(request.limit_s));
  const judge::Watch watch = engine::watch_of(request, request.limit_s);
  HONE_TRY(task::Task task, task::read_task(request.task));
  HONE_TRY(const candidate::Candidate candidate, candidate::read(request.candidate));
  HONE_TRY(const candidate::Assignment assignment, engine::choose(candidate, task, request.tunables));
  HONE_TRY(engine::Bench bench, engine::open_bench(std::move(task), request));
  watch.tell("building the candidate");
  HONE_TRY(const judge::Entry entry, judge::enter(*bench.lane, bench.task, candidate, assignment));
  judge::VerifyOptions options;
  options.seed = request.seed;
  options.allowed = {request.accept_c, request.accept_x};
  options.memory = request.memory_gate;
  options.memory_options.allow_missing_tools = request.allow_missing_tools;
  options.statics.unsafe = request.unsafe;
  if (request.timing)
    options.performance = [&](const judge::Entry& e, judge::Verdict& v) -> Status {
      engine::PerformanceOptions performance;
      performance.slots_s = request.slots_s;
      performance.watch = &watch;
      return engine::judge_performance(*bench.session, e, performance, v);
    };
  options.watch = &watch;
  HONE_TRY(judge::Verdict verdict, judge::verify(*bench.session, entry, options));
  report::VerdictReport report{bench.task.name, request.candidate, std::move(verdict), {}, {}};
  if (request.faster_than > 0) report.faster_than = request.faster_than;
  VerifyResult result;
  const judge::Verdict& v = report.verdict;
  static_cast<Document&>(result) = engine::document_of(report, request, report::accepted(report) ? 0 : 1);
  result.correct = v.correct;
  result.kernel_class = judge::name_of(v.cls);
  if (!v.speeds.empty()) result.speedup = {v.geomean_low, v.geomean, v.geomean_high, v.speeds[0].confidence};
  if (v.failure) {
    result.gate = v.failure->gate;
    result.reason = v.failure->reason;
    result.message = v.failure->message;
  }
  return result;
}

}  // namespace hone
