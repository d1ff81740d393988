#include "lane/cpu/prelude.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/files.h"
#include "lane/cpu/object_cache.h"
#include "task/types.h"

// The prelude itself, as a double build of a reference sees it.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#define HONE_REAL double
#define HONE_ROUND hone::real
#include "lane/cpu/prelude/types.h"
#include "lane/cpu/prelude/reference.h"

namespace hone::lane {
namespace {

std::uint16_t stored(task::DType type, double value) {
  std::uint16_t bits = 0;
  task::store_element(type, reinterpret_cast<std::byte*>(&bits), value);
  return bits;
}

double loaded(task::DType type, std::uint16_t bits) {
  return task::load_element(type, reinterpret_cast<const std::byte*>(&bits));
}

// The task room stores and loads by arithmetic on double, the prelude by bits of float: two roads to one answer.
TEST(PreludeTypes, EveryHalfReadsAsTheTaskRoomReadsIt) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    hone_bf16 b;
    b.bits = h;
    const double f = f16_value(h), want = loaded(task::DType::f16, h), g = float(b), want_b = loaded(task::DType::bf16, h);
    ASSERT_TRUE(f == want || (std::isnan(f) && std::isnan(want))) << bits;
    ASSERT_TRUE(g == want_b || (std::isnan(g) && std::isnan(want_b))) << bits;
    ASSERT_EQ(std::signbit(f), (bits & 0x8000u) != 0) << bits;
  }
}

TEST(PreludeTypes, RoundingToHalvesIsToNearestEven) {
  // Every half, the midpoint to the next one, and a step of float to either side of both.
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    const float here = f16_value(static_cast<std::uint16_t>(bits)), next = bits + 1 == 0x7C00 ? 65536.0F : f16_value(static_cast<std::uint16_t>(bits + 1));
    const float middle = (here + next) / 2;
    for (const float x : {here, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e30F), -middle, -here}) {
      ASSERT_EQ(f16_bits(x), stored(task::DType::f16, x)) << x;
      ASSERT_EQ(hone_bf16(x).bits, stored(task::DType::bf16, x)) << x;
    }
  }
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(f16_bits(infinity), 0x7C00);
  EXPECT_EQ(f16_bits(-infinity), 0xFC00);
  EXPECT_TRUE(std::isnan(f16_value(f16_bits(nan))));
  EXPECT_TRUE(std::isnan(float(hone_bf16(nan))));
  EXPECT_EQ(hone_bf16(std::numeric_limits<float>::max()).bits, 0x7F80) << "rounds to infinity";
}

/// x rounded to `bits` significand bits, steps not under 2^lowest: by division in double, where both are exact.
double rounded(double x, int bits, int lowest) {
  if (x == 0) return x;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x) - bits + 1, lowest));
  return std::nearbyint(x / step) * step;
}

