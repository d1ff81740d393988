// Whole judgements on a small task, with the real lane, jails and oracle. What is right or wrong follows from the
// task (y = scale · x + x²  row by row) by construction of each candidate.
#include "judge/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "base/files.h"
#include "judge/admission.h"
#include "judge/performance.h"
#include "judge/reasons.h"
#include "judge/trial.h"
#include "lane/cpu/sanitize.h"
#include "task/task_file.h"

namespace hone::judge {
namespace {

constexpr const char* kTask = R"([task]
name = "poly"
about = "y = scale x + x^2, and how many x are above 0."
lanes = ["cpu"]
precision = "f32"
[dims]
N = "elements"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
values = { kind = "normal", mean = 0.5, std = 1.0 }
[[scalar]]
name = "scale"
dtype = "f32"
value = 3.0
values = { kind = "uniform", low = 1.0, high = 4.0 }
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[[output]]
name = "above"
dtype = "i32"
shape = []
[reference]
source = { cpu = "reference.cpp" }
[work]
min_flops = "2*N"
[limits]
threads = 2
call_s = 1
[[case]]
N = 5000
[[case]]
N = 1
time = false
[[case]]
N = 131
time = false
[[case]]
N = 0
time = false
[hidden]
draws = 2
N = [1, 3000]
)";
constexpr const char* kReference = R"(// hone:function poly
extern "C" void poly(const float* x, HONE_OUT* y, int* above, int N, float scale) {
  int count = 0;
  for (int i = 0; i < N; ++i) {
    y[i] = HONE_REAL(scale) * x[i] + HONE_MUL(x[i], x[i]);
    if (x[i] > 0) {
      count += 1;
    }
  }
  above[0] = count;
}
)";
const std::string kHead = "// hone:function poly\nextern \"C\" void poly(const float* x, float* y, int* above, int N, float scale) {\n";
const std::string kCount = "  int c = 0; for (int i = 0; i < N; ++i) c += x[i] > 0; above[0] = c;\n";
const std::string kGood = kHead + "  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n" + kCount + "}\n";

/// One session for all tests of this file.
class Court {
 public:
  static Court& get() {
    static Court* court = new Court;  // ends with the process, as its jails do
    return *court;
  }
  bool ready() const { return session != nullptr; }
  std::string problem;
  std::unique_ptr<TemporaryFolder> folder;
  std::unique_ptr<lane::Lane> lane;
  std::unique_ptr<runner::Session> session;
  std::unique_ptr<ScreenContext> context;

  Result<Entry> enter_source(const std::string& source) {
    HONE_TRY(const candidate::Candidate candidate, candidate::parse(source, "candidate.cpp"));
    HONE_TRY(const candidate::Assignment assignment, candidate::default_assignment(candidate, session->task()));
    return enter(*lane, session->task(), candidate, assignment);
  }

 private:
  Court() {
    const Status made = make();
    if (!made.ok()) {
      problem = made.error().text();
      session.reset();
    }
  }
  Status make() {
    HONE_TRY(TemporaryFolder temporary, TemporaryFolder::make("hone-judge-test-"));
    folder = std::make_unique<TemporaryFolder>(std::move(temporary));
    HONE_CHECK(write_file(folder->path() / "task.toml", kTask));
    HONE_CHECK(write_file(folder->path() / "reference.cpp", kReference));
    HONE_TRY(const task::Task task, task::read_task(folder->path()));
    lane::CpuLaneOptions lane_options;
    lane_options.cache = (folder->path() / "cache").string();
    HONE_TRY(lane, lane::make_cpu_lane(lane_options));
    runner::SessionOptions options;
    options.lane = lane.get();
    HONE_TRY(session, runner::Session::open(task, options));
    ScreenOptions screen;
    screen.seed = 1234;
    HONE_TRY(context, ScreenContext::prepare(*session, screen));
    return {};
  }
};

