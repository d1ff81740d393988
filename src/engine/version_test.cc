#include "hone/version.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

// `hone --version` and packages compare versions, so the form is part of the contract.
TEST(Version, HasThreeNumbers) {
  EXPECT_TRUE(std::regex_match(hone::version(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+")));
}
