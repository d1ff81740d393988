// Oracle and runner on a GPU, end to end: draws staged, kernels run, outputs compared. What is right follows from
// y = a·x in double.

#include "runner/session.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "lane/lane.h"
#include "task/task_file.h"

namespace hone::runner {
namespace {

constexpr const char* kTask = R"(
[task]
name = "scale"
lanes = ["cuda"]
precision = "f32"
[dims]
N = "elements"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
[[scalar]]
name = "a"
dtype = "f32"
value = 3.25
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cuda = "reference.cu" }
[[case]]
N = 10007
)";

constexpr const char* kReference = R"(// hone:kernel scale grid=(ceil_div(N, 128)) block=(128)
extern "C" __global__ void scale(const float* x, HONE_OUT* y, HONE_REAL a, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < N) y[i] = HONE_MUL(a, x[i]);
}
)";

std::string kernel(const std::string& body, const std::string& more = "") {
  return "// hone:kernel scale grid=(ceil_div(N, 256)) block=(256)\n" + more +
         "extern \"C\" __global__ void scale(const float* x, float* y, float a, int N) {\n"
         "  const int i = blockIdx.x * 256 + threadIdx.x;\n" + body + "\n}\n";
}

/// One session for all tests here: opening it compiles four times and makes a context.
class GpuSessionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder(std::move(TemporaryFolder::make("hone-gpu-session")).value());
    ASSERT_TRUE(write_file(folder->path() / "reference.cu", kReference).ok());
    auto read = task::parse_task(kTask, (folder->path() / "task.toml").string());
    ASSERT_TRUE(read.ok()) << read.error().text();
    lane::CudaLaneOptions options;
    options.cache = (folder->path() / "cache").string();
    auto made = lane::make_cuda_lane(options);
    ASSERT_TRUE(made.ok()) << made.error().text();
    lane = made->release();
    SessionOptions session_options;
    session_options.lane = lane;
    auto opened = Session::open(*read, session_options);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    session = opened->release();
  }
  static void TearDownTestSuite() {
    delete session;
    delete lane;
    delete folder;
  }
  void SetUp() override { ASSERT_TRUE(session) << "the session did not open"; }

  Program program(const std::string& source) {
    auto candidate = candidate::parse(source, "scale.cu");
    EXPECT_TRUE(candidate.ok()) << candidate.error().text();
    auto resolved = candidate::resolve(*candidate, {}, session->task());
    EXPECT_TRUE(resolved.ok()) << resolved.error().text();
    auto built = lane->build(*resolved, {});
    EXPECT_TRUE(built.ok()) << built.error().text();
    const auto* failure = std::get_if<candidate::Failure>(&*built);
    EXPECT_FALSE(failure) << failure->message;
    return {std::get<lane::Built>(*built).object, *resolved};
  }

  /// One draw in a fresh runner: what the oracle found, or the failure.
  std::variant<DrawCheck, candidate::Failure> run(const std::string& source, Side side = Side::upper) {
    const Program p = program(source);
    const task::Dims dims = {{"N", 10007}};
    auto runner = session->start_runner(Session::Who::candidate, p, 1);
    EXPECT_TRUE(runner.ok()) << runner.error().text();
    if (auto* failure = std::get_if<candidate::Failure>(&*runner)) return *failure;
    Runner& r = *std::get<std::unique_ptr<Runner>>(*runner);
    auto arenas = session->oracle().make_arenas(dims, side);
    EXPECT_TRUE(arenas.ok()) << arenas.error().text();
    auto prepared = session->oracle().prepare({dims, {7, task::Distribution::nominal, 0}});
    EXPECT_TRUE(prepared.ok()) << prepared.error().text();
    auto scalars = session->oracle().scalars_of(prepared->id);
    auto bound = r.bind(*arenas, dims, *scalars);
    EXPECT_TRUE(bound.ok()) << bound.error().text();
    if (bound->has_value()) return **bound;
    auto check = session->run_draw(r, *arenas, *prepared);
    EXPECT_TRUE(check.ok()) << check.error().text();
    EXPECT_TRUE(session->oracle().drop_arenas(arenas->id).ok());
    return std::move(check).value();
  }
  candidate::Failure failure(const std::string& source, Side side = Side::upper) {
    auto out = run(source, side);
    const auto* failed = std::get_if<candidate::Failure>(&out);
    return failed ? *failed : candidate::Failure{"", "no failure", "", {}};
  }

  static inline TemporaryFolder* folder = nullptr;
  static inline lane::Lane* lane = nullptr;
  static inline Session* session = nullptr;
};