class Judge : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(court().ready()) << court().problem; }
  static Court& court() { return Court::get(); }

  Verdict screened(const std::string& source) {
    auto entry = court().enter_source(source);
    EXPECT_TRUE(entry.ok()) << entry.error().text();
    auto verdict = screen(*court().session, *entry, *court().context);
    EXPECT_TRUE(verdict.ok()) << verdict.error().text();
    return std::move(*verdict);
  }
  Verdict verified(const std::string& source, VerifyOptions options = {}) {
    options.memory = false;
    if (options.seed == 0) options.seed = 77;
    auto entry = court().enter_source(source);
    EXPECT_TRUE(entry.ok()) << entry.error().text();
    auto verdict = verify(*court().session, *entry, options);
    EXPECT_TRUE(verdict.ok()) << verdict.error().text();
    return std::move(*verdict);
  }
  void expect_failure(const Verdict& verdict, const char* gate, const char* reason) {
    ASSERT_TRUE(verdict.failure.has_value());
    EXPECT_FALSE(verdict.correct);
    EXPECT_EQ(verdict.failure->gate, gate) << verdict.failure->message;
    EXPECT_EQ(verdict.failure->reason, reason) << verdict.failure->message;
    EXPECT_NE(find_reason(verdict.failure->gate, verdict.failure->reason), nullptr);
    EXPECT_FALSE(verdict.failure->evidence.value("next", "").empty());
    EXPECT_EQ(verdict.gates.back().state, GateResult::State::fail);
  }
};

TEST_F(Judge, AnHonestVariantPassesBothDepths) {
  const Verdict s = screened(kGood);
  EXPECT_TRUE(s.correct) << (s.failure ? s.failure->message : "");
  EXPECT_EQ(s.cls, Class::B);  // another order of rounding, and a screen never says A
  EXPECT_EQ(s.depth, Depth::screen);
  EXPECT_EQ(s.gates.size(), 2u);
  const Verdict v = verified(kGood);
  EXPECT_TRUE(v.correct) << (v.failure ? v.failure->message : "");
  EXPECT_EQ(v.cls, Class::B);
  EXPECT_EQ(v.seeds, std::vector<std::uint64_t>{77});
  EXPECT_FALSE(v.identity.empty());
  EXPECT_FALSE(v.sandbox.empty());
  EXPECT_TRUE(v.errors.contains("y"));
  EXPECT_EQ(v.flops_note, "class X not assessed: the cpu lane cannot count executed operations (min_flops = 2*N)");
  EXPECT_GT(v.errors["y"].size(), 1u);  // more distributions than the declared one
}

TEST_F(Judge, TheSameRoundingIsClassA) {
  // Products and sum rounded one by one, as the reference is: no contraction.
  const Verdict v = verified("// hone:flags -ffp-contract=off\n" + kHead +
                             "  for (int i = 0; i < N; ++i) y[i] = scale * x[i] + x[i] * x[i];\n" + kCount + "}\n");
  EXPECT_TRUE(v.correct) << (v.failure ? v.failure->message : "");
  EXPECT_EQ(v.cls, Class::A);
}

TEST_F(Judge, AWrongValueIsShownWithItsTruth) {
  // Off by one per cent in one element of every call.
  const Verdict v = screened(kHead + "  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n"
                             "  if (N > 100) y[100] *= 1.01f;\n" + kCount + "}\n");
  expect_failure(v, "correctness", "wrong_value");
  const Json& e = v.failure->evidence;
  EXPECT_EQ(e["output"], "y");
  EXPECT_EQ(e["index"], 100);
  EXPECT_NEAR(as_double(e["value"]) / as_double(e["truth"]), 1.01, 1e-6);
  EXPECT_NEAR(as_double(e["reference"]) / as_double(e["truth"]), 1, 1e-6);
  EXPECT_GT(as_double(e["error_candidate"]), 100);
  EXPECT_LT(as_double(e["error_reference"]), 10);
  EXPECT_EQ(e["distribution"], "nominal");
  EXPECT_EQ(e["case"], "N=131");
  EXPECT_TRUE(e["seed"].get<std::string>().starts_with("0x"));
}

