#pragma once
// An audit as text and JSON (docs/schema/audit.json).

#include <string>

#include "audit/audit.h"
#include "base/json.h"
#include "report/style.h"

namespace hone::report {

/// Checks that failed, mutants that survived with their diffs, the score; `all`: also the checks that passed.
std::string to_text(const audit::AuditReport& report, const Style& style, bool all = false);
Json to_json(const audit::AuditReport& report);

}  // namespace hone::report
