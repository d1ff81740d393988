// Expected values are worked out by hand from the definitions in DESIGN.md §7: z = |k − t| / (s + half an ulp).
#include "runner/metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

namespace hone::runner {
namespace {

using task::DType;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::byte> kNoPoison;

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

Truth f32_truth(std::vector<double> t, std::vector<double> r, double s = 0) {
  Truth truth;
  truth.spread.assign(t.size(), s);
  std::vector<float> bits(r.begin(), r.end());
  truth.rounded_bits = bytes_of(bits);
  truth.hi = std::move(t);
  truth.rounded = std::move(r);
  return truth;
}
OutputErrors measure(const Truth& truth, const std::vector<float>& c,
                     const std::vector<std::byte>& poison = kNoPoison) {
  return measure_errors("y", truth, bytes_of(c), {}, poison);
}

TEST(HalfUlp, FollowsTheBinadeOfEachType) {
  // ulp of 1 with p significand bits is 2^(1-p).
  EXPECT_EQ(half_ulp(DType::f64, 1.0), 0x1p-53);
  EXPECT_EQ(half_ulp(DType::f32, 1.0), 0x1p-24);
  EXPECT_EQ(half_ulp(DType::f16, 1.0), 0x1p-11);
  EXPECT_EQ(half_ulp(DType::bf16, 1.0), 0x1p-8);
  EXPECT_EQ(half_ulp(DType::f32, 1.999), 0x1p-24);
  EXPECT_EQ(half_ulp(DType::f32, -2.0), 0x1p-23);
  EXPECT_EQ(half_ulp(DType::f16, 1000.0), 0.25);  // 512 ≤ 1000 < 1024: ulp 2^(9-10)
}

TEST(HalfUlp, IsNeverUnderTheSmallestNormals) {
  EXPECT_EQ(half_ulp(DType::f32, 0.0), 0x1p-150);  // 2^-126 · 2^-24
  EXPECT_EQ(half_ulp(DType::f32, 1e-45), 0x1p-150);
  EXPECT_EQ(half_ulp(DType::f16, 0.0), 0x1p-25);
  EXPECT_EQ(half_ulp(DType::bf16, 1e-50), 0x1p-134);
  EXPECT_EQ(half_ulp(DType::f64, 0.0), 0x1p-1074);  // 2^-1075 is no double
  EXPECT_EQ(half_ulp(DType::f32, -0.0), 0x1p-150);
}

TEST(Metrics, SumsAndMaximaOfZ) {
  // Half an ulp of 1 is 2^-24 and s is 2^-24: one unit is 2^-23, the ulp of 1.
  const Truth truth = f32_truth({1, 1, 1, 1}, {1, 1 + 0x1p-23, 1, 1}, 0x1p-24);
  const OutputErrors e = measure(truth, {1, 1, 1 + 0x1p-23f, 1 - 3 * 0x1p-23f});
  EXPECT_EQ(e.elements, 4);
  EXPECT_EQ(e.counted, 4);
  EXPECT_EQ(e.sum2_candidate, 1 + 9);
  EXPECT_EQ(e.max_candidate, 3);
  EXPECT_EQ(e.sum2_reference, 1);
  EXPECT_EQ(e.max_reference, 1);
  EXPECT_EQ(e.bits_differ, 3);
  EXPECT_FALSE(e.reference_exact);
  EXPECT_EQ(e.exact_wrong, 0);
  EXPECT_EQ(e.worst.index, 3);
  EXPECT_EQ(e.worst.z_candidate, 3);
  EXPECT_EQ(e.first_bad.index, -1);  // 3 ≤ 5·1 + 10
}

TEST(Metrics, FirstBadIsTheFirstBeyondTheDrawsOwnBudget) {
  std::vector<double> t(3000, 1.0), r(3000, 1.0);
  std::vector<float> c(3000, 1.0f);
  r[5] = 1 + 0x1p-24;              // z(r) = 1: the limit is 15
  c[1500] = 1 + 14 * 0x1p-24f;     // within
  c[2100] = 1 + 16 * 0x1p-24f;     // beyond
  c[2500] = 1 + 100 * 0x1p-24f;    // beyond and worst
  const OutputErrors e = measure(f32_truth(t, r), c);
  EXPECT_EQ(e.first_bad.index, 2100);
  EXPECT_EQ(e.first_bad.z_candidate, 16);
  EXPECT_EQ(e.first_bad.why, "beyond the budget");
  EXPECT_EQ(e.worst.index, 2500);
  EXPECT_EQ(e.max_candidate, 100);
}

TEST(Metrics, FastAndSlowPathsAgree) {
  std::vector<double> t, r;
  std::vector<float> c;
  for (int i = 0; i < 1024; ++i) {
    const double x = std::sin(i) * std::ldexp(1.0, i % 40 - 20);
    t.push_back(x);
    r.push_back(static_cast<double>(static_cast<float>(x)));
    c.push_back(static_cast<float>(x * (1 + 1e-7 * std::cos(i))));
  }
  const OutputErrors fast = measure(f32_truth(t, r, 1e-9), c);
  t[1000] = r[1000] = kNan;  // the whole block now goes element by element
  c[1000] = std::numeric_limits<float>::quiet_NaN();
  const OutputErrors slow = measure(f32_truth(t, r, 1e-9), c);
  EXPECT_NEAR(slow.sum2_candidate, fast.sum2_candidate, 20);
  EXPECT_GT(fast.sum2_candidate, 100);
  EXPECT_EQ(slow.max_candidate, fast.max_candidate);
  EXPECT_EQ(slow.max_reference, fast.max_reference);
  EXPECT_EQ(slow.worst.index, fast.worst.index);
}

TEST(Metrics, InfinityAndNanFollowTheTruth) {
  const Truth truth = f32_truth({kInf, -kInf, kNan, 1e40, 1}, {kInf, -kInf, kNan, kInf, 1});
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const OutputErrors good = measure(truth, {inf, -inf, nan, inf, 1});  // 1e40 overflows f32
  EXPECT_EQ(good.exact_wrong, 0);
  EXPECT_EQ(good.counted, 5);
  const OutputErrors sign = measure(truth, {inf, inf, nan, inf, 1});
  EXPECT_EQ(sign.exact_wrong, 1);
  EXPECT_EQ(sign.worst.index, 1);
  EXPECT_EQ(sign.worst.why, "infinity where the truth is -infinity");
  const OutputErrors finite = measure(truth, {inf, -inf, 3, inf, nan});
  EXPECT_EQ(finite.exact_wrong, 2);
  EXPECT_EQ(finite.first_bad.index, 2);
  EXPECT_EQ(finite.first_bad.why, "a finite value where the truth is NaN");
  EXPECT_TRUE(std::isinf(finite.worst.z_candidate));
}

TEST(Metrics, ReferenceOutOfPlaceIsSkippedAndCounted) {
  const Truth truth = f32_truth({1, 2, 1e40}, {kNan, 2, kNan});
  const OutputErrors e = measure(truth, {77, 2, 77});
  EXPECT_EQ(e.skipped, 2);
  EXPECT_EQ(e.counted, 1);
  EXPECT_EQ(e.exact_wrong, 0);
  EXPECT_FALSE(e.reference_exact);
}

TEST(Metrics, RoundingAloneMayDecideBetweenTheLargestFiniteValueAndInfinity) {
  Truth truth;
  truth.dtype = DType::f16;
  truth.hi = {65510, 100};
  truth.rounded = {65510, 100};
  truth.spread = {0, 0};
  truth.rounded_bits = bytes_of<std::uint16_t>({0x7BFF, 0x5640});
  const auto half = [&](std::uint16_t a, std::uint16_t b) {
    return measure_errors("y", truth, bytes_of<std::uint16_t>({a, b}), {}, {});
  };
  EXPECT_EQ(half(0x7C00, 0x5640).exact_wrong, 0);  // infinity for 65510: 10 below the half way of 16
  EXPECT_EQ(half(0xFC00, 0x5640).exact_wrong, 1);  // minus infinity
  EXPECT_EQ(half(0x7BFF, 0x7C00).exact_wrong, 1);  // infinity for 100
}

TEST(Metrics, HalfPrecisionLoads) {
  // 0x3C00 = 1, 0x0001 = 2^-24 (denormal), 0xC000 = -2, 0x7BFF = 65504.
  Truth truth;
  truth.dtype = DType::f16;
  truth.hi = truth.rounded = {1, 0x1p-24, -2, 65504};
  truth.spread.assign(4, 0);
  truth.rounded_bits = bytes_of<std::uint16_t>({0x3C00, 0x0001, 0xC000, 0x7BFF});
  const OutputErrors same = measure_errors("y", truth, truth.rounded_bits, {}, {});
  EXPECT_EQ(same.sum2_candidate, 0);
  EXPECT_EQ(same.bits_differ, 0);
  EXPECT_TRUE(same.reference_exact);
  // One bit more in each: 1 ulp = 2 half ulps everywhere but the denormal, whose unit is 2^-25.
  const OutputErrors next =
      measure_errors("y", truth, bytes_of<std::uint16_t>({0x3C01, 0x0002, 0xC001, 0x7BFE}), {}, {});
  EXPECT_EQ(next.sum2_candidate, 4 * 4);
  EXPECT_EQ(next.inexact, 4);
  EXPECT_EQ(next.first_inexact.index, 0);

  truth.dtype = DType::bf16;  // 0x3F80 = 1, 0x4000 = 2
  truth.hi = truth.rounded = {1, 2};
  truth.spread.assign(2, 0);
  truth.rounded_bits = bytes_of<std::uint16_t>({0x3F80, 0x4000});
  const OutputErrors b = measure_errors("y", truth, bytes_of<std::uint16_t>({0x3F82, 0x4000}), {}, {});
  EXPECT_EQ(b.max_candidate, 4);
}

TEST(Metrics, ExactReferenceDemandsExactValues) {
  const Truth truth = f32_truth({0, 3}, {0, 3});
  const OutputErrors zero = measure(truth, {-0.0f, 3});
  EXPECT_TRUE(zero.reference_exact);
  EXPECT_EQ(zero.bits_differ, 1);
  EXPECT_EQ(zero.inexact, 0);  // −0 equals 0
  const OutputErrors off = measure(truth, {0, 3.0000002f});
  EXPECT_EQ(off.inexact, 1);
  EXPECT_EQ(off.first_inexact.index, 1);
  EXPECT_EQ(off.first_inexact.truth, 3);
}

TEST(Metrics, ExactReferenceBeyondTheStorageTypesPrecision) {
  // 2049 needs 12 bits: t = r = 2049 in float, and the only right half is its rounding, 2048 (ties to even).
  Truth truth;
  truth.dtype = DType::f16;
  truth.hi = truth.rounded = {2049};
  truth.spread = {0};
  truth.rounded_bits = bytes_of<std::uint16_t>({0x6800});
  EXPECT_EQ(measure_errors("y", truth, bytes_of<std::uint16_t>({0x6800}), {}, {}).inexact, 0);
  EXPECT_EQ(measure_errors("y", truth, bytes_of<std::uint16_t>({0x6801}), {}, {}).inexact, 1);  // 2050
}

TEST(Metrics, IntegersAreExact) {
  Truth truth;
  truth.dtype = DType::i64;
  const std::int64_t big = (std::int64_t{1} << 53) + 1;  // no double
  truth.hi = {0x1p53, -7, 5};
  truth.lo = {1, 0, 0};
  truth.rounded = {0x1p53, -7, 6};
  truth.rounded_bits = bytes_of<std::int64_t>({big, -7, 6});
  const auto run = [&](std::int64_t a, std::int64_t b, std::int64_t c) {
    return measure_errors("y", truth, bytes_of<std::int64_t>({a, b, c}), {}, {});
  };
  EXPECT_EQ(run(big, -7, 5).exact_wrong, 0);
  EXPECT_EQ(run(big, -7, 6).exact_wrong, 0);  // the reference's own answer is as right as the reference
  EXPECT_FALSE(run(big, -7, 5).reference_exact);
  EXPECT_EQ(run(big - 1, -7, 5).exact_wrong, 1);
  EXPECT_EQ(run(big, 7, 4).exact_wrong, 2);
  EXPECT_EQ(run(big, 7, 4).first_bad.index, 1);
  EXPECT_EQ(run(big, 7, 4).worst.index, 1);
}

TEST(Metrics, ExactIntegersCountAsExactReference) {
  Truth truth;
  truth.dtype = DType::u8;
  truth.hi = truth.rounded = {0, 255};
  truth.rounded_bits = bytes_of<std::uint8_t>({0, 255});
  const OutputErrors e = measure_errors("y", truth, bytes_of<std::uint8_t>({0, 255}), {}, {});
  EXPECT_TRUE(e.reference_exact);
  EXPECT_EQ(e.inexact, 0);
  EXPECT_EQ(e.counted, 2);
}

TEST(Metrics, SelectIsJudgedByWhatItSelects) {
  Truth truth;
  truth.dtype = DType::i32;
  truth.select = true;
  truth.hi = {1, 4};          // values of the true indices
  truth.rounded = {1, 4};
  truth.spread = {0, 0};
  truth.rounded_bits = bytes_of<std::int32_t>({3, 9});
  const auto output = bytes_of<std::int32_t>({8, 9});
  const std::vector<double> near = {1 + 0x1p-23, 4}, out_of_range = {kNan, 4};
  const OutputErrors tie = measure_errors("i", truth, output, near, {});
  EXPECT_EQ(tie.exact_wrong, 0);
  EXPECT_EQ(tie.max_candidate, 2);  // 2^-23 in units of half an f32 ulp
  EXPECT_EQ(tie.bits_differ, 1);
  EXPECT_FALSE(tie.reference_exact);
  const OutputErrors bad = measure_errors("i", truth, output, out_of_range, {});
  EXPECT_EQ(bad.exact_wrong, 1);
  EXPECT_EQ(bad.first_bad.why, "an index out of range");
  const std::vector<double> nothing = {1, kInf};
  EXPECT_EQ(measure_errors("i", truth, output, nothing, {}).first_bad.why,
            "an index that selects infinity where the truth is a finite value");
}

TEST(Metrics, WiderTruthCountsItsLowPart) {
  Truth truth;
  truth.dtype = DType::f64;
  truth.hi = {1};
  truth.lo = {0x1p-54};
  truth.rounded = {1};
  truth.spread = {0};
  truth.rounded_bits = bytes_of<double>({1});
  const OutputErrors e = measure_errors("y", truth, bytes_of<double>({1.0 + 0x1p-52}), {}, {});
  EXPECT_EQ(e.max_candidate, 1.5);  // (2^-52 − 2^-54) / 2^-53
  EXPECT_EQ(e.max_reference, 0.5);
  EXPECT_FALSE(e.reference_exact);
}

TEST(Metrics, PoisonLeftIsCountedUnlessItIsTheTruth) {
  const std::vector<std::byte> poison = bytes_of<std::uint32_t>({0x7FC0DEADu});
  const float p = std::bit_cast<float>(0x7FC0DEADu);
  EXPECT_EQ(measure(f32_truth({1, 2, 3}, {1, 2, 3}), {1, p, p}, poison).poison_left, 2);
  EXPECT_EQ(measure(f32_truth({1, 2, 3}, {1, 2, 3}), {1, p, p}, poison).exact_wrong, 2);
  Truth bytes;
  bytes.dtype = DType::u8;
  bytes.hi = bytes.rounded = {0xA5, 1};
  bytes.rounded_bits = bytes_of<std::uint8_t>({0xA5, 1});
  const auto one = bytes_of<std::uint8_t>({0xA5});
  EXPECT_EQ(measure_errors("y", bytes, bytes_of<std::uint8_t>({0xA5, 1}), {}, one).poison_left, 0);
  EXPECT_EQ(measure_errors("y", bytes, bytes_of<std::uint8_t>({0xA5, 0xA5}), {}, one).poison_left, 1);
}

TEST(Metrics, LowerClassHasItsOwnSums) {
  Truth truth = f32_truth({1, 1}, {1, 1});
  truth.lower = {1 + 0x1p-9, 1};
  const OutputErrors e = measure(truth, {1, 1});
  EXPECT_TRUE(e.has_lower);
  EXPECT_EQ(e.max_lower, 0x1p15);
  EXPECT_EQ(e.sum2_lower, 0x1p30);
}

TEST(Metrics, EmptyOutputIsClean) {
  const OutputErrors e = measure(f32_truth({}, {}), {});
  EXPECT_EQ(e.elements, 0);
  EXPECT_EQ(e.exact_wrong, 0);
  EXPECT_TRUE(e.reference_exact);
}

TEST(Metrics, PoolingAddsSumsAndKeepsTheWorst) {
  OutputErrors a = measure(f32_truth({1, 1}, {1, 1}), {1, 1 + 0x1p-23f});
  const OutputErrors b = measure(f32_truth({1, 1}, {1 + 0x1p-24, 1}), {1 + 5 * 0x1p-23f, 1});
  a.add(b);
  EXPECT_EQ(a.elements, 4);
  EXPECT_EQ(a.sum2_candidate, 4 + 100);
  EXPECT_EQ(a.max_candidate, 10);
  EXPECT_EQ(a.max_reference, 1);
  EXPECT_EQ(a.worst.z_candidate, 10);
  EXPECT_FALSE(a.reference_exact);
  OutputErrors none;
  none.add(b);
  EXPECT_EQ(none.counted, 2);
  EXPECT_EQ(none.worst.index, 0);
}

TEST(Metrics, ComesBackFromJson) {
  Truth truth = f32_truth({1, kInf, 3}, {1, kInf, 3});
  truth.lower = {1, 2, 3};
  const OutputErrors e = measure(truth, {1, 2, 4});
  auto back = output_errors_from_json(*parse_json(to_json(e).dump(), "errors"));
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(to_json(*back), to_json(e));
  EXPECT_TRUE(std::isinf(back->worst.z_candidate));
  EXPECT_FALSE(output_errors_from_json(Json::object()).ok());
}

}  // namespace
}  // namespace hone::runner