TEST_F(Judge, TheSameSeedGivesTheSameVerdict) {
  const std::string source = kHead + "  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n"
                             "  if (N > 100) y[100] *= 1.01f;\n" + kCount + "}\n";
  const Verdict a = verified(source), b = verified(source);
  expect_failure(a, "correctness", "wrong_value");
  EXPECT_EQ(a.failure->evidence, b.failure->evidence);
  VerifyOptions other;
  other.seed = 78;
  EXPECT_NE(verified(source, other).failure->evidence["seed"], a.failure->evidence["seed"]);
}

TEST_F(Judge, AMissingTailIsUnwritten) {
  const Verdict v = screened(kHead + "  for (int i = 0; i < N / 8 * 8; ++i) y[i] = (scale + x[i]) * x[i];\n" + kCount + "}\n");
  expect_failure(v, "correctness", "unwritten");
  EXPECT_EQ(v.failure->evidence["case"], "N=1");
}

TEST_F(Judge, IntegersAreExact) {
  expect_failure(screened(kHead + "  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n"
                          "  int c = 0; for (int i = 0; i < N; ++i) c += x[i] > 0.001f; above[0] = c;\n}\n"),
                 "correctness", "wrong_integer");
}

TEST_F(Judge, AConstantScalarIsFoundByTheRedrawnOne) {
  expect_failure(screened(kHead + "  for (int i = 0; i < N; ++i) y[i] = (3.0f + x[i]) * x[i];\n" + kCount + "}\n"),
                 "correctness", "wrong_value");
}

TEST_F(Judge, NanWhereTheTruthIsFinite) {
  expect_failure(screened(kHead + "  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n"
                          "  if (N > 7) y[7] = __builtin_nanf(\"\");\n" + kCount + "}\n"),
                 "correctness", "not_finite");
}

TEST_F(Judge, WritesBeyondTheEndAreFound) {
  const Verdict v = screened(kHead + "  for (int i = 0; i <= N; ++i) y[i] = i < N ? (scale + x[i]) * x[i] : 0;\n" + kCount + "}\n");
  ASSERT_TRUE(v.failure.has_value());
  EXPECT_TRUE(v.failure->reason == "out_of_bounds" || v.failure->reason == "crash") << v.failure->reason;
}

TEST_F(Judge, ACrashThatRepeatsIsTheCandidates) {
  const Verdict v = screened(kHead + "  for (int i = 0; i < N; ++i) y[i] = *(volatile float*)8;\n" + kCount + "}\n");
  expect_failure(v, "correctness", "crash");
  EXPECT_TRUE(v.failure->evidence.value("repeated", false));
  EXPECT_TRUE(screened(kGood).correct);  // the session goes on
}

TEST_F(Judge, AnEndlessLoopIsATimeout) {
  expect_failure(screened(kHead + "  volatile int go = 1; while (go) {}\n" + kCount + "}\n"), "correctness", "timeout");
}

TEST_F(Judge, StaticFindingsComeBeforeAnythingRuns) {
  const Verdict exits = screened("#include <cstdlib>\n" + kHead + "  exit(0);\n}\n");
  expect_failure(exits, "static", "exit_import");
  EXPECT_EQ(exits.gates.size(), 1u);
  expect_failure(screened("static volatile float kept[8192];\n" + kHead +
                          "  for (int i = 0; i < N; ++i) { kept[i] = (scale + x[i]) * x[i]; y[i] = kept[i]; }\n" + kCount + "}\n"),
                 "static", "state");
  expect_failure(screened(kHead + "  this is no C++\n}\n"), "static", "compile_error");
  const Verdict clock = screened(kHead + "  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n"
                                 "  if (__builtin_ia32_rdtsc() == 1) y[0] = 0;\n" + kCount + "}\n");
  expect_failure(clock, "static", "clock_read");
}

TEST_F(Judge, AParameterThatDoesNotBindIsAFailure) {
  expect_failure(screened("// hone:function poly\nextern \"C\" void poly(const float* z, float* y, int N) {}\n"),
                 "static", "bind_error");
}

