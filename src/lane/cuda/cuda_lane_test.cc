// Compiling device code without a GPU, for named architectures. What a cubin must hold follows from the source.

#include <gtest/gtest.h>

#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "candidate/candidate.h"
#include "device/cuda/nvrtc.h"
#include "lane/lane.h"
#include "task/task_file.h"

namespace hone::lane {
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
value = 3.0
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cuda = "reference.cu" }
[[case]]
N = 1000
)";

constexpr const char* kScale = R"(// hone:tune THREADS = 128 256 2048
// hone:kernel scale grid=(ceil_div(N, THREADS)) block=(THREADS) shared=(THREADS * 4)
extern "C" __global__ void __launch_bounds__(THREADS) scale(const float* __restrict__ x, float* __restrict__ y, float a, int N) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < N) y[i] = a * x[i];
}
)";

class CudaLaneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto nvrtc = device::Nvrtc::get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
    auto folder = TemporaryFolder::make("hone-cuda-lane");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(folder).value());
    ASSERT_TRUE(write_file(folder_->path() / "reference.cu", "").ok());
    auto task = task::parse_task(kTask, (folder_->path() / "task.toml").string());
    ASSERT_TRUE(task.ok()) << task.error().text();
    task_ = std::move(task).value();
  }

  std::unique_ptr<Lane> lane(const std::string& architecture, bool use_cache = false) {
    CudaLaneOptions options;
    options.architecture = architecture;
    options.cache = (folder_->path() / "cache").string();
    options.use_cache = use_cache;
    options.workers = 2;
    auto made = make_cuda_lane(options);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return made.ok() ? std::move(made).value() : nullptr;
  }

  candidate::Resolved resolved(const std::string& source, candidate::Build build = candidate::Build::candidate,
                               const candidate::Assignment& chosen = {}) {
    auto candidate = candidate::parse(source, "scale.cu");
    EXPECT_TRUE(candidate.ok()) << candidate.error().text();
    auto assignment = candidate::default_assignment(*candidate, task_);
    EXPECT_TRUE(assignment.ok()) << assignment.error().text();
    for (const auto& [name, value] : chosen) (*assignment)[name] = value;
    auto out = candidate::resolve(*candidate, *assignment, task_, build);
    EXPECT_TRUE(out.ok()) << out.error().text();
    return std::move(out).value();
  }

  candidate::Failure failure(Lane& lane, const std::string& source, double limit_s = 30) {
    auto outcome = lane.build(resolved(source), {limit_s});
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    const auto* failed = outcome.ok() ? std::get_if<candidate::Failure>(&*outcome) : nullptr;
    return failed ? *failed : candidate::Failure{"", "no failure", "", {}};
  }

  std::optional<TemporaryFolder> folder_;
  task::Task task_;
};

TEST_F(CudaLaneTest, AKernelBecomesACubinOfEachArchitecture) {
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100"}) {
    const auto made = lane(architecture);
    ASSERT_TRUE(made);
    auto outcome = made->build(resolved(kScale), {});
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    const auto* built = std::get_if<Built>(&*outcome);
    ASSERT_TRUE(built) << std::get<candidate::Failure>(*outcome).message;
    EXPECT_EQ(built->object.substr(0, 4), "\177ELF");
    EXPECT_NE(built->text.find(std::string(".target ") + architecture), std::string::npos);
    EXPECT_NE(built->text.find(".visible .entry scale("), std::string::npos);
  }
}

TEST_F(CudaLaneTest, LaunchesAreBoundByNameAndShapedByTheCase) {
  const candidate::Resolved r = resolved(kScale, candidate::Build::candidate, {{"THREADS", "256"}});
  ASSERT_EQ(r.launches.size(), 1u);
  const candidate::Launch& launch = r.launches[0];
  // argument_list: x, y, N, a. The kernel takes x, y, a, N.
  ASSERT_EQ(launch.arguments.size(), 4u);
  EXPECT_EQ(launch.arguments[0].argument, 0u);
  EXPECT_EQ(launch.arguments[1].argument, 1u);
  EXPECT_EQ(launch.arguments[2].argument, 3u);
  EXPECT_EQ(launch.arguments[3].argument, 2u);
  EXPECT_TRUE(launch.arguments[0].pointer);
  EXPECT_EQ(launch.arguments[3].type, "int");
  const auto shapes = candidate::shapes_for(r, {{"N", 1000}});
  ASSERT_TRUE(shapes.ok()) << shapes.error().text();
  EXPECT_EQ((*shapes)[0].grid[0], 4);  // 1000 / 256, up
  EXPECT_EQ((*shapes)[0].block[0], 256);
  EXPECT_EQ((*shapes)[0].shared_bytes, 1024);
  const auto empty = candidate::shapes_for(r, {{"N", 0}});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ((*empty)[0].grid[0], 0);
}

TEST_F(CudaLaneTest, ABlockBeyondEveryDeviceIsNoPoint) {
  const auto candidate = candidate::parse(kScale, "scale.cu");
  ASSERT_TRUE(candidate.ok());
  EXPECT_TRUE(candidate::satisfies(*candidate, {{"THREADS", "256"}}, task_));
  EXPECT_FALSE(candidate::satisfies(*candidate, {{"THREADS", "2048"}}, task_));  // 1,024 threads a block at most
}

