// Mutants are counted and read by hand on a small source; whole audits run on the same kind of task with the real
// lane, jails and oracle.
#include "audit/audit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/files.h"
#include "task/task_file.h"

namespace hone::audit {
namespace {

constexpr const char* kReference = R"(// hone:function rows
#include <cmath>
extern "C" void rows(const float* x, const float* w, HONE_OUT* y, int N, int D) {
  for (int i = 0; i < N; ++i) {
    HONE_REAL sum = 0;
    for (int j = 0; j < D; ++j) {
      sum += HONE_MUL(x[i * D + j], w[j]);
    }
    y[i] = sum > 0 ? sum * HONE_REAL(0.5) + HONE_REAL(1.25) : std::exp(sum - HONE_REAL(1));
  }
}
)";

std::vector<Mutant> mutants(std::size_t limit = 1000) {
  auto out = mutants_of(kReference, "reference.cpp", limit);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return std::move(*out);
}
bool has(const std::vector<Mutant>& all, const std::string& op, const std::string& line) {
  for (const Mutant& m : all)
    if (m.op == op && m.source.find(line) != std::string::npos) return true;
  return false;
}

TEST(Mutate, MakesEachKindOfMistake) {
  const auto all = mutants();
  EXPECT_TRUE(has(all, "off_by_one", "j < (D) - 1;"));
  EXPECT_TRUE(has(all, "off_by_one", "int j = 0 + 1;"));
  EXPECT_TRUE(has(all, "less_equal", "j <= D;"));
  EXPECT_TRUE(has(all, "missing_tail", "i < ((N) / 8 * 8);"));
  EXPECT_TRUE(has(all, "swapped_operator", "sum -= HONE_MUL"));
  EXPECT_TRUE(has(all, "swapped_operator", "sum + HONE_REAL(0.5) + HONE_REAL(1.25)"));
  EXPECT_TRUE(has(all, "dropped_statement", "      ;\n"));
  EXPECT_TRUE(has(all, "dropped_term", "sum * HONE_REAL(0.5)  : std"));
  EXPECT_TRUE(has(all, "wrong_index", "w[i]"));
  EXPECT_TRUE(has(all, "constant_changed", "(1.25 * 1.01f)"));
  EXPECT_TRUE(has(all, "lower_precision", "HONE_MUL(hone_mutant_bf16(x[i * D + j]), w[j])"));
  EXPECT_TRUE(has(all, "unstable_formula", "std::exp(sum) / std::exp(HONE_REAL(1))"));
  EXPECT_TRUE(has(all, "comparison", "sum < 0 ?"));
}

TEST(Mutate, EachMutantDiffersFromTheSourceAndFromTheOthers) {
  std::set<std::string> seen = {kReference};
  for (const Mutant& m : mutants()) {
    EXPECT_TRUE(seen.insert(m.source).second) << m.op << ": " << m.what;
    EXPECT_EQ(m.diff[0], '-');
    EXPECT_NE(m.diff.find("\n+"), std::string::npos);
    EXPECT_GT(m.line, 2);
  }
}

TEST(Mutate, ALimitSpreadsOverTheOperators) {
  const auto few = mutants(11);
  EXPECT_EQ(few.size(), 11u);
  std::set<std::string> operators;
  for (const Mutant& m : few) operators.insert(m.op);
  EXPECT_EQ(operators.size(), 11u);  // all but dropped_reduction, which has nothing to drop here
  EXPECT_GE(mutation_operators().size(), 8u);
}

TEST(Mutate, LeavesTypesPlansAndIndicesAlone) {
  for (const Mutant& m : mutants()) {
    EXPECT_NE(m.source.find("extern \"C\" void rows(const float* x, const float* w, HONE_OUT* y, int N, int D)"),
              std::string::npos)
        << m.what;
    EXPECT_NE(m.source.find("// hone:function rows\n"), std::string::npos);
  }
}

TEST(Mutate, ASourceWithoutAFunctionIsAnError) { EXPECT_FALSE(mutants_of("int x;", "x.cpp").ok()); }

/// A session on a task in a folder of its own.
struct Bench {
  std::unique_ptr<TemporaryFolder> folder;
  std::unique_ptr<lane::Lane> lane;
  std::unique_ptr<runner::Session> session;

