#pragma once
// audit: can this task tell right from wrong? Admission (judge/admission.h), then mutants: the reference with one small
// mistake each goes through the same lane, runners and judge as a candidate. Those that pass are survivors, shown
// as diffs with a hint what would kill them. Read mutate.h for the mistakes.

#include <cstdint>
#include <string>
#include <vector>

#include "audit/mutate.h"
#include "base/result.h"
#include "judge/admission.h"
#include "judge/judge.h"
#include "judge/watch.h"
#include "runner/session.h"

namespace hone::audit {

struct AuditOptions {
  std::uint64_t seed = 0;        ///< 0: entropy
  std::size_t most_mutants = 60;
  int builders = 2;              ///< compilers at a time
  bool verify_survivors = true;  ///< also judges survivors of the screen as a verify does, to say what kills them
  const judge::Watch* watch = nullptr;  ///< limit, progress, cancelling; none without
};

struct MutantReport {
  enum class State { killed, survived, equivalent, not_built, left_out };
  Mutant mutant;                 ///< without its source
  State state = State::killed;
  std::string gate, reason;      ///< of the failure that killed it
  std::string why;               ///< equivalent: why; survived or only killed by verify: what would kill it
  bool by_verify_only = false;   ///< the screen passed it, a verify does not
};
const char* name_of(MutantReport::State state);

struct AuditReport {
  std::string task_name;
  judge::AdmissionReport admission;
  std::vector<MutantReport> mutants;
  int killed = 0, survived = 0, equivalent = 0, not_built = 0;
  int left_out = 0;              ///< the time limit was over before they were judged
  double score = 0;              ///< killed / (killed + survived); 1 without any
  std::uint64_t seed = 0;
  double ms = 0;
};
/// Admitted, all mutants were judged and not too many survive: the task tells right from wrong.
bool is_strong(const AuditReport& report);

Result<AuditReport> audit(runner::Session& session, const AuditOptions& options = {});

}  // namespace hone::audit
