#pragma once
// The valid points of a candidate's tunables for a task. Enumerates depth first and gives up on a
// branch at the first constraint whose tunables are all chosen.

#include "candidate/candidate.h"

namespace hone::candidate {

/// Every name that an expression of the plan uses is a tunable or a dim, and none is both.
Status check_names(const Candidate& candidate, const task::Task& task);
/// Each tunable has one of its values, and nothing else is chosen.
Status check_assignment(const Candidate& candidate, const Assignment& assignment);

}  // namespace hone::candidate
