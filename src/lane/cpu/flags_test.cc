#include "lane/cpu/flags.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hone::lane {
namespace {

TEST(Flags, WhatTunersUseIsAllowed) {
  EXPECT_TRUE(check_flags({"-O3", "-Ofast", "-march=x86-64-v3", "-mtune=native", "-mprefer-vector-width=512",
                           "-ffast-math", "-fno-trapping-math", "-funroll-loops", "-fno-tree-vectorize", "-fopenmp",
                           "-falign-loops=32", "-mno-avx512f", "--param=max-unroll-times=4", "--param",
                           "max-completely-peel-times=8", "-DTILE=64", "-DOFFSET=-3", "-DFAST", "-std=gnu++20",
                           "-fvect-cost-model=unlimited", "-ffp-contract=off"})
                  .ok());
  EXPECT_TRUE(check_flags({}).ok());
}

// Each of these reads a file, runs a program, or changes what is linked.
TEST(Flags, WhatReachesBeyondTheCandidateIsRefused) {
  for (const char* flag :
       {"-I/etc", "-I", "-include", "-include/etc/passwd", "-imacros", "-isystem/x", "-B/tmp", "-fplugin=/tmp/x.so",
        "-wrapper", "-specs=/tmp/x", "-flto", "-lcurl", "-L/tmp", "-Wl,-rpath,/tmp", "-Wa,-I/etc", "-Wp,-MD,/tmp/x",
        "-Xlinker", "-mllvm", "-o", "-o/tmp/x", "@/etc/passwd", "/etc/passwd", "-", "", "--param", "-x", "-E", "-save-temps",
        "-fdump-tree-all", "-fsanitize=address", "-fprofile-use=/tmp/x", "-static", "-march=native -I/etc", "-D_GNU_SOURCE",
        "-DHONE_REAL=float", "-DX=system(1)", "-DX=\"a\"", "-D", "-D1=2", "-O4", "-march=armv8-a", "--param=ggc-min-heapsize=1",
        "-falign-loops=12345678", "-falign-loops=", "-falign-loops=6x", "-no-pie", "--sysroot=/", "-dumpdir", "-Wall"}) {
    const Status status = check_flags({"-O2", flag});
    ASSERT_FALSE(status.ok()) << flag;
    EXPECT_EQ(status.error().code, ErrorCode::usage);
    EXPECT_NE(status.error().message.find(std::string("'") + flag + "'"), std::string::npos) << status.error().text();
  }
}

TEST(Flags, ARefusalNamesTheNearestSpelling) {
  EXPECT_NE(check_flags({"-funrol-loops"}).error().message.find("'-funroll-loops'"), std::string::npos);
  EXPECT_NE(check_flags({"-ffast-maths"}).error().message.find("'-ffast-math'"), std::string::npos);
  EXPECT_NE(check_flags({"-march=natve"}).error().message.find("'-march=native'"), std::string::npos);
  EXPECT_NE(check_flags({"-flto=auto"}).error().message.find("links without"), std::string::npos);
}

TEST(Flags, TheCandidatesOwnComeLastAndWin) {
  const auto flags = build_flags({"-O2", "-ffast-math"}, true, Arithmetic::plain);
  const auto o3 = std::find(flags.begin(), flags.end(), "-O3"), o2 = std::find(flags.begin(), flags.end(), "-O2");
  ASSERT_NE(o3, flags.end());
  ASSERT_NE(o2, flags.end());
  EXPECT_LT(o3, o2);
  EXPECT_NE(std::find(flags.begin(), flags.end(), "-fopenmp"), flags.end());
  EXPECT_NE(std::find(flags.begin(), flags.end(), "-falign-loops=64"), flags.end());
}

TEST(Flags, AnExactBuildKeepsNothingThatRelaxesArithmetic) {
  const auto flags = build_flags({"-Ofast", "-ffast-math", "-fassociative-math", "-ffp-contract=fast", "-DN=4"}, false,
                                 Arithmetic::exact);
  for (const char* relaxed : {"-Ofast", "-ffast-math", "-fassociative-math", "-ffp-contract=fast"})
    EXPECT_EQ(std::find(flags.begin(), flags.end(), relaxed), flags.end()) << relaxed;
  EXPECT_EQ(flags.back(), "-ffp-contract=off");
  EXPECT_NE(std::find(flags.begin(), flags.end(), "-DN=4"), flags.end());
}

TEST(Flags, TheListHoldsNoDuplicates) {
  auto all = allowed_flags();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << *std::adjacent_find(all.begin(), all.end());
}

}  // namespace
}  // namespace hone::lane
