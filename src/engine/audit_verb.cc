#include "audit/audit.h"
#include "engine/bench.h"
#include "engine/document.h"
#include "report/audit.h"

namespace hone {

Result<Document> audit_task(const AuditRequest& request) {
  if (request.mutants < 0) return usage_error("--mutants must not be negative");
  HONE_CHECK(engine::check_limit(request.limit_s));
  const judge::Watch watch = engine::watch_of(request, request.limit_s);
  HONE_TRY(engine::Bench bench, engine::open_bench(request.task, request));
  audit::AuditOptions options;
  options.seed = request.seed;
  options.most_mutants = static_cast<std::size_t>(request.mutants);
  options.watch = &watch;
  HONE_TRY(const audit::AuditReport report, audit::audit(*bench.session, options));
  return Document{report::to_text(report, engine::style_of(request), request.explain), report::to_json(report).dump(2),
                  audit::is_strong(report) ? 0 : 1};
}

}  // namespace hone
