// Calibrates the error budget: honest variants of the examples must pass whole verifications (correctness only), planted
// errors must not. Every verification is run once with a budget a million times too wide; what it would have
// taken to reject it then gives the whole curve (docs/error-budget.md).
//
//   calibrate [--count N] [--seed S] [--example NAME]… [--table FILE] [--verbose]

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "audit/mutate.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "judge/judge.h"
#include "judge/trial.h"
#include "task/task_file.h"

namespace {

using namespace hone;

constexpr double kWide = 1e6;
constexpr double kScales[] = {0.25, 0.354, 0.5, 0.707, 1, 1.414, 2, 2.83, 4};

struct Options {
  int count = 1000;
  std::uint64_t seed = 20261130;
  std::vector<std::string> examples;
  std::string table;
  bool verbose = false;
};

struct Variant {
  std::string name;    // "sgemm: reference, reversed"
  std::string kind;    // planted: what was planted
  judge::Entry entry;
};

/// What scale of the budget just lets a verification pass; infinite when none does.
struct Needed {
  double scale = 0;
  std::string where;
};

struct Example {
  std::string name;
  task::Task task;
  std::unique_ptr<runner::Session> session;
  std::string path, reference;
  std::vector<Variant> honest, planted;
};

/// Loops that add up and may run backwards: another order of summation.
struct Reversal {
  const char *example, *from, *to;
};
constexpr Reversal kReversals[] = {
    {"sgemm", "for (int k = 0; k < K; ++k)", "for (int k = K - 1; k >= 0; --k)"},
    {"softmax", "for (int j = 0; j < D; ++j)", "for (int j = D - 1; j >= 0; --j)"},
    {"layer_norm", "for (int j = 0; j < D; ++j)", "for (int j = D - 1; j >= 0; --j)"},
    {"nearest_neighbours", "for (int d = 0; d < D; ++d)", "for (int d = D - 1; d >= 0; --d)"},
    {"spmv_csr", "for (int k = rowptr[i]; k < rowptr[i + 1]; ++k)",
     "for (int k = rowptr[i + 1] - 1; k >= rowptr[i]; --k)"},
};
constexpr const char* kFlagSets[] = {"-O1", "-ffp-contract=fast", "-ffp-contract=off",
                                     "-fassociative-math -fno-signed-zeros -fno-trapping-math"};
constexpr int kAssignments = 6;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

Result<judge::Entry> enter(Example& example, const std::string& source, const std::string& path, candidate::Build as,
                           const candidate::Assignment* assignment = nullptr) {
  HONE_TRY(const candidate::Candidate parsed, candidate::parse(source, path));
  candidate::Assignment chosen;
  if (assignment) {
    chosen = *assignment;
  } else {
    HONE_TRY(chosen, candidate::default_assignment(parsed, example.task));
  }
  return judge::enter(example.session->lane(), example.task, parsed, chosen, {}, as);
}

void add(std::vector<Variant>& to, std::string name, std::string kind, Result<judge::Entry> entry) {
  if (!entry.ok()) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), entry.error().text().c_str());
    return;
  }
  if (entry->failure) {
    std::fprintf(stderr, "%s: does not build: %s\n", name.c_str(), entry->failure->message.c_str());
    return;
  }
  to.push_back({std::move(name), std::move(kind), std::move(*entry)});
}

