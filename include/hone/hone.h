#pragma once
// Hone as a library: each verb of the command line as one call. The command line is a thin front over these.
//
//   hone::OptimizeRequest request;
//   request.task = "examples/nearest_neighbours";
//   request.budget = "30s";
//   auto result = hone::optimize(request);
//   if (result.ok() && result->gain) std::cout << result->kernel << result->speedup.mid << "\n";
//
// An expected failure of the task, the machine or the call is an Error. A wrong or slow candidate is a result.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hone/result.h"
#include "hone/version.h"

namespace hone {

/// What every verb gives: a document for people, one for programs (docs/schema/), and the verb's exit code.
struct Document {
  std::string text;
  std::string json;
  int exit_code = 0;
};

/// Where a run stands; sent while it goes on.
struct ProgressEvent {
  std::int64_t tried = 0, failed = 0;  ///< tried -1: not a search, nothing to count
  double best = 0, low = 0, high = 0;  ///< speed-up over the baseline; 0 before there is one
  double elapsed_s = 0, left_s = -1;   ///< −1: no time limit
  std::string doing;                   ///< what is running now, one line
};

/// What all verbs take.
struct Common {
  std::string archive;             ///< file; empty: $HONE_ARCHIVE, else ./hone-runs/archive.db
  std::string compiler;            ///< "g++" or "clang++"; empty: the default
  bool unsafe = false;             ///< go on where there is no sandbox
  bool explain = false;            ///< add why
  bool stats = false;              ///< add where time went
  bool colour = false;             ///< in text
  bool use_cache = true;           ///< of finished objects
  std::function<void(const ProgressEvent&)> progress;
  const std::atomic<bool>* cancel = nullptr;  ///< set it to stop cleanly
};

/// A value and the interval it lies in.
struct Range {
  double low = 0, mid = 0, high = 0, confidence = 0.95;
};

using Tunables = std::map<std::string, std::string>;

struct OptimizeRequest : Common {
  std::string task;                      ///< a task.toml or its folder
  std::vector<std::string> candidates;   ///< empty: those in the task's folder candidates/
  std::string budget = "60s";            ///< "60s", "200evals", "target=2x", joined by commas
  std::vector<std::string> proposers;    ///< empty: descent
  std::string resume;                    ///< a run's name: go on with it
  std::uint64_t seed = 0;                ///< of the search; 0: from the system's entropy
  double margin = 0.01;                  ///< a gain is more than this
  bool accept_c = false, accept_x = false;
  /// Wall time for verifying finalists, all together; over before the end: undecided, not accepted. 0: no limit;
  /// negative: 300, or the time budget where that is longer.
  double verify_limit_s = -1;
};
struct OptimizeResult : Document {
  std::string run;
  bool gain = false;
  Range speedup;                         ///< of the verified best over the baseline
  std::string kernel_class;              ///< "A", "B", "C", "X"
  std::string kernel, evidence;          ///< paths
  Tunables tunables;
  std::int64_t tried = 0;
};
Result<OptimizeResult> optimize(const OptimizeRequest& request);

struct VerifyRequest : Common {
  std::string task, candidate;
  Tunables tunables;                     ///< others keep their first values
  double faster_than = 0;                ///< 0: correctness decides alone; 1.05: the interval must lie above
  bool timing = true;
  bool memory_gate = true;
  bool allow_missing_tools = false;      ///< a sanitizer this machine lacks skips its part, and the verdict says so
  bool accept_c = false, accept_x = false;
  std::uint64_t seed = 0;                ///< 0: from the system's entropy; the verdict names it
  double slots_s = 1;
  double limit_s = 300;                  ///< wall time of the whole verb; over before the end: undecided. 0: no limit
};
struct VerifyResult : Document {
  bool correct = false;
  std::string kernel_class;
  Range speedup;                         ///< over the baseline, geometric mean over timed cases; mid 0: not timed
  std::string gate, reason, message;     ///< of the failure
};
Result<VerifyResult> verify(const VerifyRequest& request);

struct BenchRequest : Common {
  std::string task;
  std::vector<std::string> candidates;
  Tunables tunables;
  double slots_s = 1;                    ///< of timed slots, for each candidate and case
  int pairs = 8;
  bool warm = false;                     ///< warm instead of cold caches
  bool both = true;                      ///< bench: cold and warm, cold ranks
};
/// Each candidate against the baseline.
Result<Document> bench(const BenchRequest& request);
/// The second against the first: exactly two candidates.
Result<Document> compare(const BenchRequest& request);

struct AuditRequest : Common {
  std::string task;
  int mutants = 40;
  std::uint64_t seed = 0;
  double limit_s = 600;                  ///< wall time of the whole verb; mutants not judged by then are left out. 0: no limit
};
/// Can this task tell right from wrong? Exit code 1 when it cannot.
Result<Document> audit_task(const AuditRequest& request);

struct ArchiveRequest : Common {
  std::string name = "latest";           ///< a run, RUN/17, RUN/best, or the beginning of an identity
  std::size_t limit = 50;
};
Result<Document> list_runs(const ArchiveRequest& request);
Result<Document> show(const ArchiveRequest& request);

struct ExportRequest : Common {
  std::string run = "latest";
  std::string folder;                    ///< empty: the run's own folder
  bool force = false;
};
/// The best kernel with its evidence as one folder with a manifest of hashes.
Result<Document> export_run(const ExportRequest& request);

struct ReplayRequest : Common {
  std::string folder;
  bool timing = true;
  double limit_s = 300;                  ///< wall time of the whole verb; over before the end: cannot be compared. 0: no limit
};
/// Judges an exported folder again: reproduced (0), not reproduced or cannot be compared (1), with reasons.
Result<Document> replay(const ReplayRequest& request);

struct DoctorRequest : Common {
  bool quick = false;                    ///< leave out what is measured
  double seconds = 6;                    ///< for measuring what this machine can resolve
};
Result<Document> doctor(const DoctorRequest& request);

struct InitRequest : Common {
  std::string kernel;                    ///< my_kernel.cpp
  std::string function;                  ///< empty: the only one
  std::string folder;                    ///< empty: named after the kernel
  bool force = false;
};
Result<Document> init(const InitRequest& request);

}  // namespace hone
