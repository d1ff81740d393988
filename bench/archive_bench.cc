// `hone runs` and `hone show` with 100,000 candidates in the archive: the time from opening it to the values that
// are printed, the median of 7. Once all in one run, once spread over 1,000 runs. Also what a commit costs.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "base/files.h"
#include "store/archive.h"

namespace {

using namespace hone;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median_ms(int times, const std::function<Status()>& body) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (const Status done = body(); !done.ok()) {
      std::fprintf(stderr, "archive_bench: %s\n", done.error().text().c_str());
      std::exit(1);
    }
    all.push_back(ms_since(start));
  }
  std::nth_element(all.begin(), all.begin() + times / 2, all.end());
  return all[static_cast<std::size_t>(times / 2)];
}

void print(const char* figure, double ms, double target) {
  std::printf("%s | %.1f ms | at most %.0f ms | %s\n", figure, ms, target, ms < target ? "yes" : "no");
}

judge::Verdict verdict_of(std::mt19937& random) {
  judge::Verdict v;
  v.total_ms = 400;
  v.identity = std::to_string(random());
  v.gates = {{"static", judge::GateResult::State::pass, "", 90}, {"correctness", judge::GateResult::State::pass, "", 40}};
  if (random() % 4 == 0) {
    const char* reason = random() % 2 ? "compile_error" : "wrong_value";
    v.failure = candidate::Failure{"correctness", reason, "y[3] is off", {{"index", 3}, {"case", "N=4096"}}};
    return v;
  }
  v.correct = true;
  v.cls = judge::Class::B;
  judge::Speed s;
  s.case_label = "N=4096";
  s.ratio = std::exp(std::normal_distribution<>(0, 0.5)(random));
  s.low = s.ratio * 0.98;
  s.high = s.ratio * 1.02;
  s.answer = s.low > 1 ? judge::Answer::faster : judge::Answer::slower;
  std::vector<double> slots(128);
  for (double& slot : slots) slot = 1e6 * (1 + 1e-3 * static_cast<double>(random() % 1000));
  s.samples = {{"slots", slots}};
  v.speeds = {s};
  v.answer = s.answer;
  v.geomean = s.ratio;
  v.geomean_low = s.low;
  v.geomean_high = s.high;
  return v;
}

Status fill(store::Archive& archive, int runs, int each) {
  std::mt19937 random(1);
  for (int r = 0; r < runs; ++r) {
    store::RunStart start;
    start.task_name = "task" + std::to_string(r % 10);
    start.task_text = "text";
    HONE_TRY(const std::string run, archive.begin_run(start));
    for (int done = 0; done < each;) {
      const int part = std::min(1000, each - done);
      const Status kept = archive.transaction([&]() -> Status {
        for (int i = 0; i < part; ++i) {
          store::NewCandidate c;
          c.source = "source " + std::to_string(r);
          c.assignment = {{"TILE", std::to_string(done + i)}};
          c.provenance.proposer = i % 3 ? "descent" : "random";
          c.source_identity = std::to_string(r) + "." + std::to_string(done + i);
          HONE_TRY(const std::int64_t number, archive.add_candidate(run, c));
          HONE_TRY(const std::int64_t id, archive.add_verdict(run, number, verdict_of(random)));
          HONE_TRY(const std::int64_t sequence, archive.append_journal(run, {{"evaluation", id}}));
          (void)sequence;
        }
        return {};
      });
      if (!kept.ok()) return kept;
      done += part;
    }
    HONE_CHECK(archive.set_status(run, store::RunStatus::done));
  }
  return {};
}

Status list_runs(const fs::path& file) {
  HONE_TRY(const store::Archive archive, store::Archive::open_reader(file));
  HONE_TRY(const auto lines, archive.runs());
  return lines.empty() ? Status(bug_error("no runs")) : Status();
}

Status show(const fs::path& file, const char* name) {
  HONE_TRY(const store::Archive archive, store::Archive::open_reader(file));
  HONE_TRY(const store::Target target, archive.find(name));
  if (!target.candidate) {
    HONE_TRY(const auto summary, archive.summary(target.run));
    return summary.tried > 0 ? Status() : Status(bug_error("no candidates"));
  }
  HONE_TRY(const auto candidate, archive.candidate(target.run, *target.candidate));
  HONE_TRY(const auto rows, archive.evaluations(target.run, candidate.number));
  HONE_TRY(const auto verdict, archive.verdict(rows.front().id));
  return verdict.speeds.empty() ? Status(bug_error("no timing")) : Status();
}

int measure(const fs::path& file, int runs, int each, const char* shape) {
  {
    auto archive = store::Archive::open_writer(file);
    if (!archive.ok() || !fill(*archive, runs, each).ok()) {
      std::fprintf(stderr, "archive_bench: cannot fill %s\n", file.c_str());
      return 1;
    }
    if (runs == 1) {
      std::mt19937 random(2);
      const std::string run = *archive->find_run("latest");
      print("archive: one verdict committed and synced",
            median_ms(31, [&]() -> Status {
              const auto id = archive->add_verdict(run, 1, verdict_of(random));
              return id.ok() ? Status() : Status(id.error());
            }), 50);
    }
  }
  const std::string label = std::string("100,000 candidates in ") + shape + ": ";
  print((label + "hone runs").c_str(), median_ms(7, [&] { return list_runs(file); }), 150);
  print((label + "hone show latest").c_str(), median_ms(7, [&] { return show(file, "latest"); }), 150);
  print((label + "hone show latest/best").c_str(), median_ms(7, [&] { return show(file, "latest/best"); }), 150);
  return 0;
}

}  // namespace

int main() {
  auto folder = hone::TemporaryFolder::make("hone-archive-bench");
  if (!folder.ok()) {
    std::fprintf(stderr, "archive_bench: %s\n", folder.error().text().c_str());
    return 1;
  }
  const int one = measure(folder->path() / "one.db", 1, 100000, "one run");
  return one != 0 ? one : measure(folder->path() / "many.db", 1000, 100, "1,000 runs");
}