TEST_F(CudaLaneTest, AReferenceIsBuiltInDoubleWithoutContraction) {
  // a·x + x contracts to an fma unless told otherwise.
  const std::string source = R"(// hone:kernel scale grid=(ceil_div(N, 128)) block=(128)
extern "C" __global__ void scale(const float* x, HONE_OUT* y, HONE_REAL a, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < N) y[i] = hone::exp(HONE_REAL(x[i])) * 0 + HONE_MUL(a, x[i]) + x[i];
}
)";
  const auto made = lane("sm_90a");
  ASSERT_TRUE(made);
  const auto text = [&](candidate::Build build) {
    auto outcome = made->build(resolved(source, build), {});
    const auto* built = outcome.ok() ? std::get_if<Built>(&*outcome) : nullptr;
    EXPECT_TRUE(built) << (outcome.ok() ? std::get<candidate::Failure>(*outcome).message : outcome.error().text());
    return built ? built->text : std::string();
  };
  const std::string oracle = text(candidate::Build::oracle), baseline = text(candidate::Build::baseline);
  EXPECT_NE(oracle.find("st.global.f64"), std::string::npos);
  EXPECT_NE(baseline.find("st.global.f32"), std::string::npos);
  EXPECT_NE(baseline.find("fma.rn.f32"), std::string::npos);
  const std::string rounded = text(candidate::Build::rounded);
  // The multiplication by a and the sum stay apart in r: each rounded on its own.
  EXPECT_NE(rounded.find("mul.rn.f32"), std::string::npos);
  EXPECT_NE(rounded.find("add.rn.f32"), std::string::npos);
}

TEST_F(CudaLaneTest, WhatDoesNotCompileSaysWhere) {
  const auto made = lane("sm_90a");
  ASSERT_TRUE(made);
  std::string wrong = kScale;
  wrong.replace(wrong.find("a * x[i]"), 8, "a * z[i]");
  const candidate::Failure f = failure(*made, wrong);
  EXPECT_EQ(f.reason, "compile_error");
  EXPECT_NE(f.message.find("scale.cu(5)"), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("\"z\" is undefined"), std::string::npos) << f.message;
}

TEST_F(CudaLaneTest, FlagsAreFromTheList) {
  const auto made = lane("sm_90a");
  ASSERT_TRUE(made);
  EXPECT_EQ(failure(*made, std::string("// hone:flags --include-path=/etc\n") + kScale).reason, "flag_refused");
  auto fast = made->build(resolved(std::string("// hone:flags --use_fast_math --maxrregcount=32\n") + kScale), {});
  ASSERT_TRUE(fast.ok());
  EXPECT_TRUE(std::holds_alternative<Built>(*fast));
}

TEST_F(CudaLaneTest, ACompilerThatDoesNotEndIsKilledAndTheNextOneWorks) {
  const auto made = lane("sm_90a");
  ASSERT_TRUE(made);
  // A template recursion whose instantiations double at each level.
  const std::string bomb = R"(// hone:kernel scale grid=(1) block=(1)
template <int D, long long I> struct B { static constexpr long long v = B<D - 1, 2 * I>::v + B<D - 1, 2 * I + 1>::v; };
template <long long I> struct B<0, I> { static constexpr long long v = I; };
extern "C" __global__ void scale(const float* x, float* y, float a, int N) { y[0] = B<26, 0>::v; }
)";
  const std::int64_t start = monotonic_ns();
  EXPECT_EQ(failure(*made, bomb, 1.5).reason, "compile_timeout");
  EXPECT_LT(static_cast<double>(monotonic_ns() - start) * 1e-9, 10);
  auto next = made->build(resolved(kScale), {});
  ASSERT_TRUE(next.ok()) << next.error().text();
  EXPECT_TRUE(std::holds_alternative<Built>(*next));
}

TEST_F(CudaLaneTest, FilesOfTheMachineAreOutOfReach) {
  const auto made = lane("sm_90a");
  ASSERT_TRUE(made);
  for (const char* path : {"/etc/passwd", "/dev/zero", "/proc/self/environ"}) {
    const candidate::Failure f = failure(*made, std::string("#include \"") + path + "\"\n" + kScale, 10);
    EXPECT_EQ(f.reason, "compile_error") << path << ": " << f.message;
  }
}

TEST_F(CudaLaneTest, TheToolkitsHeadersAreThere) {
  const auto made = lane("sm_90a");
  ASSERT_TRUE(made);
  const std::string half = std::string("#include <cuda_fp16.h>\n") + kScale;
  auto outcome = made->build(resolved(half), {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_TRUE(std::holds_alternative<Built>(*outcome)) << std::get<candidate::Failure>(*outcome).message;
}

TEST_F(CudaLaneTest, FinishedCubinsAreKept) {
  const auto made = lane("sm_90a", true);
  ASSERT_TRUE(made);
  auto first = made->build(resolved(kScale), {});
  auto second = made->build(resolved(kScale), {});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(std::get<Built>(*first).from_cache);
  EXPECT_TRUE(std::get<Built>(*second).from_cache);
  EXPECT_EQ(std::get<Built>(*first).object, std::get<Built>(*second).object);
  EXPECT_EQ(std::get<Built>(*first).text, std::get<Built>(*second).text);
}

TEST_F(CudaLaneTest, ManyThreadsShareTheWorkers) {
  const auto made = lane("sm_90a");
  ASSERT_TRUE(made);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      auto outcome = made->build(resolved(std::string(kScale) + "// " + std::to_string(t)), {});
      if (outcome.ok() && std::holds_alternative<Built>(*outcome)) ++good;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 6);
}

}  // namespace
}  // namespace hone::lane
