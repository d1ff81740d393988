// Memory shared by handle, gaps, launches. Faults kill a context, so each is provoked in a process of its own.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "device/cuda/context.h"
#include "device/cuda/nvrtc.h"

namespace hone::device {
namespace {

constexpr const char* kKernels = R"(
extern "C" __global__ void add_one(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
extern "C" __global__ void write_at(int* y, long long at) { y[at] = 7; }
extern "C" __global__ void read_at(const int* x, int* y, long long at) { y[0] = x[at]; }
extern "C" __global__ void write_misaligned(char* y) { *(int*)(y + 2) = 7; }
extern "C" __global__ void trap() { __trap(); }
)";

std::string cubin_of(const GpuContext& context) {
  const auto nvrtc = Nvrtc::get();
  EXPECT_TRUE(nvrtc.ok()) << nvrtc.error().text();
  NvrtcJob job;
  job.source = kKernels;
  job.options = {"--gpu-architecture=" + architecture_name(context.facts().major, context.facts().minor)};
  const auto out = (*nvrtc)->compile(job);
  EXPECT_TRUE(out.ok() && out->compiled) << (out.ok() ? out->log : out.error().text());
  return out.ok() ? out->cubin : "";
}

struct Bench {
  GpuContext context;
  GpuModule module;
  static Bench make() {
    auto context = GpuContext::open(0);
    EXPECT_TRUE(context.ok()) << context.error().text();
    auto module = GpuModule::load(*context, cubin_of(*context));
    EXPECT_TRUE(module.ok()) << module.error().text();
    return {std::move(context).value(), std::move(module).value()};
  }
  cu::Code run(const char* name, std::uint32_t blocks, std::uint32_t threads, std::initializer_list<void*> parameters) {
    auto kernel = module.kernel(name);
    EXPECT_TRUE(kernel.ok()) << kernel.error().text();
    std::vector<void*> list(parameters);
    GpuLaunch how;
    how.grid[0] = blocks;
    how.block[0] = threads;
    const cu::Code code = launch(context, *kernel, how, list.data());
    return code == cu::kSuccess ? context.synchronize() : code;
  }
};

TEST(GpuFactsTest, AreThoseOfADevice) {
  const auto facts = gpu_facts(0);
  ASSERT_TRUE(facts.ok()) << facts.error().text();
  EXPECT_FALSE(facts->name.empty());
  EXPECT_EQ(facts->warp, 32);
  EXPECT_EQ(facts->max_threads_per_block, 1024);
  EXPECT_GT(facts->multiprocessors, 0);
  EXPECT_GT(facts->l2_bytes, 0);
  if (facts->name.find("H200") != std::string::npos) {  // NVIDIA's data sheet
    EXPECT_EQ(facts->major, 9);
    EXPECT_EQ(facts->multiprocessors, 132);
    EXPECT_NEAR(facts->memory_bandwidth, 4.8e12, 0.2e12);
  }
}

TEST(GpuMemoryTest, TwoViewsOfSharedMemorySeeTheSame) {
  Bench bench = Bench::make();
  const Driver& d = bench.context.driver();
  constexpr int kCount = 1000;
  auto memory = GpuMemory::create(bench.context, kCount * sizeof(int));
  ASSERT_TRUE(memory.ok()) << memory.error().text();
  EXPECT_EQ(memory->bytes() % bench.context.granularity(), 0u);
  auto fd = memory->share();
  ASSERT_TRUE(fd.ok()) << fd.error().text();
  auto imported = GpuMemory::import(bench.context, fd->get(), memory->bytes());
  ASSERT_TRUE(imported.ok()) << imported.error().text();
  auto writable = GpuMapping::map(bench.context, *memory, true), readable = GpuMapping::map(bench.context, *imported, false);
  auto result_memory = GpuMemory::create(bench.context, kCount * sizeof(int));
  auto result = GpuMapping::map(bench.context, *result_memory, true);
  ASSERT_TRUE(writable.ok() && readable.ok() && result.ok());
  std::vector<int> values(kCount), back(kCount);
  std::iota(values.begin(), values.end(), 5);
  ASSERT_EQ(d.MemcpyHtoDAsync(writable->begin(), values.data(), kCount * sizeof(int), bench.context.stream()), cu::kSuccess);
  cu::Pointer x = readable->begin(), y = result->begin();
  int n = kCount;
  ASSERT_EQ(bench.run("add_one", 4, 256, {&x, &y, &n}), cu::kSuccess);
  ASSERT_EQ(d.MemcpyDtoHAsync(back.data(), y, kCount * sizeof(int), bench.context.stream()), cu::kSuccess);
  ASSERT_EQ(bench.context.synchronize(), cu::kSuccess);
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(back[static_cast<std::size_t>(i)], i + 6);
}

TEST(GpuKernelTest, TellsItsParameters) {
  Bench bench = Bench::make();
  const auto kernel = bench.module.kernel("add_one");
  ASSERT_TRUE(kernel.ok());
  const std::vector<std::pair<std::size_t, std::size_t>> expected = {{0, 8}, {8, 8}, {16, 4}};
  EXPECT_EQ(kernel->parameters, expected);
  EXPECT_FALSE(bench.module.kernel("is_not_there").ok());
}

/// Provokes a fault in a fresh process (fork before any CUDA call there) and gives the word for it.
std::string fault(const std::string& kind) {
  const std::string program = "/proc/self/exe";
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::execl(program.c_str(), "gpu_test", ("--hone-fault=" + kind).c_str(), nullptr);
    ::_exit(99);
  }
  ::close(ends[1]);
  std::string out;
  char text[256];
  for (ssize_t got; (got = ::read(ends[0], text, sizeof text)) > 0;) out.append(text, static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  return out;
}

TEST(GpuFaultTest, WhatLiesOutsideATensorIsOutOfReach) {
  EXPECT_EQ(fault("write_above"), "illegal_address");
  EXPECT_EQ(fault("write_below"), "illegal_address");
  EXPECT_EQ(fault("read_above"), "illegal_address");
  EXPECT_EQ(fault("write_input"), "illegal_address");
  EXPECT_EQ(fault("misaligned"), "misaligned_address");
  EXPECT_EQ(fault("trap"), "launch_failure");
  EXPECT_EQ(fault("none"), "no fault");
}

}  // namespace

std::string provoke(const std::string& kind) {
  Bench bench = Bench::make();
  auto memory = GpuMemory::create(bench.context, 1), other = GpuMemory::create(bench.context, 1);
  auto writable = GpuMapping::map(bench.context, *memory, true), readable = GpuMapping::map(bench.context, *other, false);
  cu::Pointer y = writable->begin(), x = readable->begin();
  const auto words = static_cast<long long>(writable->bytes() / sizeof(int));
  long long at = kind == "write_below" ? -1 : kind == "write_input" || kind == "none" ? 0 : words;
  cu::Code code = cu::kSuccess;
  if (kind == "read_above") code = bench.run("read_at", 1, 1, {&x, &y, &at});
  else if (kind == "write_input") code = bench.run("write_at", 1, 1, {&x, &at});
  else if (kind == "misaligned") code = bench.run("write_misaligned", 1, 1, {&y});
  else if (kind == "trap") code = bench.run("trap", 1, 1, {});
  else code = bench.run("write_at", 1, 1, {&y, &at});
  const std::string word = fault_of(code);
  return code == cu::kSuccess ? "no fault" : word.empty() ? bench.context.driver().explain(code) : word;
}

}  // namespace hone::device