TEST_F(GpuSessionTest, ARightKernelIsWithinHalfAnUlp) {
  auto out = run(kernel("  if (i < N) y[i] = a * x[i];"));
  const auto* check = std::get_if<DrawCheck>(&out);
  ASSERT_TRUE(check) << std::get<candidate::Failure>(out).message;
  ASSERT_EQ(check->outputs.size(), 1u);
  EXPECT_EQ(check->outputs[0].elements, 10007);
  EXPECT_EQ(check->outputs[0].bits_differ, 0);  // one correctly rounded product
  EXPECT_LE(check->outputs[0].max_candidate, 1.0);
  EXPECT_FALSE(check->inputs_changed);
  EXPECT_EQ(check->red_zone, "");
}

TEST_F(GpuSessionTest, AWrongElementIsFoundWithItsPlace) {
  auto out = run(kernel("  if (i < N) y[i] = a * x[i] + (i == 5003 ? 1.0f : 0.0f);"));
  const auto* check = std::get_if<DrawCheck>(&out);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->outputs[0].first_bad.index, 5003);
  EXPECT_EQ(check->outputs[0].bits_differ, 1);
}

TEST_F(GpuSessionTest, AnUnwrittenTailStillHoldsThePoison) {
  auto out = run(kernel("  if (i < N - 3) y[i] = a * x[i];"));
  const auto* check = std::get_if<DrawCheck>(&out);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->outputs[0].poison_left, 3);
}

TEST_F(GpuSessionTest, MemoryThatIsNotItsOwnIsOutOfReach) {
  // 10,007 floats end 100 bytes below a multiple of 256: what is written there changes the red zone.
  auto out = run(kernel("  if (i < N) y[i] = a * x[i]; if (i == 0) y[N] = 0;"));
  const auto* check = std::get_if<DrawCheck>(&out);
  ASSERT_TRUE(check);
  EXPECT_NE(check->red_zone.find("beyond its end"), std::string::npos) << check->red_zone;
  // Beyond the slack lies the gap.
  const candidate::Failure above = failure(kernel("  if (i < N) y[i] = a * x[i]; if (i == 0) y[N + 64] = 0;"));
  EXPECT_EQ(above.reason, "crash") << above.message;
  EXPECT_EQ(above.evidence.value("fault", ""), "illegal_address");
  EXPECT_EQ(failure(kernel("  if (i == 0) y[-1] = 0;"), Side::lower).evidence.value("fault", ""), "illegal_address");
  EXPECT_EQ(failure(kernel("  if (i == 0) ((float*)x)[0] = 0;")).evidence.value("fault", ""), "illegal_address");
}

TEST_F(GpuSessionTest, FaultsAreTheCandidatesAndTheNextOneRuns) {
  EXPECT_EQ(failure(kernel("  if (i == 0) *(float*)((char*)y + 2) = 0;")).evidence.value("fault", ""), "misaligned_address");
  EXPECT_EQ(failure(kernel("  __trap();")).reason, "crash");
  const candidate::Failure refused =
      failure("// hone:kernel scale grid=(1) block=(256) shared=(300000)\n"
              "extern \"C\" __global__ void scale(const float* x, float* y, float a, int N) { y[0] = a * x[0]; }\n");
  EXPECT_EQ(refused.reason, "launch_refused") << refused.message;
  auto out = run(kernel("  if (i < N) y[i] = a * x[i];"));
  EXPECT_TRUE(std::holds_alternative<DrawCheck>(out));
}

TEST_F(GpuSessionTest, AnEndlessKernelIsATimeout) {
  const Program p = program(kernel("  for (;;) asm volatile(\"nanosleep.u32 1000;\");"));
  const task::Dims dims = {{"N", 10007}};
  auto runner = session->start_runner(Session::Who::candidate, p, 1);
  ASSERT_TRUE(runner.ok()) << runner.error().text();
  Runner& r = *std::get<std::unique_ptr<Runner>>(*runner);
  auto arenas = session->oracle().make_arenas(dims, Side::upper);
  ASSERT_TRUE(arenas.ok());
  ASSERT_TRUE(r.bind(*arenas, dims, {3.25}).ok());
  auto released = r.release(1, 0.5);
  ASSERT_TRUE(released.ok());
  const auto* failed = std::get_if<candidate::Failure>(&*released);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, "timeout");
}

TEST_F(GpuSessionTest, ScratchIsThereAndZeroWhereAsked) {
  auto out = run(kernel("  if (i < N) y[i] = a * x[i] + part[i];", "// hone:scratch part f32 [N] zero\n")
                     .replace(0, 0, "")
                     .replace(kernel("", "// hone:scratch part f32 [N] zero\n").find("float a"), 7, "float a, float* part"));
  const auto* check = std::get_if<DrawCheck>(&out);
  ASSERT_TRUE(check) << std::get<candidate::Failure>(out).message;
  EXPECT_EQ(check->outputs[0].bits_differ, 0);
}

}  // namespace
}  // namespace hone::runner
