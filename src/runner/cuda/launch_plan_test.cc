#include "runner/cuda/launch_plan.h"

#include <gtest/gtest.h>

namespace hone::runner {
namespace {

TEST(LaunchPlan, CrossesAsJson) {
  candidate::Resolved plan;
  plan.lane = "cuda";
  plan.launches = {{"first", {"ceil_div(N, 128)", "2"}, {"128"}, "512", {{0, "float", true}, {2, "int", false}}}};
  plan.selects = {{}, {"hone_select_1", {}, {}, "0", {{1, "float", true}}}};
  candidate::Scratch scratch;
  scratch.name = "part";
  scratch.dtype = task::DType::f64;
  scratch.shape = {*task::Expression::parse("N"), *task::Expression::parse("T + 1")};
  scratch.zero = true;
  plan.scratch = {scratch};
  plan.narrow_dims = {{"N", "int"}, {"M", "unsigned"}};
  plan.in_place = true;
  plan.assignment = {{"T", "4"}};
  const auto parsed = parse_json(plan_to_json(plan).dump(), "plan");
  ASSERT_TRUE(parsed.ok());
  const auto back = plan_from_json(*parsed);
  ASSERT_TRUE(back.ok()) << back.error().text();
  ASSERT_EQ(back->launches.size(), 1u);
  EXPECT_EQ(back->launches[0].kernel, "first");
  EXPECT_EQ(back->launches[0].grid, plan.launches[0].grid);
  EXPECT_EQ(back->launches[0].shared, "512");
  EXPECT_EQ(back->launches[0].arguments[1].type, "int");
  EXPECT_FALSE(back->launches[0].arguments[1].pointer);
  ASSERT_EQ(back->selects.size(), 2u);
  EXPECT_EQ(back->selects[0].kernel, "");
  EXPECT_EQ(back->selects[1].kernel, "hone_select_1");
  EXPECT_EQ(back->narrow_dims, plan.narrow_dims);
  EXPECT_TRUE(back->in_place);
  const auto bytes = candidate::scratch_bytes(back->scratch.at(0), *back, {{"N", 10}});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, 10 * 5 * 8);  // N · (T + 1) doubles
}

TEST(LaunchPlan, WhatIsNoPlanIsRefused) {
  EXPECT_FALSE(plan_from_json({{"launches", {{{"kernel", "k"}}}}}).ok());
  EXPECT_FALSE(plan_from_json(Json::object()).ok());
}

TEST(LaunchPlan, ParametersHaveTheirDeclaredSizes) {
  const auto bytes = [](const char* type, bool pointer, std::size_t real) {
    return parameter_bytes({0, type, pointer}, real);
  };
  EXPECT_EQ(bytes("float", true, 4), 8u);
  EXPECT_EQ(bytes("HONE_REAL", false, 4), 4u);
  EXPECT_EQ(bytes("HONE_REAL", false, 8), 8u);
  EXPECT_EQ(bytes("int", false, 4), 4u);
  EXPECT_EQ(bytes("int64_t", false, 4), 8u);
  EXPECT_EQ(bytes("half", false, 4), 2u);
  EXPECT_EQ(bytes("bool", false, 4), 1u);
  EXPECT_EQ(bytes("double", false, 4), 8u);
}

}  // namespace
}  // namespace hone::runner
