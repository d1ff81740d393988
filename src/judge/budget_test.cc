// Expected decisions follow by hand from rms z(c) ≤ 5 · rms z(r) + 2.5, max z(c) ≤ 5 · max z(r) + 10 (docs/error-budget.md).
#include "judge/budget.h"

#include <gtest/gtest.h>

#include <cmath>

#include "judge/reasons.h"

namespace hone::judge {
namespace {

using runner::DrawCheck;
using runner::OutputErrors;
using task::Distribution;

OutputErrors errors(std::int64_t n, double rms_c, double max_c, double rms_r, double max_r) {
  OutputErrors e;
  e.name = "y";
  e.elements = e.counted = n;
  e.sum2_candidate = rms_c * rms_c * static_cast<double>(n);
  e.max_candidate = max_c;
  e.sum2_reference = rms_r * rms_r * static_cast<double>(n);
  e.max_reference = max_r;
  e.reference_exact = rms_r == 0;
  e.bits_differ = rms_c > 0 ? n : 0;
  e.worst.index = 7;
  e.worst.z_candidate = max_c;
  return e;
}
DrawName draw(std::uint64_t seed, Distribution distribution = Distribution::nominal) {
  return {"N=1000", {{"N", 1000}}, {seed, distribution, 0}};
}
OutputDecision decide(std::vector<OutputErrors> draws) {
  Pool pool;
  std::uint64_t seed = 1;
  for (OutputErrors& e : draws) pool.add(draw(seed++), DrawCheck{{e}, false, ""});
  return pool.decide({}).at(0);
}

TEST(Budget, BitwiseEqualIsA) { EXPECT_EQ(decide({errors(1000, 0, 0, 0.5, 1)}).cls, Class::A); }

TEST(Budget, WithinTheBudgetIsB) {
  EXPECT_EQ(decide({errors(1000, 5, 15, 0.5, 1)}).cls, Class::B);  // both at their limits: 5·0.5+2.5, 5·1+10
}

TEST(Budget, ALargeElementIsWrong) {
  const OutputDecision d = decide({errors(1000, 1, 15.01, 0.5, 1)});
  EXPECT_EQ(d.cls, Class::wrong);
  EXPECT_EQ(d.reason, "wrong_value");
  EXPECT_FALSE(d.rms_only);
  EXPECT_EQ(d.bad.index, 7);
}

TEST(Budget, ALargeRmsIsWrongThoughNoElementIs) {
  const OutputDecision d = decide({errors(1000, 5.01, 10, 0.5, 1)});
  EXPECT_EQ(d.cls, Class::wrong);
  EXPECT_TRUE(d.rms_only);
}

TEST(Budget, PoolsOverDraws) {
  // Alone the first draw's limit is 5·0.1+10 = 10.5; the pool's is 5·1+10 = 15.
  EXPECT_EQ(decide({errors(1000, 1, 11, 0.1, 0.1)}).cls, Class::wrong);
  EXPECT_EQ(decide({errors(1000, 1, 11, 0.1, 0.1), errors(1000, 1, 11, 0.5, 1)}).cls, Class::B);
  // rms over both: sqrt((36+1)/2) = 4.3 within 5·0.5+2.5 = 5, though the first alone is at 6.
  EXPECT_EQ(decide({errors(1000, 6, 9, 0.5, 1), errors(1000, 1, 9, 0.5, 1)}).cls, Class::B);
}

TEST(Budget, TheDrawThatFailsIsNamed) {
  const OutputDecision d = decide({errors(1000, 1, 2, 0.5, 1), errors(1000, 1, 20, 0.5, 1)});
  EXPECT_EQ(d.draw.spec.seed, 2u);
}

TEST(Budget, LowerClassMakesC) {
  OutputErrors e = errors(1000, 900, 3000, 0.5, 1);
  e.has_lower = true;
  e.sum2_lower = 500.0 * 500.0 * 1000;
  e.max_lower = 1500;
  EXPECT_EQ(decide({e}).cls, Class::C);  // 900 ≤ 5·500+2.5 and 3000 ≤ 5·1500+10
  e.max_candidate = 7511;
  EXPECT_EQ(decide({e}).cls, Class::wrong);
}

TEST(Budget, ExactMismatchIsWrongWhateverTheErrors) {
  OutputErrors e = errors(1000, 0, 0, 0.5, 1);
  e.exact_wrong = 1;
  e.worst.why = "NaN where the truth is a finite value";
  e.first_bad.index = 3;
  EXPECT_EQ(decide({e}).reason, "not_finite");
  EXPECT_EQ(decide({e}).bad.index, 3);
  e.worst.why = "an integer other than the true one";
  EXPECT_EQ(decide({e}).reason, "wrong_integer");
  e.worst.why = "an index out of range";
  EXPECT_EQ(decide({e}).reason, "wrong_index");
  e.poison_left = 5;
  EXPECT_EQ(decide({e}).reason, "unwritten");
}

TEST(Budget, InvalidDrawsAreLeftOut) {
  OutputErrors bad = errors(1000, 100, 100, 0.5, 1);
  bad.skipped = 1;  // exactly 0.1 %: still valid
  EXPECT_EQ(decide({bad}).cls, Class::wrong);
  bad.skipped = 2;
  const OutputDecision none = decide({bad});
  EXPECT_EQ(none.cls, Class::A);
  EXPECT_EQ(none.draws, 0);
  EXPECT_EQ(none.invalid_draws, 1);
}

TEST(Ledger, ExactEverywhereDemandsExact) {
  OutputErrors e = errors(1000, 0.1, 1, 0, 0);
  e.inexact = 1;
  e.first_inexact.index = 9;
  Ledger ledger({});
  ledger.add(draw(1), {{e}, false, ""});
  const auto wrong = ledger.close_all();
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->reason, "not_exact");
  EXPECT_EQ(wrong->bad.index, 9);
  EXPECT_EQ(ledger.cls(), Class::wrong);
}

TEST(Ledger, ExactByLuckInOneCaseDemandsNothing) {
  OutputErrors lucky = errors(1000, 0.1, 1, 0, 0);
  lucky.inexact = 1;
  Ledger ledger({});
  ledger.add(draw(1), {{lucky}, false, ""});
  ledger.add(draw(2, Distribution::shifted), {{errors(1000, 0.1, 1, 0.5, 1)}, false, ""});
  EXPECT_FALSE(ledger.close_all().has_value());
  EXPECT_EQ(ledger.cls(), Class::B);
}

TEST(Ledger, KeepsTheWorstCaseOfEachDistribution) {
  Ledger ledger({});
  ledger.add(draw(1), {{errors(1000, 1, 2, 0.5, 1)}, false, ""});
  EXPECT_FALSE(ledger.close("N=1000", Distribution::nominal).has_value());
  DrawName other = draw(2);
  other.case_label = "N=5";
  ledger.add(other, {{errors(1000, 3, 2, 0.5, 1)}, false, ""});
  EXPECT_FALSE(ledger.close_all().has_value());
  EXPECT_EQ(ledger.errors()["y"]["nominal"]["case"], "N=5");
  EXPECT_EQ(ledger.errors()["y"]["nominal"]["rms"], 3.0);
  EXPECT_TRUE(ledger.any_nominal());
}

TEST(Failure, CarriesTheEvidence) {
  const candidate::Failure f = failure_of(decide({errors(1000, 1, 100, 0.5, 1)}));
  for (const char* key : {"output", "index", "value", "truth", "reference", "error_candidate", "error_reference",
                          "distribution", "seed", "case", "next"})
    EXPECT_TRUE(f.evidence.contains(key)) << key;
  EXPECT_EQ(f.evidence["seed"], "0x0000000000000001");
  EXPECT_EQ(f.evidence["error_candidate"], 100.0);
  EXPECT_FALSE(f.evidence["next"].get<std::string>().empty());
  EXPECT_NE(find_reason(f.gate, f.reason), nullptr);
}

}  // namespace
}  // namespace hone::judge
