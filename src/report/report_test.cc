// Golden texts and documents from fixed values: tests/golden/report/*. HONE_UPDATE_GOLDEN=1 writes them anew; then
// read the difference before you commit it. Every document also holds to its schema in docs/schema/.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <limits>

#include "../../tests/json_schema.h"
#include "base/files.h"
#include "report/audit.h"
#include "report/evidence.h"
#include "report/health.h"
#include "report/run.h"
#include "report/verdict.h"

namespace hone::report {
namespace {

const fs::path kRoot = HONE_SOURCE_DIR;

void expect_golden(const std::string& name, const std::string& actual) {
  const fs::path file = kRoot / "tests/golden/report" / name;
  if (const char* update = std::getenv("HONE_UPDATE_GOLDEN"); update && *update) {
    ASSERT_TRUE(write_file(file, actual).ok());
    return;
  }
  const auto expected = read_file(file);
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  EXPECT_EQ(actual, *expected) << "tests/golden/report/" << name;
}

void expect_document(const std::string& name, const std::string& schema, const Json& document) {
  EXPECT_EQ(testing::JsonSchema(kRoot / "docs/schema").check(document, schema), "") << name;
  expect_golden(name + ".json", document.dump(1) + "\n");
}

judge::Speed speed_of(const std::string& label, double ratio, judge::Answer answer) {
  judge::Speed s;
  s.case_label = label;
  s.answer = answer;
  s.ratio = ratio;
  s.low = ratio * 0.98;
  s.high = ratio * 1.02;
  s.candidate_ns = 1.2e6;
  s.baseline_ns = 1.2e6 * ratio;
  s.pairs = 16;
  s.rounds = 128;
  s.cache = "cold";
  s.inputs = "fresh";
  return s;
}

judge::Verdict good_verdict() {
  judge::Verdict v;
  v.correct = true;
  v.cls = judge::Class::B;
  v.depth = judge::Depth::verify;
  v.gates = {{"static", judge::GateResult::State::pass, "", 90},
             {"correctness", judge::GateResult::State::pass, "", 40},
             {"memory", judge::GateResult::State::skipped, "clang is not installed", 0},
             {"performance", judge::GateResult::State::pass, "", 1200}};
  v.speeds = {speed_of("N=4096 D=4096", 2.5, judge::Answer::faster), speed_of("N=1 D=1", 1.0, judge::Answer::invalid)};
  v.speeds[1].reason = "the clocks disagree";
  v.answer = judge::Answer::faster;
  v.geomean = 2.5;
  v.geomean_low = 2.45;
  v.geomean_high = 2.55;
  v.identity = "0123456789abcdef0123456789abcdef";
  v.source_hash = "aa";
  v.machine_code_hash = "bb";
  v.task_identity = "cc";
  v.device = "Test CPU, 2 cores";
  v.assignment = {{"TILE", "8"}, {"OPT", "-O3"}};
  v.seeds = {0x1234567890abcdefull};
  v.errors = {{"y", {{"nominal", {{"share", 0.25}}}, {"scaled_up", {{"share", 0.5}}}}}};
  v.sandbox = {"uid", "bubblewrap", "seccomp"};
  v.total_ms = 2100;
  v.compile_ms = 90;
  v.timing_ms = 1200;
  return v;
}

judge::Verdict wrong_verdict() {
  judge::Verdict v;
  v.gates = {{"static", judge::GateResult::State::pass, "", 90}, {"correctness", judge::GateResult::State::fail, "", 12}};
  v.failure = candidate::Failure{"correctness", "wrong_value", "y[37] is 1.5 where the truth is 1.25",
                                 {{"output", "y"}, {"index", 37}, {"value", 1.5}, {"truth", 1.25}, {"reference", 1.2500001},
                                  {"error_candidate", 2097152.0}, {"error_reference", 0.8388608}, {"distribution", "heavy_tailed"},
                                  {"seed", "0x1234567890abcdef"}, {"case", "N=3 D=127"}, {"draws", 16}}};
  v.sandbox = {"uid", "bubblewrap"};
  v.total_ms = 102;
  v.compile_ms = 90;
  return v;
}

store::EvaluationRow row_of(std::int64_t id, double ratio, judge::Depth depth) {
  store::EvaluationRow row;
  row.id = id;
  row.candidate = id;
  row.depth = depth;
  row.correct = true;
  row.cls = judge::Class::B;
  row.answer = judge::Answer::faster;
  row.ratio = ratio;
  row.low = ratio * 0.98;
  row.high = ratio * 1.02;
  row.candidate_ns = 1e6;
  row.baseline_ns = 1e6 * ratio;
  row.identity = "0123456789abcdef";
  row.total_ms = 400;
  row.at_s = 1796043600 + 10 * id;
  return row;
}

store::CandidateRecord candidate_record() {
  store::CandidateRecord c;
  c.run = "2026-11-30-softmax-3f2a";
  c.number = 3;
  c.source = "// hone:function softmax\nvoid softmax();\n";
  c.source_hash = "aabbcc";
  c.source_identity = "ddeeff";
  c.path = "softmax.cpp";
  c.assignment = {{"TILE", "8"}, {"OPT", "-O3"}};
  c.provenance = {"descent", "001122", "TILE 4 to 8"};
  c.at_s = 1796043620;
  return c;
}

RunReport run_of() {
  RunReport r;
  store::RunRecord& run = r.summary.run;
  run.id = "2026-11-30-softmax-3f2a";
  run.task_name = "softmax";
  run.task_folder = "examples/softmax";
  run.task_identity = "cc";
  run.options = {{"budget", "60s"}};
  run.seed = 7;
  run.device = {{"model", "Test CPU"}};
  run.versions = {{"hone", "0.1.0"}};
  run.command = "hone optimize examples/softmax --budget 60s";
  run.started_s = 1796043600;
  run.status = store::RunStatus::done;
  run.status_s = 1796043660;
  r.summary.tried = 120;
  r.summary.failed = 12;
  r.summary.by_proposer = {{"descent", 100, 10, 40, 44.5}, {"random", 20, 2, 5, 9.25}};
  r.summary.by_failure = {{"correctness", "wrong_value", 7}, {"static", "compile_error", 5}};
  r.summary.best = row_of(3, 2.5, judge::Depth::verify);
  r.summary.best_other_class = row_of(9, 4.0, judge::Depth::screen);
  r.summary.best_other_class->cls = judge::Class::C;
  r.summary.best_history = {row_of(1, 1.1, judge::Depth::screen), row_of(2, 2.0, judge::Depth::screen), row_of(3, 2.5, judge::Depth::verify)};
  r.best = candidate_record();
  r.verdict = good_verdict();
  r.kernel = "hone-runs/2026-11-30-softmax-3f2a/best.cpp";
  r.evidence = "hone-runs/2026-11-30-softmax-3f2a/evidence";
  r.again = run.command;
  r.own = "hone init my_kernel.cpp && hone optimize my_kernel";
  return r;
}

class Report : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

TEST_F(Report, AVerifiedVerdict) {
  const VerdictReport report{"softmax", "softmax.cpp", good_verdict(), 2.0, "evidence/1"};
  EXPECT_TRUE(accepted(report));
  expect_golden("verdict_good.txt", to_text(report, {}));
  expect_document("verdict_good", "verdict", to_json(report));
}

TEST_F(Report, AFailingVerdictShowsTheElementBothErrorsTheDrawAndWhatToDo) {
  const VerdictReport report{"softmax", "wrong.cpp", wrong_verdict(), std::nullopt, ""};
  EXPECT_FALSE(accepted(report));
  const std::string text = to_text(report, {});
  for (const char* fact : {"correctness", "wrong_value", "37", "1.5", "1.25", "2097152", "0.8388608", "heavy_tailed",
                           "0x1234567890abcdef", "next: "})
    EXPECT_NE(text.find(fact), std::string::npos) << fact << " in\n" << text;
  expect_golden("verdict_wrong.txt", text);
  expect_document("verdict_wrong", "verdict", to_json(report));
}

TEST_F(Report, AFailureIsToldOnceAndWithoutRawJson) {
  judge::Verdict v = wrong_verdict();
  v.gates[1].note = "wrong_value: " + v.failure->message;
  v.failure->evidence["dims"] = {{"N", 3}, {"D", 127}};
  v.failure->evidence["pooled"] = {{"case", "N=3 D=127"}, {"class", "wrong"}, {"draws", 16}, {"share", 2.89e6}};
  v.errors = {{"y", {{"nominal", {{"share", 2.8912e6}}}}}};
  const std::string text = to_text(VerdictReport{"softmax", "wrong.cpp", v, std::nullopt, ""}, {});
  const std::size_t first = text.find(v.failure->message);
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(v.failure->message, first + 1), std::string::npos) << text;
  EXPECT_EQ(text.find('{'), std::string::npos) << text;
  EXPECT_EQ(text.find("left out]"), std::string::npos) << text;
  EXPECT_NE(text.find("dims               N=3 D=127"), std::string::npos) << text;
  EXPECT_NE(text.find("y: at most 2890000 times the budget, under nominal"), std::string::npos) << text;
  EXPECT_TRUE(judge::to_json(v)["failure"]["evidence"].contains("pooled")) << "programs still get it";
}

TEST_F(Report, ASharePastTenBudgetsIsToldInBudgets) {
  const auto told = [](double share) {
    judge::Verdict v = good_verdict();
    v.errors = {{"y", {{"nominal", {{"share", number(share)}}}}}};
    const std::string text = to_text(VerdictReport{"t", "c", v, std::nullopt, ""}, {});
    const std::size_t from = text.find("y: at most ") + 11;
    return text.substr(from, text.find(", under") - from);
  };
  EXPECT_EQ(told(0.1234), "12.3 % of the budget");
  EXPECT_EQ(told(9.99), "999 % of the budget");
  EXPECT_EQ(told(10), "10 times the budget");
  EXPECT_EQ(told(10.4), "10 times the budget");
  EXPECT_EQ(told(1234.5), "1230 times the budget");
  EXPECT_EQ(told(3e12), "more than a billion times the budget");
  EXPECT_EQ(told(std::numeric_limits<double>::infinity()), "more than a billion times the budget");
}

TEST_F(Report, FasterThanAsksTheLowerBoundAndATiming) {
  VerdictReport report{"t", "c", good_verdict(), 2.45, ""};
  EXPECT_FALSE(accepted(report)) << "2.45 is the bound itself";
  report.faster_than = 2.44;
  EXPECT_TRUE(accepted(report));
  report.verdict.answer = judge::Answer::invalid;
  EXPECT_FALSE(accepted(report));
  report.verdict = good_verdict();
  report.verdict.speeds.clear();
  EXPECT_FALSE(accepted(report));
  report.faster_than.reset();
  EXPECT_TRUE(accepted(report));
}

TEST_F(Report, AListOfComparisons) {
  CompareReport report;
  report.task = "softmax";
  Comparison good{"a.cpp", "reference", {speed_of("N=4", 1.5, judge::Answer::faster)}, judge::Answer::faster, 1.5, 1.47, 1.53, {}};
  Comparison bad{"b.cpp", "reference", {}, judge::Answer::undecided, 1, 1, 1, wrong_verdict().failure};
  report.comparisons = {good, bad};
  report.sandbox = {"uid", "bubblewrap"};
  report.device = "Test CPU";
  report.total_ms = 4000;
  EXPECT_FALSE(all_measured(report));
  expect_golden("compare.txt", to_text(report, {}));
  expect_document("compare", "compare", to_json(report));
  report.comparisons = {good};
  EXPECT_TRUE(all_measured(report));
}

TEST_F(Report, ARun) {
  expect_golden("run.txt", to_text(run_of(), {}));
  expect_document("run", "run", to_json(run_of()));
}

TEST_F(Report, ARunWithoutAGainSaysSoAndHowToGoOn) {
  RunReport report = run_of();
  report.summary.best.reset();
  report.summary.best_other_class.reset();
  report.summary.best_history.clear();
  store::EvaluationRow undecided = row_of(7, 1.5, judge::Depth::verify);
  undecided.correct = false;
  undecided.cls = judge::Class::undecided;
  undecided.gate = "correctness";
  undecided.reason = "out_of_time";
  report.summary.undecided = {undecided};
  report.best.reset();
  report.verdict.reset();
  report.summary.run.status = store::RunStatus::interrupted;
  report.resume = "hone optimize examples/softmax --resume 2026-11-30-softmax-3f2a";
  report.kernel.clear();
  expect_golden("run_no_gain.txt", to_text(report, {}));
  expect_document("run_no_gain", "run", to_json(report));
}

TEST_F(Report, TheTableOfRuns) {
  store::RunLine first{"2026-11-30-softmax-3f2a", "softmax", 1796043600, 1796043660, store::RunStatus::done, 120, 12,
                       row_of(3, 2.5, judge::Depth::verify)};
  store::RunLine second{"2026-11-29-matmul-00ff", "matmul", 1795957200, 1795957260, store::RunStatus::interrupted, 4, 4, {}};
  store::RunLine third{"2026-11-29-scan-0a0b", "scan", 1795957100, 1795957160, store::RunStatus::stopped, 9, 0,
                       row_of(2, 1.2, judge::Depth::screen)};
  expect_golden("runs.txt", runs_text({first, second, third}, {}));
  expect_document("runs", "runs", runs_json({first, second, third}));
  EXPECT_NE(runs_text({}, {}).find("hone optimize"), std::string::npos);
}

TEST_F(Report, ACandidatesPage) {
  store::EvaluationRow failed = row_of(2, 1, judge::Depth::screen);
  failed.correct = false;
  failed.cls = judge::Class::wrong;
  failed.gate = "memory";
  failed.reason = "race";
  const CandidateReport report{candidate_record(), "softmax", {row_of(1, 2.4, judge::Depth::screen), failed}, good_verdict()};
  expect_golden("candidate.txt", to_text(report, {}, true));
  expect_document("candidate", "candidate", to_json(report));
}

TEST_F(Report, ReportsComeFromTheArchive) {
  auto archive = store::Archive::in_memory();
  ASSERT_TRUE(archive.ok());
  store::RunStart start;
  start.task_name = "softmax";
  start.task_folder = "examples/softmax";
  start.command = "hone optimize examples/softmax";
  const auto run = archive->begin_run(start);
  store::NewCandidate c;
  c.source = "void f();\n";
  ASSERT_TRUE(archive->add_candidate(*run, c).ok());
  EXPECT_NE(to_text(*candidate_report(*archive, *run, 1), {}).find("not judged yet"), std::string::npos);
  ASSERT_TRUE(archive->add_verdict(*run, 1, good_verdict()).ok());
  ASSERT_TRUE(archive->set_status(*run, store::RunStatus::stopped, "Ctrl-C").ok());
  const auto report = run_report(*archive, *run);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_EQ(report->resume, "hone optimize examples/softmax --resume " + *run);
  EXPECT_EQ(report->again, "hone optimize examples/softmax");
  ASSERT_TRUE(report->best && report->verdict);
  testing::JsonSchema schema(kRoot / "docs/schema");
  EXPECT_EQ(schema.check(to_json(*report), "run"), "");
  EXPECT_EQ(schema.check(runs_json(*archive->runs()), "runs"), "");
  EXPECT_EQ(schema.check(to_json(*candidate_report(*archive, *run, 1)), "candidate"), "");
}

TEST_F(Report, AnExportSaysWhetherItsKernelWasVerified) {
  ExportReport report{"2026-11-30-softmax-3f2a", "my evidence", "my evidence/kernel.cpp", row_of(3, 2.5, judge::Depth::screen)};
  EXPECT_NE(to_text(report, {}).find("screened only"), std::string::npos);
  EXPECT_EQ(to_json(report)["depth"], "screen");
  expect_golden("export_screened.txt", to_text(report, {}));
  expect_document("export_screened", "export", to_json(report));
  report.best.depth = judge::Depth::verify;
  EXPECT_EQ(to_text(report, {}).find("screened only"), std::string::npos);
  EXPECT_EQ(to_json(report)["depth"], "verify");
}

/// A verdict whose one timing says `answer`; an invalid one has the placeholder 1 for its ratio, as when nothing was measured.
judge::Verdict timed(double ratio, judge::Answer answer) {
  judge::Verdict v = good_verdict();
  v.speeds = {speed_of("N=4", ratio, answer)};
  v.answer = answer;
  v.geomean = ratio;
  v.geomean_low = answer == judge::Answer::invalid ? ratio : ratio * 0.98;
  v.geomean_high = answer == judge::Answer::invalid ? ratio : ratio * 1.02;
  return v;
}

TEST_F(Report, AReplayWhoseTimingIsInvalidCannotBeCompared) {
  judge::Verdict now = timed(1, judge::Answer::invalid);
  now.speeds[0].reason = "nothing was measured";
  const ReplayReport report = replay_report("evidence", timed(2.344, judge::Answer::faster), now);
  EXPECT_EQ(report.answer, Replayed::cannot_be_compared);
  const std::string text = to_text(report, {});
  EXPECT_TRUE(text.starts_with("cannot be compared: invalid, ")) << text;
  EXPECT_NE(text.find("nothing was measured"), std::string::npos) << text;
  EXPECT_EQ(text.find("1.000x"), std::string::npos) << "a placeholder is no interval\n" << text;
  EXPECT_EQ(to_json(report).dump().find("1.000x"), std::string::npos);
  EXPECT_TRUE(to_json(report)["now"]["speedup"].is_null());
  expect_golden("replay_invalid.txt", text);
  expect_document("replay_invalid", "replay", to_json(report));
  // Nor when it was the old timing that said nothing.
  EXPECT_EQ(replay_report("e", now, timed(2.344, judge::Answer::faster)).answer, Replayed::cannot_be_compared);
}

TEST_F(Report, AReplayWhoseTimingIsUndecidedCannotBeCompared) {
  const ReplayReport report = replay_report("e", timed(2.344, judge::Answer::faster), timed(1.3, judge::Answer::undecided));
  EXPECT_EQ(report.answer, Replayed::cannot_be_compared);
  EXPECT_TRUE(to_text(report, {}).starts_with("cannot be compared: undecided, ")) << to_text(report, {});
  judge::Verdict late = timed(1, judge::Answer::undecided);
  late.speeds.clear();
  late.correct = false;
  late.cls = judge::Class::undecided;
  late.failure = candidate::Failure{"performance", "out_of_time", "the time limit of 5 s is over", Json::object()};
  const ReplayReport cut = replay_report("e", timed(2.344, judge::Answer::faster), late);
  EXPECT_EQ(to_text(cut, {}), "cannot be compared: undecided, the time limit of 5 s is over\n");
}

TEST_F(Report, AReplayComparesWhatCanBeCompared) {
  const auto answer = [](const judge::Verdict& then, const judge::Verdict& now) { return replay_report("e", then, now).answer; };
  const judge::Verdict then = timed(2.0, judge::Answer::faster);
  EXPECT_EQ(answer(then, timed(2.03, judge::Answer::faster)), Replayed::reproduced) << "intervals overlap";
  EXPECT_EQ(answer(then, timed(1.85, judge::Answer::faster)), Replayed::reproduced) << "less than a tenth";
  EXPECT_EQ(answer(then, timed(1.5, judge::Answer::faster)), Replayed::not_reproduced);
  EXPECT_EQ(answer(then, timed(1.0, judge::Answer::same)), Replayed::not_reproduced);
  judge::Verdict elsewhere = timed(2.0, judge::Answer::faster);
  elsewhere.device = "another";
  EXPECT_EQ(answer(then, elsewhere), Replayed::cannot_be_compared);
  // A wrong class outweighs a time that cannot be compared, and is told first.
  elsewhere.cls = judge::Class::A;
  EXPECT_EQ(to_text(replay_report("e", then, elsewhere), {}),
            "not reproduced: class B then, A now\n  times are from another device: Test CPU, 2 cores\n");
  judge::Verdict untimed = then;
  untimed.speeds.clear();
  EXPECT_EQ(to_text(replay_report("e", then, untimed), {}), "reproduced\n") << "--no-timing asks for correctness alone";
  EXPECT_EQ(answer(then, wrong_verdict()), Replayed::not_reproduced);
}

TEST_F(Report, TheDoctor) {
  DoctorReport report;
  report.checks = {{"g++", Check::State::ok, "12.2.0", ""},
                   {"cgroup", Check::State::limited, "none was delegated", "Run under `systemd-run --user --scope -p Delegate=yes`"},
                   {"clang++", Check::State::missing, "", "apt install clang"}};
  report.lanes = {"cpu"};
  report.sandbox = {"uid", "bubblewrap"};
  report.resolution = {{"20 us", 50, 0.94, 0.025, 0.98, 0.004}};
  report.device = {{"model", "Test CPU"}};
  expect_golden("doctor.txt", to_text(report, {}));
  expect_document("doctor", "doctor", to_json(report));
  report.lanes.clear();
  EXPECT_FALSE(healthy(report));
}

audit::AuditReport audit_of() {
  using State = audit::MutantReport::State;
  audit::AuditReport report;
  report.task_name = "softmax";
  report.admission.admitted = false;
  report.admission.findings = {{"null: zeros", true, true, "rejected", ""},
                               {"sensitive: x", false, true, "no output moved", "Use x in the reference, or remove it"},
                               {"finite", false, false, "3 % of y is infinite", "Draw smaller values"}};
  const auto add = [&](const char* op, int line, State state, const char* gate, const char* reason, const char* why) {
    audit::MutantReport m;
    m.mutant.op = op;
    m.mutant.line = line;
    m.mutant.what = "i < N becomes i < N / 8 * 8";
    m.mutant.diff = "-  for (int i = 0; i < N; ++i)\n+  for (int i = 0; i < N / 8 * 8; ++i)\n";
    m.state = state;
    m.gate = gate;
    m.reason = reason;
    m.why = why;
    report.mutants.push_back(m);
  };
  add("off_by_one", 3, State::killed, "correctness", "wrong_value", "");
  add("missing_tail", 4, State::survived, "", "", "try an extent that 8 does not divide");
  add("swapped", 5, State::equivalent, "", "", "the machine code is the reference's own");
  add("dropped_term", 6, State::killed, "correctness", "wrong_value", "a verify kills it (wrong_value): case N=3");
  report.mutants.back().by_verify_only = true;
  report.killed = 2;
  report.survived = report.equivalent = 1;
  report.score = 2.0 / 3;
  report.seed = 9;
  report.ms = 320;
  return report;
}

TEST_F(Report, AnAudit) {
  expect_golden("audit.txt", to_text(audit_of(), {}));
  expect_golden("audit_explain.txt", to_text(audit_of(), {}, true));
  expect_document("audit", "audit", to_json(audit_of()));
}

TEST_F(Report, AnAuditIsStrongWhenAdmittedAndNearlyAllMutantsDie) {
  audit::AuditReport report = audit_of();
  EXPECT_NE(to_text(report, {}).find("NOT admitted"), std::string::npos);
  report.admission.admitted = true;
  EXPECT_NE(to_text(report, {}).find("WEAK"), std::string::npos);
  report.score = 0.95;
  EXPECT_NE(to_text(report, {}).find("strong:"), std::string::npos);
  EXPECT_TRUE(to_json(report)["strong"]);
  report.mutants[1].mutant.what = "a\x1b[2Jb";
  EXPECT_EQ(to_text(report, {}).find('\x1b'), std::string::npos) << "text of a task cannot steer the terminal";
  EXPECT_NE(to_text(report, {true, 100}).find("\x1b["), std::string::npos) << "but colour is ours";
}

TEST_F(Report, AnError) {
  const Error error = usage_error("no task at x", "Name a folder with a task.toml").with("path", "x\x1b[2J");
  const std::string text = error_text(error, {});
  EXPECT_EQ(text, "error: no task at x\ntry: Name a folder with a task.toml\n  path  x?[2J\n");
  expect_document("error", "error", error_json(error));
}

TEST_F(Report, NumbersThatJsonLacksHoldToTheSchemaToo) {
  VerdictReport report{"t", "c", good_verdict(), std::nullopt, ""};
  report.verdict.geomean_high = std::numeric_limits<double>::infinity();
  report.verdict.speeds[0].high = std::numeric_limits<double>::infinity();
  report.verdict.total_ms = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(testing::JsonSchema(kRoot / "docs/schema").check(to_json(report), "verdict"), "");
  EXPECT_NE(to_text(report, {}).find("[2.450x, inf]"), std::string::npos);
}

// The check itself must find what it is for.
TEST_F(Report, TheSchemaCheckFindsFaults) {
  testing::JsonSchema schema(kRoot / "docs/schema");
  const Json good = error_json(usage_error("m"));
  ASSERT_EQ(schema.check(good, "error"), "");
  Json missing = good, extra = good, word = good, type = good, nested = good;
  missing.erase("cure");
  extra["more"] = 1;
  word["code"] = "odd";
  type["exit"] = "2";
  nested["details"]["k"] = 5;
  for (const Json* bad : {&missing, &extra, &word, &type, &nested}) EXPECT_NE(schema.check(*bad, "error"), "") << bad->dump();
  Json run = to_json(run_of());
  run["best"]["class"] = "Z";
  EXPECT_NE(schema.check(run, "run"), "");
  run = to_json(run_of());
  run["by_failure"][1]["count"] = 1.5;
  EXPECT_NE(schema.check(run, "run"), "");
  EXPECT_NE(schema.check(good, "no_such_schema"), "");
}

}  // namespace
}  // namespace hone::report
