#include "engine/evidence.h"

#include <fmt/format.h>

#include <set>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "hone/version.h"
#include "task/task_file.h"

namespace hone::engine {
namespace {

/// Every file the task names, relative to its folder.
std::set<std::string> files_of(const task::Task& task) {
  std::set<std::string> out;
  for (const auto& [lane, file] : task.reference) out.insert(file);
  for (const task::Tensor& input : task.inputs)
    if (!input.values.file.empty()) out.insert(input.values.file);
  if (task.baseline != "reference" && task.baseline.rfind("torch.", 0) != 0) out.insert(task.baseline);
  return out;
}

/// A name that stays inside its folder.
bool is_inside(const fs::path& name) {
  if (name.is_absolute() || name.empty()) return false;
  for (const fs::path& part : name)
    if (part == "..") return false;
  return true;
}

class Writer {
 public:
  Writer(fs::path folder, bool force) : folder_(std::move(folder)), force_(force) {}

  Status add(const fs::path& name, std::string_view bytes) {
    if (!is_inside(name))
      return usage_error(fmt::format("the task names '{}', which lies outside its folder", name.string()),
                         "Move the file into the task's folder to export it");
    const fs::path path = folder_ / name;
    std::error_code error;
    if (!force_ && fs::exists(path, error))
      return usage_error(path.string() + " is there already", "Choose another folder, or give --force");
    HONE_CHECK(make_folder(path.parent_path()));
    HONE_CHECK(write_file(path, bytes));
    hashes_[name.string()] = sha256(bytes);
    return {};
  }
  const Json& hashes() const { return hashes_; }

 private:
  fs::path folder_;
  bool force_;
  Json hashes_ = Json::object();
};

}  // namespace

std::string fixed_source(const candidate::Candidate& candidate, const candidate::Assignment& assignment) {
  std::string out;
  for (const std::string_view line : split(candidate.source, '\n')) {
    const auto parts = words(line);
    std::string text(line);
    // "// hone:tune NAME = …"
    if (parts.size() >= 3 && parts[0] == "//" && parts[1] == "hone:tune")
      if (const auto it = assignment.find(std::string(parts[2])); it != assignment.end())
        text = fmt::format("// hone:tune {} = {}", it->first, it->second);
    out += text + "\n";
  }
  if (!out.empty() && !candidate.source.empty() && candidate.source.back() == '\n') out.pop_back();
  return out;
}

Status write_evidence(const Evidence& e, const fs::path& folder, bool force) {
  Writer writer(folder, force);
  HONE_CHECK(writer.add("kernel.cpp", fixed_source(e.candidate, e.assignment)));
  HONE_CHECK(writer.add("candidate.cpp", e.candidate.source));
  HONE_CHECK(writer.add("task/task.toml", e.task.text));
  for (const std::string& name : files_of(e.task)) {
    HONE_TRY(const std::string bytes, read_file(e.task.folder / name));
    HONE_CHECK(writer.add(fs::path("task") / name, bytes));
  }
  HONE_CHECK(writer.add("verdict.json", judge::to_json(e.verdict, true).dump(1)));
  const Json device = {{"device", e.device}, {"versions", e.versions}};
  HONE_CHECK(writer.add("device.json", device.dump(1)));
  const Json manifest = {{"format", kEvidenceFormat},      {"hone", hone::version()},
                         {"run", e.run},                   {"written_s", wall_clock_s()},
                         {"assignment", candidate::to_json(e.assignment)}, {"candidate", e.candidate.path},
                         {"files", writer.hashes()}};
  const fs::path path = folder / "manifest.json";
  std::error_code error;
  if (!force && fs::exists(path, error)) return usage_error(path.string() + " is there already", "Give --force");
  return write_file(path, manifest.dump(1));
}

Result<Evidence> read_evidence(const fs::path& folder) {
  auto text_or = read_file(folder / "manifest.json");
  if (!text_or.ok()) {
    Error why = std::move(text_or).error();
    if (why.cure.empty()) why.cure = "Give a folder written by hone export";
    return why;
  }
  const std::string text = std::move(text_or).value();
  HONE_TRY(const Json manifest, parse_json(text, (folder / "manifest.json").string()));
  HONE_TRY(const std::int64_t format, get_int(manifest, "format", "manifest.json"));
  if (format < 1 || format > kEvidenceFormat)
    return usage_error(fmt::format("{} has format {}; this version of Hone reads up to {}", folder.string(), format, kEvidenceFormat),
                       "Use a newer Hone");
  if (!manifest.contains("files") || !manifest["files"].is_object())
    return usage_error("manifest.json lists no files", "Give a folder written by hone export");
  for (const auto& [name, hash] : manifest["files"].items()) {
    if (!is_inside(name)) return usage_error("manifest.json names a file outside its folder: " + name, "Give a folder written by hone export");
    HONE_TRY(const std::string bytes, read_file(folder / name));
    if (!hash.is_string() || sha256(bytes) != hash.get<std::string>())
      return usage_error(fmt::format("{} is not what the manifest says: it was changed", (folder / name).string()),
                         "Export the run again: hone export RUN --out FOLDER --force");
  }
  for (const char* needed : {"kernel.cpp", "candidate.cpp", "task/task.toml", "verdict.json"})
    if (!manifest["files"].contains(needed))
      return usage_error(fmt::format("the manifest does not cover {}", needed),
                         "Export the run again: hone export RUN --out FOLDER --force");
  Evidence e;
  HONE_TRY(e.task, task::read_task(folder / "task"));
  HONE_TRY(e.candidate, candidate::read((folder / "candidate.cpp").string()));
  HONE_TRY(e.assignment, candidate::assignment_from(manifest.value("assignment", Json::object())));
  HONE_TRY(const std::string verdict_text, read_file(folder / "verdict.json"));
  HONE_TRY(const Json verdict, parse_json(verdict_text, "verdict.json"));
  HONE_TRY(e.verdict, judge::verdict_from_json(verdict));
  e.run = manifest.value("run", "");
  return e;
}

}  // namespace hone::engine
