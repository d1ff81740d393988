#include "judge/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hone::judge {
namespace {

Verdict full_verdict() {
  Verdict v;
  v.correct = true;
  v.cls = Class::B;
  v.depth = Depth::verify;
  v.answer = Answer::faster;
  v.gates = {{"static", GateResult::State::pass, "", 12.5},
             {"memory", GateResult::State::skipped, "no clang", 0},
             {"performance", GateResult::State::fail, "slow", 3}};
  v.failure = candidate::Failure{"performance", "not_faster", "no gain", {{"margin", 0.01}}};
  Speed s;
  s.case_label = "N=4";
  s.answer = Answer::faster;
  s.ratio = 2.5;
  s.low = 2.25;
  s.high = std::numeric_limits<double>::infinity();
  s.confidence = 0.99;
  s.candidate_ns = 100;
  s.baseline_ns = 250;
  s.pairs = 8;
  s.rounds = 64;
  s.cache = "cold";
  s.inputs = "rotating 8";
  s.reason = "none";
  s.samples = {{"slots", {1, 2, 3}}};
  v.speeds = {s};
  v.geomean = 2.5;
  v.geomean_low = 2.25;
  v.geomean_high = std::numeric_limits<double>::infinity();
  v.flops_note = "1.0 of min_flops";
  v.identity = "id";
  v.source_hash = "src";
  v.machine_code_hash = "code";
  v.task_identity = "task";
  v.device = "cpu";
  v.assignment = {{"TILE", "8"}, {"OPT", "-O3"}};
  v.seeds = {0, std::numeric_limits<std::uint64_t>::max(), (std::uint64_t{1} << 53) + 1};
  v.errors = {{"y", {{"rms", 0.5}}}};
  v.sandbox = {"uid", "bubblewrap"};
  v.total_ms = 1;
  v.compile_ms = 2;
  v.timing_ms = 3;
  return v;
}

TEST(Verdict, EveryFieldSurvivesTheRoundTripThroughText) {
  const Verdict before = full_verdict();
  const std::string text = to_json(before, true).dump();
  const auto parsed = parse_json(text, "verdict");
  ASSERT_TRUE(parsed.ok());
  const auto after = verdict_from_json(*parsed);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(to_json(*after, true).dump(), text);
  // to_json could forget a field on both ways, so the fields are looked at too.
  EXPECT_EQ(after->cls, Class::B);
  EXPECT_EQ(after->depth, Depth::verify);
  EXPECT_EQ(after->answer, Answer::faster);
  EXPECT_EQ(after->gates.size(), 3u);
  EXPECT_EQ(after->gates[1].state, GateResult::State::skipped);
  EXPECT_EQ(after->gates[1].note, "no clang");
  EXPECT_EQ(after->gates[0].ms, 12.5);
  ASSERT_TRUE(after->failure.has_value());
  EXPECT_EQ(after->failure->evidence["margin"], 0.01);
  EXPECT_TRUE(std::isinf(after->geomean_high));
  EXPECT_EQ(after->geomean_low, 2.25);
  EXPECT_EQ(after->speeds[0].pairs, 8);
  EXPECT_EQ(after->speeds[0].rounds, 64);
  EXPECT_EQ(after->speeds[0].cache, "cold");
  EXPECT_EQ(after->speeds[0].reason, "none");
  EXPECT_EQ(after->speeds[0].samples["slots"][2], 3);
  EXPECT_EQ(after->speeds[0].confidence, 0.99);
  EXPECT_EQ(after->seeds, before.seeds);
  EXPECT_EQ(after->assignment, before.assignment);
  EXPECT_EQ(after->errors["y"]["rms"], 0.5);
  EXPECT_EQ(after->sandbox.size(), 2u);
  EXPECT_EQ(after->device, "cpu");
  EXPECT_EQ(after->timing_ms, 3);
  EXPECT_EQ(after->compile_ms, 2);
  EXPECT_EQ(after->machine_code_hash, "code");
}

TEST(Verdict, SamplesStayOutUnlessAskedFor) {
  EXPECT_FALSE(to_json(full_verdict())["speeds"][0].contains("samples"));
}

TEST(Verdict, WithoutATimedCaseThereIsNoRatio) {
  const Json json = to_json(Verdict{});
  EXPECT_TRUE(json["speedup"].is_null());
  const auto back = verdict_from_json(json);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->geomean, 1);
}

TEST(Verdict, BrokenDocumentsAreErrorsThatNameTheKey) {
  const auto message = [](const char* text) {
    const auto json = parse_json(text, "test");
    EXPECT_TRUE(json.ok()) << text;
    const auto verdict = verdict_from_json(*json);
    return verdict.ok() ? std::string("accepted") : verdict.error().message;
  };
  EXPECT_NE(message("[]").find("object"), std::string::npos);
  EXPECT_NE(message("{}").find("correct"), std::string::npos);
  EXPECT_NE(message(R"({"correct":true,"class":"Z","depth":"screen","answer":"same"})").find("'Z'"), std::string::npos);
  EXPECT_NE(message(R"({"correct":true,"class":"A","depth":"screen","answer":"same","seeds":["12"]})").find("seed"),
            std::string::npos);
  EXPECT_NE(message(R"({"correct":true,"class":"A","depth":"screen","answer":"same","assignment":{"T":8}})").find("'T'"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::judge
