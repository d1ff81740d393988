#include "runner/session.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "lane/lane.h"
#include "task/task_file.h"
#include "wire/frame.h"

// The whole bench of processes, for real: compiler in a jail, oracle, jailed runners.

namespace hone::runner {
namespace {

constexpr const char* kTask = R"toml(
[task]
name = "scale"
lanes = ["cpu"]
precision = "f32"
[dims]
N = "n"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "reference.cpp" }
[limits]
call_s = 3
memory_gb = 0.1
[[case]]
N = 1003
)toml";

constexpr const char* kReference = R"cpp(// hone:function scale
extern "C" void scale(const float* x, HONE_OUT* y, int N) {
  for (int i = 0; i < N; ++i) y[i] = HONE_REAL(x[i]) * HONE_REAL(3);
}
)cpp";

class SessionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryFolder::make("hone-session-test-");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryFolder(std::move(folder).value());
    ASSERT_TRUE(write_file(folder_->path() / "task.toml", kTask).ok());
    ASSERT_TRUE(write_file(folder_->path() / "reference.cpp", kReference).ok());
    auto lane = lane::make_cpu_lane({});
    ASSERT_TRUE(lane.ok()) << lane.error().text();
    lane_ = lane->release();
    const auto task = task::read_task(folder_->path());
    ASSERT_TRUE(task.ok()) << task.error().text();
    SessionOptions options;
    options.lane = lane_;
    options.memory_limit_bytes = std::uint64_t{200} << 20;  // a bomb ends before the clock does
    auto session = Session::open(*task, options);
    ASSERT_TRUE(session.ok()) << session.error().text();
    session_ = session->release();
  }
  static void TearDownTestSuite() {
    delete session_;
    delete lane_;
    delete folder_;
    session_ = nullptr;
  }

  /// Builds a body as the kernel `scale` and runs one draw of it.
  static std::variant<DrawCheck, candidate::Failure> run(const std::string& body, Side side = Side::upper) {
    const std::string source = "#include <cstdint>\n" + body;
    auto parsed = candidate::parse(source, "test.cpp");
    EXPECT_TRUE(parsed.ok()) << parsed.error().text();
    auto resolved = candidate::resolve(*parsed, {}, session_->task());
    EXPECT_TRUE(resolved.ok()) << resolved.error().text();
    auto built = lane_->build(*resolved, {});
    EXPECT_TRUE(built.ok()) << built.error().text();
    if (auto* failure = std::get_if<candidate::Failure>(&*built)) return *failure;
    const Program program{std::get<lane::Built>(*built).object, *resolved};
    auto started = session_->start_runner(Session::Who::candidate, program, 1);
    EXPECT_TRUE(started.ok()) << started.error().text();
    if (auto* failure = std::get_if<candidate::Failure>(&*started)) return *failure;
    Runner& runner = *std::get<std::unique_ptr<Runner>>(*started);
    const task::Dims dims{{"N", 1003}};
    auto arenas = session_->oracle().make_arenas(dims, side);
    EXPECT_TRUE(arenas.ok()) << arenas.error().text();
    auto bound = runner.bind(*arenas, dims, {});
    EXPECT_TRUE(bound.ok()) << bound.error().text();
    if (bound->has_value()) return **bound;
    auto prepared = session_->oracle().prepare({dims, {42, task::Distribution::nominal, 0}});
    EXPECT_TRUE(prepared.ok()) << prepared.error().text();
    auto checked = session_->run_draw(runner, *arenas, *prepared);
    EXPECT_TRUE(checked.ok()) << checked.error().text();
    return *checked;
  }

  static std::string failure_of(const std::string& body, Side side = Side::upper) {
    const auto outcome = run(body, side);
    if (const auto* failure = std::get_if<candidate::Failure>(&outcome)) return failure->reason;
    const DrawCheck& check = std::get<DrawCheck>(outcome);
    if (!check.red_zone.empty()) return "red zone";
    return check.outputs[0].exact_wrong > 0 || check.outputs[0].max_candidate > 8 ? "wrong" : "right";
  }

  static TemporaryFolder* folder_;
  static lane::Lane* lane_;
  static Session* session_;
};
TemporaryFolder* SessionTest::folder_ = nullptr;
lane::Lane* SessionTest::lane_ = nullptr;
Session* SessionTest::session_ = nullptr;

constexpr const char* kHead = "// hone:function scale\nextern \"C\" void scale(const float* x, float* y, int N) ";

TEST_F(SessionTest, AnHonestKernelIsRightOnBothSides) {
  const std::string honest = std::string(kHead) + "{ for (int i = 0; i < N; ++i) y[i] = x[i] * 3; }";
  EXPECT_EQ(failure_of(honest, Side::upper), "right");
  EXPECT_EQ(failure_of(honest, Side::lower), "right");
}

TEST_F(SessionTest, MemoryThatIsNotItsOwnIsOutOfReach) {
  // Inputs are sealed; guards lie within a page and the alignment's slack of every tensor.
  EXPECT_EQ(failure_of(std::string(kHead) + "{ for (int i = 0; i < N; ++i) ((float*)x)[i] = 0; }"), "crash");
  EXPECT_EQ(failure_of(std::string(kHead) + "{ for (int i = 0; i < N + 64; ++i) y[i] = 1; }", Side::upper), "crash");
  EXPECT_EQ(failure_of(std::string(kHead) + "{ for (int i = 0; i < N + 5; ++i) y[i] = i < N ? x[i] * 3 : 0; }", Side::upper),
            "red zone");
  EXPECT_EQ(failure_of(std::string(kHead) + "{ y[-1] = 0; }", Side::lower), "crash");
}

