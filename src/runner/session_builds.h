#pragma once
// What every session builds first: the reference in its wider type (t), in the task's own (r) and, where there is one, in
// the next lower class, and the baseline.

#include "lane/lane.h"
#include "runner/session.h"
#include "task/task.h"

namespace hone::runner {

struct SessionBuilds {
  Program truth, rounded, baseline;
  Program lower;  ///< object empty: there is no lower class
};
/// All at once. A reference that does not build is a usage error that says where.
Result<SessionBuilds> build_references(const task::Task& task, lane::Lane& lane);

}  // namespace hone::runner
