#include "base/files.h"
#include "engine/bench.h"
#include "engine/document.h"
#include "engine/evidence.h"
#include "engine/performance.h"
#include "judge/judge.h"
#include "report/evidence.h"
#include "store/archive.h"
#include "task/task_file.h"

namespace hone {
Result<Document> export_run(const ExportRequest& request) {
  HONE_TRY(const store::Archive archive,
           store::Archive::open_reader(request.archive.empty() ? store::default_archive() : fs::path(request.archive)));
  HONE_TRY(const std::string id, archive.find_run(request.run));
  HONE_TRY(const store::RunRecord run, archive.run(id));
  HONE_TRY(const auto best, archive.best_of(id));
  if (!best)
    return usage_error("run " + id + " has no kernel faster than its baseline", "See hone show " + id);
  HONE_TRY(const store::CandidateRecord record, archive.candidate(id, best->candidate));
  engine::Evidence evidence;
  HONE_TRY(evidence.task, task::parse_task(run.task_text, fs::path(run.task_folder) / "task.toml"));
  HONE_TRY(evidence.candidate, candidate::parse(record.source, record.path));
  evidence.assignment = record.assignment;
  HONE_TRY(evidence.verdict, archive.verdict(best->id, true));
  evidence.device = run.device;
  evidence.versions = run.versions;
  evidence.run = id;
  const fs::path folder = request.folder.empty() ? run.folder / "evidence" : fs::path(request.folder);
  HONE_CHECK(engine::write_evidence(evidence, folder, request.force));
  const report::ExportReport report{id, folder.string(), (folder / "kernel.cpp").string(), *best};
  return engine::document_of(report, request, 0);
}

Result<Document> replay(const ReplayRequest& request) {
  if (!(request.limit_s >= 0)) return usage_error("the time limit must not be negative", "0 means no limit");
  const judge::Watch watch = engine::watch_of(request, request.limit_s);
  HONE_TRY(const engine::Evidence evidence, engine::read_evidence(request.folder));
  HONE_TRY(engine::Bench bench, engine::open_bench(evidence.task, request));
  HONE_TRY(const judge::Entry entry,
           judge::enter(*bench.lane, bench.task, evidence.candidate, evidence.assignment));
  judge::VerifyOptions options;
  options.watch = &watch;
  options.allowed = {evidence.verdict.cls == judge::Class::C, evidence.verdict.cls == judge::Class::X};
  options.memory_options.allow_missing_tools = true;
  if (request.timing && !evidence.verdict.speeds.empty())
    options.performance = [&](const judge::Entry& e, judge::Verdict& v) -> Status {
      engine::PerformanceOptions performance;
      performance.most_pairs = 8;
      performance.watch = &watch;
      return engine::judge_performance(*bench.session, e, performance, v);
    };
  HONE_TRY(const judge::Verdict now, judge::verify(*bench.session, entry, options));
  const report::ReplayReport report = report::replay_report(request.folder, evidence.verdict, now);
  return engine::document_of(report, request, report.answer == report::Replayed::reproduced ? 0 : 1);
}

}  // namespace hone