Status add_honest(Example& e, std::uint64_t seed) {
  const auto reference = candidate::Build::baseline;
  add(e.honest, e.name + ": reference", "", enter(e, e.reference, e.path, reference));
  for (const char* flags : kFlagSets)
    add(e.honest, fmt::format("{}: reference, {}", e.name, flags), "",
        enter(e, fmt::format("// hone:flags {}\n{}", flags, e.reference), e.path, reference));
  // Accumulators of double width, then the same rounding at the end: more precise than the reference.
  if (e.reference.find("HONE_REAL") != std::string::npos)
    add(e.honest, e.name + ": reference, accumulated in double", "",
        enter(e, replaced(e.reference, "HONE_REAL", "double"), e.path, reference));
  for (const Reversal& r : kReversals)
    if (e.name == r.example)
      add(e.honest, e.name + ": reference, summed backwards", "",
          enter(e, replaced(e.reference, r.from, r.to), e.path, reference));
  for (const auto& file : fs::directory_iterator(e.task.folder / "candidates")) {
    if (file.path().extension() != ".cpp") continue;
    HONE_TRY(const candidate::Candidate parsed, candidate::read(file.path().string()));
    HONE_TRY(const auto points, candidate::all_assignments(parsed, e.task, 100000));
    std::set<std::size_t> taken;
    for (int i = 0; i < kAssignments; ++i) {
      const std::size_t at = i == 0 ? 0 : judge::derived_seed(seed, static_cast<std::uint64_t>(i)) % points.size();
      if (!taken.insert(at).second) continue;
      add(e.honest, fmt::format("{}: {} {}", e.name, file.path().filename().string(), candidate::to_json(points[at]).dump()),
          "", enter(e, parsed.source, parsed.path, candidate::Build::candidate, &points[at]));
    }
  }
  return {};
}

Status add_planted(Example& e) {
  HONE_TRY(const std::vector<audit::Mutant> mutants, audit::mutants_of(e.reference, e.path, 100000));
  for (const audit::Mutant& m : mutants) {
    if (m.op != "lower_precision" && m.op != "dropped_term" && m.op != "unstable_formula") continue;
    const std::string name = fmt::format("{}: line {}: {}", e.name, m.line, m.what);
    add(e.planted, name, m.op == "lower_precision" ? "bf16 inside" : m.op, enter(e, m.source, e.path, candidate::Build::baseline));
    if (m.op != "lower_precision") continue;
    // The same place with the 11 bits of tf32.
    const std::string tf32 = replaced(replaced(m.source, "0x7FFFu + ((bits >> 16) & 1u)", "0xFFFu + ((bits >> 13) & 1u)"),
                                      "0xFFFF0000u", "0xFFFFE000u");
    add(e.planted, name + " (tf32)", "tf32 inside", enter(e, tf32, e.path, candidate::Build::baseline));
  }
  const fs::path wrong = e.task.folder / "candidates" / "wrong";
  if (!fs::exists(wrong)) return {};
  for (const auto& file : fs::directory_iterator(wrong)) {
    HONE_TRY(const std::string source, read_file(file.path()));
    // What only the memory or the performance gate can see is not the budget's to find.
    const bool by_value = source.find("hone:expect correctness wrong") != std::string::npos &&
                          source.find("hone:expect memory") == std::string::npos;
    if (by_value)
      add(e.planted, fmt::format("{}: {}", e.name, file.path().filename().string()), "wrong candidate",
          enter(e, source, file.path().string(), candidate::Build::candidate));
  }
  return {};
}

Result<Example> open_example(const fs::path& folder, lane::Lane& lane) {
  Example e;
  HONE_TRY(e.task, task::read_task(folder));
  e.name = e.task.name;
  e.path = (folder / e.task.reference.at("cpu")).string();
  HONE_TRY(e.reference, read_file(e.path));
  runner::SessionOptions options;
  options.lane = &lane;
  HONE_TRY(e.session, runner::Session::open(e.task, options));
  return e;
}

struct Seen {
  Needed needed;
  Json errors;
  double ms = 0;
  double furthest = 0;  // max z
  std::string note;  // of the correctness gate
};