TEST(PreludeRounding, MultiplicandsFollowTheirClass) {
  std::uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float x = std::ldexp(static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F, static_cast<int>(state % 37) - 22);
    ASSERT_EQ(round_tf32(x), rounded(x, 11, -149)) << x;
    ASSERT_EQ(round_bf16(x), rounded(x, 8, -133)) << x;
    const double e4m3 = rounded(x, 4, -9);
    ASSERT_EQ(round_fp8(x), std::abs(e4m3) > 448 ? std::copysign(448.0, x) : e4m3) << x;
  }
  EXPECT_EQ(round_fp8(1e30F), 448.0F);
  EXPECT_EQ(round_fp8(-1e30F), -448.0F);
  EXPECT_TRUE(std::isnan(round_fp8(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(round_tf32(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
}

TEST(PreludeMathematics, ComputesInItsArgumentsType) {
  static_assert(std::is_same_v<decltype(hone::exp(1.0F)), float>);
  static_assert(std::is_same_v<decltype(hone::exp(1.0)), double>);
  static_assert(std::is_same_v<decltype(hone::exp(__float128(1))), __float128>);
  static_assert(std::is_same_v<decltype(hone::exp(hone_bf16(1.0F))), HONE_REAL>);
  static_assert(std::is_same_v<decltype(hone::sqrt(2)), HONE_REAL>);
  static_assert(std::is_same_v<decltype(hone::max(1.0F, __float128(1))), __float128>);
  static_assert(std::is_same_v<decltype(hone::pow(1.0F, 2)), HONE_REAL>);
  EXPECT_EQ(hone::exp(1.0F), std::exp(1.0F));
  EXPECT_EQ(hone::pow(2.0, 10), 1024.0);
  EXPECT_EQ(hone::max(3, 4), 4.0);
  EXPECT_EQ(hone::min(hone_bf16(3.0F), 4.0F), 3.0);
  EXPECT_EQ(hone::abs(-2.5F), 2.5F);
  EXPECT_EQ(hone::rsqrt(4.0), 0.5);
  EXPECT_TRUE(hone::isnan(std::nan("")) && !hone::isnan(1.0));
  EXPECT_TRUE(hone::isinf(std::numeric_limits<float>::infinity()) && !hone::isinf(std::nan("")));
}

TEST(PreludeHeaders, OnlySlowOnesArePrecompiledAndOnlyWhenNoMacroCouldChangeThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(headers_to_precompile("int f();"), Names{});
  EXPECT_EQ(headers_to_precompile("#include <cstdint>\n"), Names{}) << "quick alone";
  EXPECT_EQ(headers_to_precompile("#include <cstdint>\n  #  include<cmath> // x\n#include <cmath>\n"), (Names{"cmath", "cstdint"}));
  EXPECT_EQ(headers_to_precompile("#include <immintrin.h>\n#include <unheard_of>\n"), Names{"immintrin.h"});
  EXPECT_EQ(headers_to_precompile("#define _GNU_SOURCE\n#include <cmath>\n"), Names{});
  EXPECT_EQ(headers_to_precompile("#include \"cmath\"\n"), Names{});
}

TEST(PreludeText, CandidatesGetTypesAloneUnlessTheySpeakLikeAReference) {
  candidate::Resolved resolved;
  resolved.source = "void f() {}";
  EXPECT_EQ(prelude_for(resolved).text.find("HONE_REAL"), std::string::npos);
  resolved.source = "void f(HONE_REAL) {}";
  EXPECT_NE(prelude_for(resolved).text.find("#define HONE_REAL float\n"), std::string::npos);
  resolved.precision = task::Precision::bf16;
  resolved.build = candidate::Build::rounded;
  EXPECT_NE(prelude_for(resolved).text.find("#define HONE_ROUND hone::round_bf16\n"), std::string::npos);
}

TEST(ObjectCache, EvictsTheLeastRecentlyUsedAndKeepsTheRest) {
  auto folder = TemporaryFolder::make("hone-cache-test");
  ASSERT_TRUE(folder.ok());
  ObjectCache cache(folder->path(), 3000);
  const auto key = [](int i) { return std::string(62, 'a') + std::to_string(10 + i); };
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 4; ++i) {
    cache.store(key(i), {Json::object(), std::string(900, 'x')});
    fs::last_write_time(folder->path() / "aa" / key(i).substr(2), now - std::chrono::hours(10 - i));
  }
  ASSERT_TRUE(cache.find(key(0))) << "used now, so no longer the oldest";
  cache.evict();
  EXPECT_TRUE(cache.find(key(0)));
  EXPECT_FALSE(cache.find(key(1)));
  EXPECT_TRUE(cache.find(key(3)));
}

TEST(ObjectCache, AnEntryUnderAForeignNameIsAMiss) {
  auto folder = TemporaryFolder::make("hone-cache-test");
  ASSERT_TRUE(folder.ok());
  ObjectCache cache(folder->path(), 1 << 20);
  const std::string one(64, 'a'), other(64, 'b');
  cache.store(one, {{{"log", "text"}}, "object"});
  const auto found = cache.find(one);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->object, "object");
  EXPECT_EQ(found->meta["log"], "text");
  fs::create_directories(folder->path() / "bb");
  fs::copy_file(folder->path() / "aa" / one.substr(2), folder->path() / "bb" / other.substr(2));
  EXPECT_FALSE(cache.find(other)) << "its digest covers the key";
  EXPECT_FALSE(fs::exists(folder->path() / "bb" / other.substr(2)));
}

}  // namespace
}  // namespace hone::lane
