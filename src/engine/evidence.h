#pragma once
// Evidence: one folder that holds everything a verdict rests on, with a manifest of SHA-256 hashes, so that anyone
// can judge again. docs/evidence.md describes the files.

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "judge/verdict.h"
#include "task/task.h"

namespace hone::engine {

constexpr int kEvidenceFormat = 1;

struct Evidence {
  task::Task task;
  candidate::Candidate candidate;
  candidate::Assignment assignment;
  judge::Verdict verdict;           ///< with samples
  Json device = Json::object(), versions = Json::object();
  std::string run;                  ///< id
};

/// The source with every hone:tune line reduced to the value chosen: a candidate that stands alone.
std::string fixed_source(const candidate::Candidate& candidate, const candidate::Assignment& assignment);

/// Writes kernel.cpp, candidate.cpp, task/…, verdict.json, device.json, manifest.json. Files that are there are
/// replaced only with `force`.
Status write_evidence(const Evidence& evidence, const std::filesystem::path& folder, bool force);

/// Checks the manifest, then reads. A changed, missing or foreign file is an error that names it.
Result<Evidence> read_evidence(const std::filesystem::path& folder);

}  // namespace hone::engine
