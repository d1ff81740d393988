#include "engine/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "device/cpu.h"
#include "engine/document.h"
#include "task/task_file.h"

namespace hone::engine {

Result<std::unique_ptr<lane::Lane>> open_lane(const task::Task& task, const Common& common) {
  if (std::find(task.lanes.begin(), task.lanes.end(), "cpu") == task.lanes.end())
    return usage_error(fmt::format("task '{}' has no lane that runs here (it names: {})", task.name,
                                   fmt::join(task.lanes, ", ")),
                       "Add \"cpu\" to its lanes, with a reference for it");
  lane::CpuLaneOptions options;
  options.compiler = common.compiler;
  options.use_cache = common.use_cache;
  options.unsafe = common.unsafe;
  return lane::make_cpu_lane(options);
}

Result<Bench> open_bench(task::Task task, const Common& common) {
  Bench bench;
  bench.task = std::move(task);
  HONE_TRY(bench.lane, open_lane(bench.task, common));
  runner::SessionOptions options;
  options.lane = bench.lane.get();
  options.unsafe = common.unsafe;
  announce(common, "building the reference");
  HONE_TRY(bench.session, runner::Session::open(bench.task, options));
  return bench;
}

Result<Bench> open_bench(const std::string& path, const Common& common) {
  HONE_TRY(task::Task task, task::read_task(path));
  return open_bench(std::move(task), common);
}

Result<candidate::Assignment> choose(const candidate::Candidate& candidate, const task::Task& task,
                                     const Tunables& tunables) {
  HONE_TRY(candidate::Assignment assignment, candidate::default_assignment(candidate, task));
  std::vector<std::string> known;
  for (const candidate::Tunable& t : candidate.tunables) known.push_back(t.name);
  for (const auto& [name, value] : tunables) {
    const auto it = std::find_if(candidate.tunables.begin(), candidate.tunables.end(),
                                 [&wanted = name](const candidate::Tunable& t) { return t.name == wanted; });
    if (it == candidate.tunables.end())
      return usage_error(fmt::format("{} has no tunable '{}'{}", candidate.path, name, did_you_mean(name, known)),
                         known.empty() ? "It has none" : fmt::format("It has: {}", fmt::join(known, ", ")));
    if (std::find(it->values.begin(), it->values.end(), value) == it->values.end())
      return usage_error(fmt::format("tunable {} of {} has no value '{}'{}", name, candidate.path, value,
                                     did_you_mean(value, it->values)),
                         fmt::format("Its values: {}", fmt::join(it->values, " ")));
    assignment[name] = value;
  }
  if (!candidate::satisfies(candidate, assignment, task))
    return usage_error(fmt::format("{} breaks a hone:require line of {}", candidate::to_json(assignment).dump(), candidate.path));
  return assignment;
}

Result<std::vector<std::string>> candidates_of(const task::Task& task) {
  std::vector<std::string> out;
  std::error_code error;
  const fs::path folder = task.folder / "candidates";
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() && (extension == ".cpp" || extension == ".cc" || extension == ".c"))
      out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  if (out.empty())
    return usage_error("there is no candidate in " + folder.string(),
                       "Name one: hone optimize TASK CANDIDATE, or put it there");
  return out;
}

Json versions(const lane::Lane& lane) { return {{"hone", hone::version()}, {"device", lane.device()}}; }

}  // namespace hone::engine
