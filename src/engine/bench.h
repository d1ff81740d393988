#pragma once
// engine: the verbs as library calls (include/hone/hone.h declares them). A verb opens a Bench — task, lane, session —,
// asks the rooms above for verdicts and comparisons, and gives a Document. One file a verb. Read bench.h, then
// performance.h, evaluator.h (how the search judges), optimize.cc.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "hone/hone.h"
#include "judge/judge.h"
#include "lane/lane.h"
#include "runner/session.h"
#include "task/task.h"

namespace hone::engine {

/// What judging one task needs, opened once.
struct Bench {
  task::Task task;
  std::unique_ptr<lane::Lane> lane;
  std::unique_ptr<runner::Session> session;
};

Result<std::unique_ptr<lane::Lane>> open_lane(const task::Task& task, const Common& common);
/// Builds the reference, and says so: whatever else a verb reads it reads before.
Result<Bench> open_bench(task::Task task, const Common& common);
/// Reads the task first; for verbs that read nothing else.
Result<Bench> open_bench(const std::string& path, const Common& common);

/// A candidate with the assignment that a user asked for; the others keep their default. Unknown tunables and values
/// are errors with the nearest spelling.
Result<candidate::Assignment> choose(const candidate::Candidate& candidate, const task::Task& task,
                                     const Tunables& tunables);
/// The candidates of a task's folder candidates/, sorted by name; errors when there are none.
Result<std::vector<std::string>> candidates_of(const task::Task& task);

/// Versions for records: hone, compiler.
Json versions(const lane::Lane& lane);

}  // namespace hone::engine