TEST_F(Judge, LowerPrecisionIsClassC) {
  // Multiplicands rounded to 11 bits, as the next lower class (tf32) does.
  const std::string source =
      "static float low(float v) { unsigned b; __builtin_memcpy(&b, &v, 4); b = (b + 0x1000u) & 0xFFFFE000u; "
      "__builtin_memcpy(&v, &b, 4); return v; }\n" + kHead +
      "  for (int i = 0; i < N; ++i) y[i] = scale * x[i] + low(x[i]) * low(x[i]);\n" + kCount + "}\n";
  const Verdict refused = verified(source);
  expect_failure(refused, "correctness", "less_precise");
  EXPECT_EQ(refused.cls, Class::C);
  VerifyOptions allowed;
  allowed.allowed.c = true;
  const Verdict taken = verified(source, allowed);
  EXPECT_TRUE(taken.correct) << taken.failure->message;
  EXPECT_EQ(taken.cls, Class::C);
}

TEST_F(Judge, BelowTheLowerClassIsWrong) {
  // bf16 keeps 8 bits where the lower class keeps 11: eight times its error, beyond four times.
  VerifyOptions allowed;
  allowed.allowed.c = true;
  expect_failure(verified("static float low(float v) { unsigned b; __builtin_memcpy(&b, &v, 4); b = (b + 0x8000u) & 0xFFFF0000u; "
                          "__builtin_memcpy(&v, &b, 4); return v; }\n" + kHead +
                          "  for (int i = 0; i < N; ++i) y[i] = scale * x[i] + low(x[i]) * low(x[i]);\n" + kCount + "}\n",
                          allowed),
                 "correctness", "wrong_value");
}

TEST_F(Judge, ThePerformanceGateComesLastAndMayFail) {
  VerifyOptions options;
  int asked = 0;
  options.performance = [&](const Entry& entry, Verdict& verdict) -> Status {
    ++asked;
    EXPECT_FALSE(entry.program.object.empty());
    verdict.failure = candidate::Failure{"performance", "impossible", "planted", Json::object()};
    return {};
  };
  expect_failure(verified(kGood, options), "performance", "impossible");
  EXPECT_EQ(asked, 1);
  const Verdict wrong = verified(kHead + "}\n", options);
  EXPECT_EQ(wrong.failure->reason, "unwritten");
  EXPECT_EQ(asked, 1);  // not reached
}

// Right, but each call takes 20 ms at least: a whole verify of it takes some hundred calls.
const std::string kSlow = "#include <cmath>\n" + kHead +
                          "  volatile double sink = N;\n  for (int i = 0; i < 2000000; ++i) sink = std::sqrt(sink + i);\n"
                          "  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n" + kCount + "}\n";

TEST_F(Judge, ASlowCandidateThatRunsOutOfTimeIsUndecidedNotRight) {
  std::vector<std::string> told;
  const Watch watch(0.5, nullptr, [&](const std::string& doing, double left_s) {
    told.push_back(doing);
    EXPECT_LE(left_s, 0.5);
  });
  VerifyOptions options;
  options.watch = &watch;
  bool timed = false;
  options.performance = [&](const Entry&, Verdict&) -> Status {
    timed = true;
    return {};
  };
  const Verdict v = verified(kSlow, options);
  expect_failure(v, "correctness", "out_of_time");
  EXPECT_EQ(v.cls, Class::undecided);
  EXPECT_FALSE(timed);
  const Json& evidence = v.failure->evidence;
  EXPECT_EQ(evidence["limit_s"], 0.5);
  const std::regex done("([0-9]+) of at most ([0-9]+) draws were done");
  const std::string said = evidence["done"];
  std::smatch match;
  ASSERT_TRUE(std::regex_match(said, match, done)) << said;
  // Half a second holds 25 calls of 20 ms at most; the four cases alone have 16 draws of each distribution.
  EXPECT_LT(std::stoi(match[1]), 26);
#if !defined(__SANITIZE_THREAD__)  // its oracle takes that long for the first
  EXPECT_GT(std::stoi(match[1]), 0);
#endif
  EXPECT_GT(std::stoi(match[2]), 3 * 16);
  const auto left = evidence["left_out"].get<std::vector<std::string>>();
  EXPECT_NE(std::find(left.begin(), left.end(), "case N=5000"), left.end()) << evidence;
  EXPECT_NE(std::find(left.begin(), left.end(), "hidden shapes"), left.end()) << evidence;
  EXPECT_LT(v.total_ms, 5000);
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(told.front().starts_with("correctness: case N=")) << told.front();

  // The same one is right when there is time.
  VerifyOptions patient;
  patient.effort = {1, 1, 1};
  patient.hidden = false;
  const Verdict right = verified(kSlow, patient);
  EXPECT_TRUE(right.correct) << right.failure->message;
}