Result<Seen> verify(Example& e, const Variant& variant, std::uint64_t seed) {
  judge::VerifyOptions options;
  options.seed = seed;
  options.memory = false;
  options.statics.instructions = false;
  options.budget = judge::Budget{}.scaled(kWide);
  options.keep_draws = true;
  HONE_TRY(const judge::Verdict verdict, judge::verify(*e.session, variant.entry, options));
  Seen out;
  out.errors = verdict.errors;
  if (verdict.gates.size() > 1) out.note = verdict.gates[1].note;
  out.ms = verdict.total_ms - variant.entry.ms;
  if (verdict.failure) {
    out.needed = {std::numeric_limits<double>::infinity(), verdict.failure->reason + ": " + verdict.failure->message};
    return out;
  }
  for (const auto& [output, distributions] : verdict.errors.items())
    for (const auto& [distribution, one] : distributions.items()) {
      out.furthest = std::max(out.furthest, as_double(one["max"]));
      if (const double scale = as_double(one["share"]) * kWide; scale > out.needed.scale)
        out.needed = {scale, fmt::format("{}, {}, {}", output, distribution, one["case"].get<std::string>())};
    }
  return out;
}

struct Tally {
  std::vector<double> honest;                              // scales needed
  std::map<std::string, std::vector<double>> planted;      // by kind
  std::map<std::string, int> equivalent;                   // planted without effect: no worse than honest
  std::vector<std::string> rejected, missed;               // at scale 1
  double honest_ms = 0;
};

int beyond(const std::vector<double>& needed, double scale) {
  return static_cast<int>(std::count_if(needed.begin(), needed.end(), [&](double n) { return n > scale; }));
}

std::string table_of(const Tally& tally) {
  std::string out = "| scale of the constants | honest verifications rejected | share |";
  std::string rule = "|---|---|---|";
  for (const auto& [kind, needed] : tally.planted) {
    out += fmt::format(" {} missed |", kind);
    rule += "---|";
  }
  out += "\n" + rule + "\n";
  for (const double scale : kScales) {
    const int rejected = beyond(tally.honest, scale);
    out += fmt::format("| ×{:g} | {} of {} | {:.2g} % |", scale, rejected, tally.honest.size(),
                       tally.honest.empty() ? 0 : 100.0 * rejected / static_cast<double>(tally.honest.size()));
    for (const auto& [kind, needed] : tally.planted)
      out += fmt::format(" {} of {} |", needed.size() - static_cast<std::size_t>(beyond(needed, scale)), needed.size());
    out += "\n";
  }
  return out;
}

Status run_planted(Example& e, const Options& options, Tally* tally) {
  // A planted error whose answers are no further from the truth than honest ones on the same draws is none (rounding
  // whole numbers to eight bits, say), nor is one that never moves an answer by more than a unit: the rounding of the
  // inputs moves it as far. An index that chooses differently among equals is such a one.
  double honest = 0;
  for (const Variant& v : e.honest) {
    HONE_TRY(const Seen seen, verify(e, v, options.seed));
    honest = std::max(honest, seen.needed.scale);
  }
  for (const Variant& v : e.planted) {
    HONE_TRY(const Seen seen, verify(e, v, options.seed));
    if (seen.needed.scale <= std::min(honest, 1.0) || (std::isfinite(seen.needed.scale) && seen.furthest <= 1)) {
      ++tally->equivalent[v.kind];
      if (options.verbose) std::fprintf(stderr, "no effect: %s\n", v.name.c_str());
      continue;
    }
    tally->planted[v.kind].push_back(seen.needed.scale);
    if (seen.needed.scale <= 1)
      tally->missed.push_back(fmt::format("{} ({:.3g} at {})", v.name, seen.needed.scale, seen.needed.where));
    if (options.verbose) std::fprintf(stderr, "planted %9.3g  %s\n", seen.needed.scale, v.name.c_str());
  }
  return {};
}

Status run_honest(Example& e, int count, const Options& options, Tally* tally) {
  for (int i = 0; i < count; ++i) {
    const Variant& v = e.honest[static_cast<std::size_t>(i) % e.honest.size()];
    // Every round has its seed, so that the variants share the dear part, the truths.
    const std::uint64_t round = static_cast<std::uint64_t>(i) / e.honest.size();
    const std::uint64_t seed = judge::derived_seed(options.seed, 0x1000u + round);
    HONE_TRY(const Seen seen, verify(e, v, seed));
    tally->honest.push_back(seen.needed.scale);
    tally->honest_ms += seen.ms;
    if (seen.needed.scale > 1)
      tally->rejected.push_back(
          fmt::format("{} (seed 0x{:x}: {:.3g} at {})", v.name, seed, seen.needed.scale, seen.needed.where));
    if (options.verbose)
      std::fprintf(stderr, "honest  %9.3g  %6.0f ms  %s (%s)\n", seen.needed.scale, seen.ms, v.name.c_str(),
                   seen.note.c_str());
  }
  return {};
}

