#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "engine/bench.h"
#include "engine/document.h"
#include "engine/evidence.h"
#include "engine/performance.h"
#include "judge/judge.h"
#include "report/style.h"
#include "store/archive.h"
#include "task/task_file.h"

namespace hone {
namespace {

struct Answer {
  std::string word;                  // reproduced, not reproduced, cannot be compared
  std::vector<std::string> reasons;
};

/// What the new verdict says of the old one.
Answer compare_verdicts(const judge::Verdict& old, const judge::Verdict& now) {
  Answer answer{"reproduced", {}};
  const auto worse = [&](std::string word, std::string reason) {
    if (answer.word == "reproduced" || word == "not reproduced") answer.word = std::move(word);
    answer.reasons.push_back(std::move(reason));
  };
  if (now.cls == judge::Class::undecided)
    worse("cannot be compared", now.failure ? now.failure->message : "undecided");
  else if (old.correct != now.correct)
    worse("not reproduced", now.correct ? "it is correct now" : "it is not correct: " + (now.failure ? now.failure->message : ""));
  else if (old.cls != now.cls)
    worse("not reproduced", fmt::format("class {} then, {} now", judge::name_of(old.cls), judge::name_of(now.cls)));
  if (old.machine_code_hash != now.machine_code_hash)
    answer.reasons.push_back("the machine code differs (another compiler or processor): compared by behaviour");
  if (now.speeds.empty() || old.speeds.empty() || !now.correct) return answer;
  if (old.device != now.device) {
    worse("cannot be compared", "times are from another device: " + old.device);
    return answer;
  }
  const bool overlap = now.geomean_low <= old.geomean_high && old.geomean_low <= now.geomean_high;
  const std::string both = fmt::format("speed-up {} then, {} now",
                                       report::ratio_text(old.geomean, old.geomean_low, old.geomean_high),
                                       report::ratio_text(now.geomean, now.geomean_low, now.geomean_high));
  // Two runs on two occasions differ by more than either's interval knows of; a tenth is still the same story.
  constexpr double kDrift = 1.10;
  if (overlap || (now.geomean < old.geomean * kDrift && now.geomean > old.geomean / kDrift))
    answer.reasons.push_back(both);
  else
    worse("not reproduced", both);
  return answer;
}

}  // namespace

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
  Document document;
  document.text = fmt::format("kernel    {}\nevidence  {}\nagain     hone replay {}\n", (folder / "kernel.cpp").string(),
                              folder.string(), folder.string());
  document.json = Json({{"run", id}, {"folder", folder.string()}, {"kernel", (folder / "kernel.cpp").string()},
                        {"ratio", number(best->ratio)}, {"low", number(best->low)}, {"high", number(best->high)}})
                      .dump(2);
  return document;
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
  const Answer answer = compare_verdicts(evidence.verdict, now);
  Document document;
  document.exit_code = answer.word == "reproduced" ? 0 : 1;
  document.text = answer.word + "\n";
  for (const std::string& reason : answer.reasons) document.text += "  " + reason + "\n";
  document.json = Json({{"answer", answer.word}, {"reasons", answer.reasons}, {"folder", request.folder},
                        {"then", judge::to_json(evidence.verdict)}, {"now", judge::to_json(now)}})
                      .dump(2);
  return document;
}

}  // namespace hone