TEST_F(Judge, TimingThatDoesNotFinishIsNoPass) {
  VerifyOptions options;
  options.performance = [&](const Entry& entry, Verdict& verdict) -> Status {
    const Watch over(1e-9);
    PerformanceOptions timing;
    timing.watch = &over;
    return time_cases(*court().session, entry, timing, verdict);
  };
  const Verdict v = verified(kGood, options);
  expect_failure(v, "performance", "out_of_time");
  EXPECT_EQ(v.cls, Class::undecided);
  EXPECT_EQ(v.failure->evidence["done"], "0 of 1 cases were timed");
  EXPECT_TRUE(to_json(v)["speedup"].is_null());
}

TEST_F(Judge, CancellingEndsAVerifyAtTheNextDraw) {
  const std::atomic<bool> cancel{true};
  const Watch watch(0, &cancel);
  VerifyOptions options;
  options.watch = &watch;
  options.memory = false;
  auto entry = court().enter_source(kGood);
  ASSERT_TRUE(entry.ok());
  const auto verdict = verify(*court().session, *entry, options);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, ErrorCode::cancelled);
}

TEST_F(Judge, TheMemoryGateThatRunsOutOfTimeSaysHowFarItCame) {
  auto entry = court().enter_source(kGood);
  ASSERT_TRUE(entry.ok());
  const Watch over(1e-9);
  MemoryOptions options;
  options.watch = &over;
  options.allow_missing_tools = true;
  const auto report = memory_gate(*court().session, entry->program.resolved, court().session->task().cases, 5, options);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_TRUE(report->failure.has_value());
  EXPECT_EQ(report->failure->gate, "memory");
  EXPECT_EQ(report->failure->reason, "out_of_time");
  EXPECT_TRUE(report->failure->evidence["done"].get<std::string>().starts_with("0 of ")) << report->failure->evidence;
}

TEST_F(Judge, TheMemoryGateSeesWhatRunsDoNot) {
  for (const lane::Tool tool : {lane::Tool::address, lane::Tool::thread, lane::Tool::memory}) {
    const auto self = lane::self_test(tool);
    ASSERT_TRUE(self.ok()) << self.error().text();
    if (self->state != lane::SanitizeOutcome::State::clean) GTEST_SKIP() << self->message;
  }
  const auto gate = [&](const std::string& source) {
    auto entry = court().enter_source(source);
    EXPECT_TRUE(entry.ok() && !entry->failure);
    return memory_gate(*court().session, entry->program.resolved, court().session->task().cases, 5, {});
  };
  const auto clean = gate(kGood);
  ASSERT_TRUE(clean.ok()) << clean.error().text();
  EXPECT_FALSE(clean->failure.has_value()) << clean->failure->message;
  EXPECT_EQ(clean->tools.size(), 2u);  // one thread: no race to look for

  const auto uninitialised = gate("// hone:scratch s f32 [N]\n" + kHead.substr(0, kHead.rfind("int N")) +
                                  "float* s, int N, float scale) {\n"
                                  "  for (int i = 0; i < N; ++i) { if (s[i] > 1e30f) y[i] = 0; else y[i] = (scale + x[i]) * x[i]; }\n" +
                                  kCount + "}\n");
  ASSERT_TRUE(uninitialised.ok()) << uninitialised.error().text();
  ASSERT_TRUE(uninitialised->failure.has_value());
  EXPECT_EQ(uninitialised->failure->reason, "uninitialised") << uninitialised->failure->message;

  const auto race = gate("// hone:function poly threads=(2)\nextern \"C\" void poly(const float* x, float* y, int* above, int N, float scale) {\n"
                         "  int c = 0;\n#pragma omp parallel for\n  for (int i = 0; i < N; ++i) {\n"
                         "    y[i] = (scale + x[i]) * x[i];\n    c += x[i] > 0;\n  }\n  above[0] = c;\n}\n");
  ASSERT_TRUE(race.ok()) << race.error().text();
  ASSERT_TRUE(race->failure.has_value());
  EXPECT_TRUE(race->failure->reason == "race" || race->failure->reason == "differs") << race->failure->message;
}