Status run(const Options& options) {
  HONE_TRY(TemporaryFolder cache, TemporaryFolder::make("hone-calibrate-"));
  lane::CpuLaneOptions lane_options;
  lane_options.cache = cache.path().string();
  HONE_TRY(const std::unique_ptr<lane::Lane> lane, lane::make_cpu_lane(lane_options));
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(fs::path(HONE_SOURCE_DIR) / "examples"))
    if (fs::exists(entry.path() / "task.toml")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (!options.examples.empty())
    std::erase_if(folders, [&](const fs::path& folder) {
      return std::find(options.examples.begin(), options.examples.end(), folder.filename().string()) ==
             options.examples.end();
    });
  if (folders.empty()) return usage_error("no such example", "Name folders of examples/");
  Tally tally;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    HONE_TRY(Example e, open_example(folders[i], *lane));
    HONE_CHECK(add_honest(e, options.seed));
    HONE_CHECK(add_planted(e));
    if (e.honest.empty()) return environment_error("no honest variant of " + e.name + " builds", "See the messages above");
    std::fprintf(stderr, "%s: %zu honest variants, %zu planted\n", e.name.c_str(), e.honest.size(), e.planted.size());
    const int all = static_cast<int>(folders.size()), at = static_cast<int>(i);
    const int share = options.count * (at + 1) / all - options.count * at / all;
    HONE_CHECK(run_planted(e, options, &tally));
    HONE_CHECK(run_honest(e, share, options, &tally));
  }

  const std::string table = table_of(tally);
  if (!options.table.empty()) HONE_CHECK(write_file(options.table, table));
  std::fputs(table.c_str(), stderr);
  for (const auto& [kind, n] : tally.equivalent) std::fprintf(stderr, "%s without effect: %d\n", kind.c_str(), n);
  for (const std::string& r : tally.rejected) std::fprintf(stderr, "rejected: %s\n", r.c_str());
  for (const std::string& m : tally.missed) std::fprintf(stderr, "missed: %s\n", m.c_str());
  std::size_t planted = 0;
  for (const auto& [kind, needed] : tally.planted) planted += needed.size();
  const double allowed = std::max(1.0, options.count / 1000.0);
  std::printf("honest pairs rejected, %d whole verifications | %zu | at most %.0f | %s\n", options.count,
              tally.rejected.size(), allowed, static_cast<double>(tally.rejected.size()) <= allowed ? "yes" : "no");
  std::printf("planted errors missed, of %zu | %zu | at most 0 | %s\n", planted, tally.missed.size(),
              tally.missed.empty() ? "yes" : "no");
  std::printf("one whole verification, correctness only | %.0f ms | at most 1000 ms | %s\n",
              tally.honest_ms / options.count, tally.honest_ms / options.count <= 1000 ? "yes" : "no");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--verbose") options.verbose = true;
    else if (word == "--count" && has_value) options.count = std::max(1, std::atoi(argv[++i]));
    else if (word == "--seed" && has_value) options.seed = std::strtoull(argv[++i], nullptr, 0);
    else if (word == "--example" && has_value) options.examples.emplace_back(argv[++i]);
    else if (word == "--table" && has_value) options.table = argv[++i];
    else {
      std::fprintf(stderr, "calibrate [--count N] [--seed S] [--example NAME]... [--table FILE] [--verbose]\n");
      return 2;
    }
  }
  const hone::Status done = run(options);
  if (done.ok()) return 0;
  std::fprintf(stderr, "calibrate: %s\n", done.error().text().c_str());
  return hone::exit_code(done.error());
}