TEST_F(SessionTest, WrongAndMissingAnswersAreSeen) {
  EXPECT_EQ(failure_of(std::string(kHead) + "{ }"), "wrong");
  EXPECT_EQ(failure_of(std::string(kHead) + "{ for (int i = 0; i < N / 2; ++i) y[i] = x[i] * 3; }"), "wrong");
}

TEST_F(SessionTest, CrashesHangsAndEarlyEndsAreVerdicts) {
  EXPECT_EQ(failure_of(std::string(kHead) + "{ __builtin_trap(); }"), "crash");
  EXPECT_EQ(failure_of(std::string(kHead) + "{ for (volatile int i = 0;;) i = i + 1; }"), "timeout");
  EXPECT_EQ(failure_of("extern \"C\" void _exit(int);\n" + std::string(kHead) + "{ _exit(0); }"), "exited");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // the tools need addresses without bound
  EXPECT_EQ(failure_of("extern \"C\" void* malloc(unsigned long);\n" + std::string(kHead) +
                       "{ for (;;) { volatile char* p = (volatile char*)malloc(1 << 20); for (int i = 0; i < (1 << 20); i += 4096) p[i] = 1; } }"),
            "crash");
#endif
}

TEST_F(SessionTest, LoadTimeCodeRunsInTheJailOnly) {
  EXPECT_EQ(failure_of("__attribute__((constructor)) void early() { __builtin_trap(); }\n" + std::string(kHead) + "{ }"),
            "crash");
}

TEST_F(SessionTest, AnAnswerOutOfTurnIsAProtocolFailure) {
  // Descriptor 3 is the runner's socket; what is written there is not believed.
  const std::string head = "extern \"C\" long write(int, const void*, unsigned long);\n" + std::string(kHead);
  EXPECT_EQ(failure_of(head + "{ for (int i = 0; i < 100; ++i) write(3, \"HON1 nonsense and more of it\", 28); }"), "protocol");
}

TEST_F(SessionTest, AForgedFrameOfAnyShapeIsAProtocolFailure) {
  // Well-formed frames whose members have types that nobody asked for: the coordinator must not fall over them.
  for (const Json& forged : {Json{{"op", 7}}, Json{{"op", Json::object()}}, Json{{"op", "done"}, {"ns", "soon"}}, Json::array({1})}) {
    const std::string frame = wire::encode_frame(forged);
    std::string bytes;
    for (const char c : frame) bytes += std::to_string(static_cast<unsigned char>(c)) + ",";
    EXPECT_EQ(failure_of("extern \"C\" long write(int, const void*, unsigned long);\nstatic const unsigned char forged[] = {" + bytes +
                         "};\n" + std::string(kHead) + "{ write(3, forged, sizeof forged); for (;;) { } }"),
              "protocol")
        << forged.dump();
  }
}

/// C++ that writes these frames to the runner's socket, as the runner itself would.
std::string writes(const std::vector<Json>& frames) {
  std::string bytes;
  for (const Json& frame : frames)
    for (const char c : wire::encode_frame(frame)) bytes += std::to_string(static_cast<unsigned char>(c)) + ",";
  return "extern \"C\" long write(int, const void*, unsigned long);\nstatic const unsigned char forged[] = {" + bytes +
         "};\nstatic void lie() { write(3, forged, sizeof forged); }\n";
}

TEST_F(SessionTest, ARunnerThatBlamesTheMachineIsNotBelieved) {
  // `run` expects an outcome, not an Error: that would end a whole run in place of one candidate.
  const Json blame = {{"op", "error"}, {"code", "environment"}, {"message", "no memory left on this machine"}, {"details", Json::object()}};
  const std::string empty = std::string(kHead) + "{ }";
  const std::string when_loaded = "__attribute__((constructor)) void early() { lie(); for (;;) { } }\n";
  EXPECT_EQ(failure_of(writes({blame}) + when_loaded + empty), "load_error");
  // It says that it is loaded, and has the answer to the next question ready.
  EXPECT_EQ(failure_of(writes({{{"op", "loaded"}}, blame}) + when_loaded + empty), "load_error");
  EXPECT_EQ(failure_of(writes({{{"op", "loaded"}}, {{"op", "bound"}}, blame}) + when_loaded + empty), "protocol");
  EXPECT_EQ(failure_of(writes({blame}) + std::string(kHead) + "{ lie(); for (;;) { } }"), "protocol");
}

TEST_F(SessionTest, AReferenceThatDoesNotBuildSaysWhere) {
  auto folder = TemporaryFolder::make("hone-session-test-");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file(folder->path() / "task.toml", kTask).ok());
  ASSERT_TRUE(write_file(folder->path() / "reference.cpp",
                         "// hone:function scale\nextern \"C\" void scale(const float* x, HONE_OUT* y, int N) { y[0] = oops; }\n")
                  .ok());
  const auto task = task::read_task(folder->path());
  ASSERT_TRUE(task.ok());
  SessionOptions options;
  options.lane = lane_;
  const auto session = Session::open(*task, options);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::usage);
  EXPECT_NE(session.error().message.find("oops"), std::string::npos) << session.error().text();
}

}  // namespace
}  // namespace hone::runner