// Ends in the plain build and hangs in the address tool's; `rest` follows in all of them.
std::string hangs_sanitized(const std::string& rest) {
  return kHead + "#ifdef __SANITIZE_ADDRESS__\n  for (volatile unsigned k = 0;;) k = k + 1;\n#endif\n" + rest + kCount + "}\n";
}

TEST_F(Judge, ASanitizedRunThatDoesNotEndIsNeitherRightNorWrong) {
  const auto self = lane::self_test(lane::Tool::address);
  ASSERT_TRUE(self.ok()) << self.error().text();
  if (self->state != lane::SanitizeOutcome::State::clean) GTEST_SKIP() << self->message;
  auto entry = court().enter_source(hangs_sanitized("  for (int i = 0; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n"));
  ASSERT_TRUE(entry.ok() && !entry->failure);
  VerifyOptions options;
  options.effort = {1, 1, 1};
  options.hidden = false;
  options.memory_options.run_s = 1;
  options.memory_options.allow_missing_tools = true;
  bool timed = false;
  options.performance = [&](const Entry&, Verdict&) -> Status {
    timed = true;
    return {};
  };
  const auto verdict = verify(*court().session, *entry, options);
  ASSERT_TRUE(verdict.ok()) << verdict.error().text();
  expect_failure(*verdict, "memory", "timeout");
  EXPECT_EQ(verdict->cls, Class::undecided);
  EXPECT_FALSE(timed);
  EXPECT_NE(verdict->failure->message.find("1 s"), std::string::npos) << verdict->failure->message;
  EXPECT_EQ(verdict->failure->evidence.value("tool", ""), "address");
  EXPECT_EQ(verdict_from_json(to_json(*verdict))->cls, Class::undecided);
}

TEST_F(Judge, WhatAnotherToolFindsOutweighsARunThatDoesNotEnd) {
  for (const lane::Tool tool : {lane::Tool::address, lane::Tool::memory}) {
    const auto self = lane::self_test(tool);
    ASSERT_TRUE(self.ok()) << self.error().text();
    if (self->state != lane::SanitizeOutcome::State::clean) GTEST_SKIP() << self->message;
  }
  auto entry = court().enter_source(hangs_sanitized("  for (int i = 1; i < N; ++i) y[i] = (scale + x[i]) * x[i];\n"));
  ASSERT_TRUE(entry.ok() && !entry->failure);
  MemoryOptions options;
  options.run_s = 1;
  const auto report = memory_gate(*court().session, entry->program.resolved, court().session->task().cases, 5, options);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_TRUE(report->failure.has_value());
  EXPECT_EQ(report->failure->reason, "uninitialised") << report->failure->message;
}

TEST_F(Judge, AdmissionPassesATaskThatTellsRightFromWrong) {
  const auto report = admit(*court().session, 9);
  ASSERT_TRUE(report.ok()) << report.error().text();
  for (const AdmissionFinding& f : report->findings) EXPECT_TRUE(f.ok || !f.strong) << f.check << ": " << f.detail;
  EXPECT_TRUE(report->admitted);
  const auto has = [&](const std::string& check) {
    for (const AdmissionFinding& f : report->findings)
      if (f.check == check) return f.ok;
    ADD_FAILURE() << "no check " << check;
    return false;
  };
  EXPECT_TRUE(has("null: zeros for y"));
  EXPECT_TRUE(has("null: copy of x for y"));
  EXPECT_TRUE(has("null: stale output for above"));
  EXPECT_TRUE(has("sensitive: x"));
  EXPECT_TRUE(has("sensitive: scale"));
  EXPECT_TRUE(has("deterministic"));
}

