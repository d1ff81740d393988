// How many points descent needs on recorded spaces until it has one within 5 % of the optimum, against random.
// With arguments: descent_figures FILE… [--batch N] [--noise SIGMA] [--verbose].

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "propose/descent/descent.h"
#include "propose/recorded.h"
#include "propose/simple.h"
#include "stats/summary.h"

namespace hone::propose {
namespace {

constexpr int kSeeds = 10, kRandomSeeds = 100;

/// Evaluations, comparisons included, until a point within 5 % of the best was judged.
int evaluations(Proposer& proposer, const Recorded& recorded, const RecordedJudge& judge, int batch) {
  int count = 0;
  while (!proposer.done()) {
    const auto proposals = proposer.ask(batch);
    if (proposals.empty()) break;
    for (const Proposal& proposal : proposals) {
      ++count;
      const double ns = recorded.time_ns(proposal.assignment).value_or(0);
      if (ns > 0 && ns <= recorded.best_ns() / 0.95) return count;
    }
    for (const Proposal& proposal : proposals) proposer.tell(proposal.id, judge.judge(proposal));
  }
  return count + 1000000;
}

void figure(const std::string& what, const std::string& value, const std::string& target, bool reached) {
  fmt::print("{} | {} | {} | {}\n", what, value, target, reached ? "yes" : "no");
}

Status report(const std::string& path, int batch, double noise, bool verbose) {
  HONE_TRY(const Recorded recorded, Recorded::read(path));
  const std::string name = std::filesystem::path(path).stem();
  std::vector<double> ours, random;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const RecordedJudge judge(recorded, noise, static_cast<std::uint64_t>(seed));
    const auto descent = make_descent(recorded.candidate(), recorded.space(), {static_cast<std::uint64_t>(seed)});
    ours.push_back(evaluations(*descent, recorded, judge, batch));
  }
  for (int seed = 1; seed <= kRandomSeeds; ++seed) {
    const RecordedJudge judge(recorded, noise, static_cast<std::uint64_t>(seed));
    const auto proposer = make_random(recorded.candidate(), recorded.space(), {static_cast<std::uint64_t>(seed)});
    random.push_back(evaluations(*proposer, recorded, judge, batch));
  }
  const auto points = static_cast<double>(recorded.points());
  const auto good = static_cast<double>(recorded.within(0.95));
  std::vector<double> sorted = ours;
  std::sort(sorted.begin(), sorted.end());
  if (verbose) fmt::print(stderr, "{}: {}\n", name, fmt::join(sorted, " "));
  figure(fmt::format("{}: points within 5 % of the optimum", name),
         fmt::format("{:.0f} of {:.0f}, {:.2f} %", good, points, 100 * good / points), "AT MOST 0.5 %", good <= 0.005 * points);
  figure(fmt::format("{}: descent, points to reach them, 9 of 10 seeds", name),
         fmt::format("{:.0f}, {:.1f} %", sorted[8], 100 * sorted[8] / points), "AT MOST 10 %", sorted[8] <= 0.1 * points);
  const double ratio = stats::mean(random) / stats::mean(ours);
  figure(fmt::format("{}: random over descent, mean points", name),
         fmt::format("{:.0f} / {:.0f} = {:.1f} x", stats::mean(random), stats::mean(ours), ratio), "AT LEAST 3 x", ratio >= 3);
  return {};
}

}  // namespace
}  // namespace hone::propose

int main(int argc, char** argv) {
  std::vector<std::string> files;
  int batch = 4;
  double noise = 0;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--batch" && i + 1 < argc) batch = std::atoi(argv[++i]);
    else if (word == "--noise" && i + 1 < argc) noise = std::atof(argv[++i]);
    else if (word == "--verbose") verbose = true;
    else files.push_back(word);
  }
  if (files.empty())
    for (const auto& entry : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/tests/data/spaces"))
      if (entry.path().extension() == ".csv") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    if (const auto status = hone::propose::report(file, batch, noise, verbose); !status.ok()) {
      fmt::print(stderr, "{}\n", status.error().text());
      return hone::exit_code(status.error());
    }
  }
  return 0;
}