  static Result<Bench> make(const std::string& task_text, const std::string& reference) {
    Bench out;
    HONE_TRY(TemporaryFolder temporary, TemporaryFolder::make("hone-audit-test-"));
    out.folder = std::make_unique<TemporaryFolder>(std::move(temporary));
    HONE_CHECK(write_file(out.folder->path() / "task.toml", task_text));
    HONE_CHECK(write_file(out.folder->path() / "reference.cpp", reference));
    HONE_TRY(const task::Task task, task::read_task(out.folder->path()));
    lane::CpuLaneOptions options;
    options.cache = (out.folder->path() / "cache").string();
    HONE_TRY(out.lane, lane::make_cpu_lane(options));
    runner::SessionOptions session_options;
    session_options.lane = out.lane.get();
    HONE_TRY(out.session, runner::Session::open(task, session_options));
    return out;
  }
};

std::string task_text(const std::string& edges) {
  return R"([task]
name = "rows"
lanes = ["cpu"]
precision = "f32"
[dims]
N = "rows"
D = "columns"
[[input]]
name = "x"
dtype = "f32"
shape = ["N", "D"]
[[input]]
name = "w"
dtype = "f32"
shape = ["D"]
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "reference.cpp" }
[[case]]
N = 64
D = 64
)" + edges;
}

TEST(Audit, AThoroughTaskKillsItsMutants) {
  auto bench = Bench::make(task_text("[[case]]\nN = 13\nD = 7\ntime = false\n"), kReference);
  ASSERT_TRUE(bench.ok()) << bench.error().text();
  AuditOptions options;
  options.seed = 5;
  options.most_mutants = 24;
  options.verify_survivors = false;
  std::set<std::string> told;
  const judge::Watch watch(0, nullptr, [&](const std::string& doing, double) { told.insert(doing); });
  options.watch = &watch;
  const auto report = audit(*bench->session, options);
  ASSERT_TRUE(report.ok()) << report.error().text();
  for (int i = 1; i <= 24; ++i) EXPECT_EQ(told.count(fmt::format("mutant {} of 24", i)), 1u);
  EXPECT_TRUE(report->admission.admitted);
  EXPECT_TRUE(is_strong(*report)) << report->score;
  EXPECT_EQ(report->killed + report->survived + report->equivalent + report->not_built, 24);
  EXPECT_EQ(report->mutants.size(), 24u);
}

TEST(Audit, CancelledIsAnError) {
  auto bench = Bench::make(task_text(""), kReference);
  ASSERT_TRUE(bench.ok()) << bench.error().text();
  const std::atomic<bool> yes{true};
  const judge::Watch watch(0, &yes);
  AuditOptions options;
  options.watch = &watch;
  const auto report = audit(*bench->session, options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::cancelled);
}

TEST(Audit, ATaskWithoutTailsLetsTheMissingTailSurvive) {
  // Extents are multiples of 8 in every case, so the rounded bound is the bound.
  auto bench = Bench::make(task_text(""), kReference);
  ASSERT_TRUE(bench.ok()) << bench.error().text();
  AuditOptions options;
  options.seed = 5;
  options.verify_survivors = false;
  const auto report = audit(*bench->session, options);
  ASSERT_TRUE(report.ok()) << report.error().text();
  bool found = false;
  for (const MutantReport& m : report->mutants) {
    if (m.mutant.op != "missing_tail") continue;
    found = true;
    EXPECT_EQ(m.state, MutantReport::State::survived) << m.mutant.what;
    EXPECT_NE(m.why.find("an extent that 8 does not divide"), std::string::npos) << m.why;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace hone::audit