TEST(Admission, ATaskThatIgnoresAnInputIsRefused) {
  auto folder = TemporaryFolder::make("hone-admission-");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file(folder->path() / "task.toml", R"([task]
name = "weak"
lanes = ["cpu"]
precision = "f32"
[dims]
N = "elements"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
[[input]]
name = "unused"
dtype = "f32"
shape = ["N"]
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "reference.cpp" }
[[case]]
N = 1000
)").ok());
  // Almost everywhere zero: only what is beyond 30 counts, which a normal never is.
  ASSERT_TRUE(write_file(folder->path() / "reference.cpp", R"(// hone:function weak
extern "C" void weak(const float* x, const float* unused, HONE_OUT* y, int N) {
  for (int i = 0; i < N; ++i) y[i] = x[i] > 30 ? HONE_REAL(x[i]) : HONE_REAL(0);
}
)").ok());
  const auto task = task::read_task(folder->path());
  ASSERT_TRUE(task.ok()) << task.error().text();
  lane::CpuLaneOptions lane_options;
  lane_options.cache = (folder->path() / "cache").string();
  auto lane = lane::make_cpu_lane(lane_options);
  ASSERT_TRUE(lane.ok()) << lane.error().text();
  runner::SessionOptions options;
  options.lane = lane->get();
  auto session = runner::Session::open(*task, options);
  ASSERT_TRUE(session.ok()) << session.error().text();
  const auto report = admit(**session, 3);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_FALSE(report->admitted);
  int failed = 0;
  for (const AdmissionFinding& f : report->findings)
    if (!f.ok && (f.check == "sensitive: unused" || f.check == "null: stale output for y")) {
      EXPECT_FALSE(f.next.empty());
      ++failed;
    }
  EXPECT_EQ(failed, 2);
}

TEST(Reasons, EveryFailureInTheSourceIsInTheVocabulary) {
  const std::regex literal(R"re(Failure\w*[ (]*\{"(static|correctness|memory|performance)", "(\w+)")re");
  const std::regex import(R"re(\{"[^"]+", "(\w+_import)", "[^"]+"\})re");
  int seen = 0;
  for (const auto& file : fs::recursive_directory_iterator(fs::path(HONE_SOURCE_DIR) / "src")) {
    const std::string name = file.path().filename().string();
    if (file.path().extension() != ".cc" || name.find("_test") != std::string::npos) continue;
    const auto text = read_file(file.path());
    ASSERT_TRUE(text.ok());
    for (std::sregex_iterator it(text->begin(), text->end(), literal), end; it != end; ++it, ++seen)
      EXPECT_NE(find_reason((*it)[1].str(), (*it)[2].str()), nullptr) << name << ": " << (*it)[0];
    if (name != "elf.cc") continue;
    for (std::sregex_iterator it(text->begin(), text->end(), import), end; it != end; ++it, ++seen)
      EXPECT_NE(find_reason("static", (*it)[1].str()), nullptr) << name << ": " << (*it)[0];
  }
  EXPECT_GT(seen, 60);
}

TEST(Reasons, TheDocumentListsThemAll) {
  const auto text = read_file(fs::path(HONE_SOURCE_DIR) / "docs" / "verdict.md");
  ASSERT_TRUE(text.ok()) << text.error().text();
  for (const Reason& r : reasons()) {
    const std::string row = std::string("| ") + r.gate + " | `" + r.word + "` | " + r.about + " | " + r.next + " |";
    EXPECT_NE(text->find(row), std::string::npos) << "docs/verdict.md lacks the line\n" << row;
  }
}

}  // namespace
}  // namespace hone::judge
