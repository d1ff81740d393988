#include "base/files.h"
#include "engine/document.h"
#include "report/run.h"
#include "store/archive.h"

namespace hone {
namespace {

Result<store::Archive> open_reader(const Common& common) {
  return store::Archive::open_reader(common.archive.empty() ? store::default_archive() : fs::path(common.archive));
}

}  // namespace

Result<Document> list_runs(const ArchiveRequest& request) {
  HONE_TRY(const store::Archive archive, open_reader(request));
  HONE_TRY(const std::vector<store::RunLine> runs, archive.runs(request.limit));
  return Document{report::runs_text(runs, engine::style_of(request)), report::runs_json(runs).dump(2), 0};
}

Result<Document> show(const ArchiveRequest& request) {
  HONE_TRY(const store::Archive archive, open_reader(request));
  HONE_TRY(const store::Target target, archive.find(request.name));
  if (target.candidate) {
    HONE_TRY(const report::CandidateReport report,
             report::candidate_report(archive, target.run, *target.candidate));
    return Document{report::to_text(report, engine::style_of(request), request.explain), report::to_json(report).dump(2), 0};
  }
  HONE_TRY(const report::RunReport report, report::run_report(archive, target.run));
  return engine::document_of(report, request, 0);
}

}  // namespace hone
