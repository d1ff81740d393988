#include "runner/session_builds.h"

#include <fmt/format.h>

#include <optional>
#include <thread>

namespace hone::runner {
namespace {

using candidate::Build;
using candidate::Failure;

/// The class whose r tells "right, but less precise" (class C); none below f16, bf16, fp8, int.
std::optional<task::Precision> next_lower(task::Precision p) {
  switch (p) {
    case task::Precision::f64: return task::Precision::f32;
    case task::Precision::f32: return task::Precision::tf32;
    case task::Precision::tf32: return task::Precision::bf16;
    default: return std::nullopt;
  }
}

struct Job {
  candidate::Resolved resolved;
  std::string what;
};

Result<std::string> build_object(lane::Lane& lane, const Job& job) {
  lane::BuildOptions options;
  HONE_TRY(lane::BuildOutcome outcome, lane.build(job.resolved, options));
  if (const auto* failure = std::get_if<Failure>(&outcome)) {
    Error error = usage_error(fmt::format("{} does not build: {}", job.what, failure->message));
    if (failure->evidence.contains("log") && failure->evidence["log"].is_string())
      return std::move(error).with("log", failure->evidence["log"].get<std::string>());
    return error;
  }
  return std::get<lane::Built>(std::move(outcome)).object;
}

/// All at once, each in a thread; the first error of them in order.
Result<std::vector<std::string>> build_all(lane::Lane& lane, const std::vector<Job>& jobs) {
  std::vector<std::optional<Result<std::string>>> built(jobs.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    threads.emplace_back([&, i] { built[i] = build_object(lane, jobs[i]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> objects;
  for (auto& object : built) {
    if (!object->ok()) return std::move(*object).error();
    objects.push_back(std::move(*object).value());
  }
  return objects;
}

}  // namespace

Result<SessionBuilds> build_references(const task::Task& task, lane::Lane& lane) {
  if (!task.reference.contains(lane.name()))
    return usage_error(fmt::format("task '{}' has no reference for lane {}", task.name, lane.name()),
                       "Add reference.source." + lane.name() + " to " + task.file.string());
  const std::string path = (task.folder / task.reference.at(lane.name())).string();
  HONE_TRY(const candidate::Candidate reference, candidate::read(path));
  std::vector<Job> jobs;
  const auto add = [&](const candidate::Candidate& source, const task::Task& of, Build build,
                       std::string what) -> Status {
    HONE_TRY(const candidate::Assignment assignment, candidate::default_assignment(source, of));
    HONE_TRY(candidate::Resolved resolved, candidate::resolve(source, assignment, of, build));
    jobs.push_back({std::move(resolved), std::move(what)});
    return {};
  };
  HONE_CHECK(add(reference, task, Build::oracle, "the reference in its wider type"));
  HONE_CHECK(add(reference, task, Build::rounded, "the reference in the task's precision"));
  if (task.baseline == "reference") {
    HONE_CHECK(add(reference, task, Build::baseline, "the baseline"));
  } else {
    HONE_TRY(const candidate::Candidate own, candidate::read((task.folder / task.baseline).string()));
    HONE_CHECK(add(own, task, Build::candidate, "the baseline " + task.baseline));
  }
  const auto lower = next_lower(task.precision);
  if (lower) {
    task::Task less_precise = task;
    less_precise.precision = *lower;
    HONE_CHECK(add(reference, less_precise, Build::rounded, "the reference one class less precise"));
  }
  HONE_TRY(const std::vector<std::string> objects, build_all(lane, jobs));
  const auto program = [&](std::size_t i) { return Program{objects[i], jobs[i].resolved}; };
  return SessionBuilds{program(0), program(1), program(2), lower ? program(3) : Program{}};
}

Result<std::variant<DrawCheck, Failure>> run_staged_draw(Session& session, Runner& runner, const Arenas& arenas,
                                                         const Prepared& prepared) {
  HONE_CHECK(session.oracle().stage(prepared.id, arenas.id));
  HONE_TRY(ReleaseOutcome outcome, runner.release(1, session.task().limits.call_s));
  if (auto* failure = std::get_if<Failure>(&outcome)) return std::variant<DrawCheck, Failure>(std::move(*failure));
  HONE_TRY(DrawCheck check, session.oracle().check(prepared.id, arenas.id));
  return std::variant<DrawCheck, Failure>(std::move(check));
}

Json input_aliases(const task::Task& task, const candidate::Resolved& resolved) {
  Json out = Json::array();
  for (const task::Tensor& input : task.inputs) {
    std::int64_t alias = -1;
    for (std::size_t o = 0; resolved.in_place && alias < 0 && o < task.outputs.size(); ++o)
      if (task.outputs[o].inout == input.name) alias = static_cast<std::int64_t>(o);
    out.push_back(alias);
  }
  return out;
}

}  // namespace hone::runner
