#include "device/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace hone::device {
namespace {

TEST(CpuFacts, AgreeWithWhatOtherInterfacesSay) {
  const CpuFacts& facts = cpu_facts();
  EXPECT_FALSE(facts.model.empty());
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_GE(facts.usable_cores.size(), 1u);
  EXPECT_LE(facts.usable_cores.size(), static_cast<std::size_t>(facts.online_cores));
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  long long kib = 0;
  meminfo >> word >> kib;
  ASSERT_EQ(word, "MemTotal:");
  EXPECT_NEAR(static_cast<double>(facts.memory_bytes), static_cast<double>(kib) * 1024, 0.01 * static_cast<double>(kib) * 1024);
}

TEST(CpuFacts, CachesGrowWithTheirLevel) {
  std::int64_t data[8] = {};
  for (const Cache& cache : cpu_facts().caches) {
    ASSERT_GE(cache.level, 1);
    ASSERT_LE(cache.level, 4);
    EXPECT_GT(cache.bytes, 0);
    if (cache.type != "instruction") data[cache.level] = cache.bytes;
  }
  for (int level = 2; level <= 4; ++level) {
    if (data[level] > 0) {
      EXPECT_GE(data[level], data[level - 1]);
    }
  }
  EXPECT_GE(cpu_facts().last_level_cache_bytes(), data[1]);
}

TEST(CpuFacts, IsaListAgreesWithTheCompilerRuntime) {
#if defined(__x86_64__)
  const auto has = [](const char* name) {
    const auto& isa = cpu_facts().isa;
    return std::find(isa.begin(), isa.end(), name) != isa.end();
  };
  EXPECT_EQ(has("avx2"), static_cast<bool>(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(has("fma"), static_cast<bool>(__builtin_cpu_supports("fma")));
  EXPECT_EQ(has("avx512f"), static_cast<bool>(__builtin_cpu_supports("avx512f")));
#endif
}

TEST(CpuFacts, IdentityIsStableAndFollowsTheMachine) {
  CpuFacts facts = cpu_facts();
  EXPECT_EQ(facts.identity(), cpu_facts().identity());
  facts.model += " X";
  EXPECT_NE(facts.identity(), cpu_facts().identity());
  facts = cpu_facts();
  facts.usable_cores.push_back(999);
  EXPECT_NE(facts.identity(), cpu_facts().identity());
}

TEST(CpuFacts, WhatIsUnknownIsNull) {
  CpuFacts facts;
  const Json json = to_json(facts);
  EXPECT_TRUE(json["theoretical_memory_bandwidth"].is_null());
  EXPECT_TRUE(json["governor"].is_null());
  EXPECT_TRUE(json["max_ghz"].is_null());
  EXPECT_EQ(facts.last_level_cache_bytes(), std::int64_t{32} << 20);
}

TEST(CompilerVersion, NamesTheCureWhereThereIsNone) {
  const auto none = compiler_version("no-such-clang++");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::environment);
  EXPECT_NE(none.error().cure.find("clang"), std::string::npos);
  const auto version = compiler_version("g++");
  ASSERT_TRUE(version.ok()) << version.error().text();
  EXPECT_NE(version->find("g++"), std::string::npos);
}

TEST(CpuCeilings, AreMeasuredOnceAndKept) {
  auto folder = TemporaryFolder::make("hone-ceilings");
  ASSERT_TRUE(folder.ok());
  ::setenv("HONE_CACHE", folder->path().c_str(), 1);
  const auto first = cpu_ceilings();
  ASSERT_TRUE(first.ok()) << first.error().text();
  // Bounds no machine of the last fifteen years leaves, however busy: between 0.2 and 2,000 GB/s, and
  // between 0.5 GFLOP/s and 1 TFLOP/s a core (two 512-bit units at 6 GHz make 384).
  EXPECT_GT(first->copy_bytes_per_s_1, 0.2e9);
  EXPECT_LT(first->copy_bytes_per_s_1, 2e12);
  EXPECT_GE(first->copy_bytes_per_s_n, first->copy_bytes_per_s_1);
  EXPECT_GT(first->fma_flops_per_s_1, 0.5e9);
  EXPECT_LT(first->fma_flops_per_s_1, 1e12);
  EXPECT_GE(first->fma_flops_per_s_n, first->fma_flops_per_s_1);
  const auto again = cpu_ceilings();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_json(*again), to_json(*first)) << "read back, not measured again";
  // A cut-off file is measured anew, not believed.
  for (const auto& entry : fs::directory_iterator(folder->path() / "ceilings"))
    fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  const auto repaired = cpu_ceilings();
  ASSERT_TRUE(repaired.ok());
  EXPECT_GT(repaired->fma_flops_per_s_1, 0.5e9);
  ::unsetenv("HONE_CACHE");
}

}  // namespace
}  // namespace hone::device
