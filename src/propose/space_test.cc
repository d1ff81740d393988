#include "propose/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hone::propose {
namespace {

int value(const candidate::Assignment& a, const char* name) { return std::stoi(a.at(name)); }

Space triangle() {
  return Space({{"A", {"8", "1", "4", "2"}}, {"B", {"1", "2", "3"}}, {"F", {"-O2", "-O3", "-Ofast"}}},
               [](const candidate::Assignment& a) { return value(a, "A") * value(a, "B") <= 8; });
}

TEST(Space, DigitsFollowTheValues) {
  const Space space = triangle();
  EXPECT_EQ(space.product(), 36u);
  EXPECT_TRUE(space.knobs()[0].ordered);
  EXPECT_FALSE(space.knobs()[2].ordered);
  EXPECT_EQ(space.knobs()[0].values, (std::vector<std::string>{"1", "2", "4", "8"}));
  for (std::uint64_t i = 0; i < space.product(); ++i) {
    const Point point = space.at(i);
    EXPECT_EQ(space.index(point), i);
    EXPECT_EQ(space.point(space.assignment(point)), point);
  }
  EXPECT_FALSE(space.point({{"A", "1"}, {"B", "7"}, {"F", "-O2"}}).has_value());
  EXPECT_FALSE(space.point({{"A", "1"}}).has_value());
}

TEST(Space, ListsExactlyTheValidPoints) {
  const Space space = triangle();
  // A·B ≤ 8: three B for A = 1 and 2, two for 4, one for 8; times three flags.
  ASSERT_NE(space.all(), nullptr);
  EXPECT_EQ(space.all()->size(), 27u);
  EXPECT_EQ(space.all(35), nullptr);
}

TEST(Space, NeighboursAreValidAndOneStepAway) {
  const Space space = triangle();
  const Point point = *space.point({{"A", "4"}, {"B", "2"}, {"F", "-O2"}});
  // A 2 but not 8 (8·2 > 8); B 1 but not 3; two other flags.
  EXPECT_EQ(space.neighbours(point).size(), 4u);
  for (const Point& pair : space.pair_neighbours(point)) {
    EXPECT_TRUE(space.valid(pair));
    int changed = 0;
    for (std::size_t k = 0; k < pair.size(); ++k) changed += pair[k] != point[k];
    EXPECT_EQ(changed, 2);
  }
  // (A, B): 2·1, 2·3, 8·1; (A, F): 2 with two flags; (B, F): 1 with two flags.
  EXPECT_EQ(space.pair_neighbours(point).size(), 7u);
}

TEST(Space, BeyondStaysInRangeAndLeavesWordsAlone) {
  const Space space = triangle();
  EXPECT_EQ(space.beyond({0, 2, 0}, {1, 1, 2}, 2), (Point{3, 0, 2}));
}

TEST(Space, HypercubeCoversEveryKnobAndHoldsConstraints) {
  std::vector<std::string> ten;
  for (int i = 0; i < 10; ++i) ten.push_back(std::to_string(i));
  const std::vector<candidate::Tunable> knobs = {{"A", ten}, {"B", ten}, {"C", ten}};
  stats::Random random(3);
  // Without constraints ten points take each value of each knob once.
  const Space whole(knobs, [](const candidate::Assignment&) { return true; });
  const auto points = whole.latin_hypercube(10, random);
  ASSERT_EQ(points.size(), 10u);
  for (std::size_t k = 0; k < 3; ++k) {
    std::set<int> seen;
    for (const Point& point : points) seen.insert(point[k]);
    EXPECT_EQ(seen.size(), 10u);
  }
  // One valid point in a hundred: still distinct, valid and spread.
  const Space thin(knobs, [](const candidate::Assignment& a) {
    return value(a, "B") == (value(a, "A") * 3) % 10 && value(a, "C") == (value(a, "A") * 7) % 10;
  });
  const auto few = thin.latin_hypercube(8, random);
  EXPECT_EQ(few.size(), 8u);
  std::set<Point> distinct(few.begin(), few.end());
  EXPECT_EQ(distinct.size(), 8u);
  for (const Point& point : few) EXPECT_TRUE(thin.valid(point));
  EXPECT_EQ(thin.latin_hypercube(50, random).size(), 10u);  // all there are
}

TEST(Space, LargeSpacesAreNotListed) {
  std::vector<std::string> values;
  for (int i = 0; i < 1000; ++i) values.push_back(std::to_string(i));
  const Space space({{"A", values}, {"B", values}, {"C", values}, {"D", values}},
                    [](const candidate::Assignment& a) { return (value(a, "A") + value(a, "B")) % 7 == 0; });
  EXPECT_EQ(space.product(), 1000000000000u);
  EXPECT_EQ(space.all(), nullptr);
  stats::Random random(1);
  ASSERT_TRUE(space.random(random).has_value());
  const auto points = space.latin_hypercube(12, random);
  EXPECT_EQ(points.size(), 12u);
  for (const Point& point : points) EXPECT_TRUE(space.valid(point));
}

}  // namespace
}  // namespace hone::propose
