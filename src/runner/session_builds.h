#pragma once
// What every session builds first: the reference in its wider type (t), in the task's own (r) and, where there is one, in
// the next lower class, and the baseline; and what they do alike with a runner.

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

/// Session::run_draw of every lane: stages the draw, releases one call, checks.
Result<std::variant<DrawCheck, candidate::Failure>> run_staged_draw(Session& session, Runner& runner, const Arenas& arenas,
                                                                    const Prepared& prepared);

/// For each input the number of the output whose buffer it is, or -1: what a runner is told when it binds.
Json input_aliases(const task::Task& task, const candidate::Resolved& resolved);

}  // namespace hone::runner
