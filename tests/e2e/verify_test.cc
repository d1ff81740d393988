// hone verify, bench and compare on kernels whose answers are known. Only differences of ten times and more are asked
// of the clock, which a loaded machine shows as well.

#include "harness.h"

namespace hone::e2e {
namespace {

constexpr const char* kWrong = R"(// hone:function running_maximum
extern "C" void running_maximum(const float* x, float* y, int N) {
  for (int i = 0; i < N; ++i) y[i] = i == 0 || y[i - 1] < x[i] ? x[i] : y[i - 1];
  if (N > 5) y[5] = y[5] * 1.01f;
}
)";

/// Right, but 50 ms a call, of which a verify makes more than a hundred.
constexpr const char* kSlow = R"(#include <cmath>
// hone:function running_maximum
extern "C" void running_maximum(const float* x, float* y, int N) {
  volatile double sink = N;
  for (int i = 0; i < 5000000; ++i) sink = std::sqrt(sink + i);
  for (int i = 0; i < N; ++i) y[i] = i == 0 || y[i - 1] < x[i] ? x[i] : y[i - 1];
}
)";

TEST(Verify, RightIsZero) {
  const Folder folder;
  write_task(folder);
  const Ran ran = hone(folder, {"verify", ".", "candidates/good.cpp", "--no-timing"});
  EXPECT_EQ(ran.code, 0) << ran.all();
  EXPECT_NE(ran.out.find("correct, class A"), std::string::npos) << ran.all();
  EXPECT_TRUE(strays().empty());
  EXPECT_EQ(folder.left_behind(), std::set<std::string>());
}

TEST(Verify, WrongIsOneAndShowsTheElement) {
  const Folder folder;
  write_task(folder);
  folder.write("wrong.cpp", kWrong);
  const Ran ran = hone(folder, {"verify", "task.toml", "wrong.cpp", "--no-timing", "--json"});
  EXPECT_EQ(ran.code, 1) << ran.all();
  const Json document = ran.json();
  EXPECT_EQ(against_schema(document, "verdict"), "");
  EXPECT_FALSE(document["accepted"]);
  const Json failure = document["verdict"]["failure"];
  EXPECT_EQ(failure.value("gate", ""), "correctness") << failure;
  EXPECT_EQ(failure["evidence"].value("index", -1), 5) << failure;
  EXPECT_TRUE(failure["evidence"].contains("seed")) << failure;
}

TEST(Verify, OutOfTimeIsOneAndSaysHowFarItCame) {
  const Folder folder;
  write_task(folder);
  folder.write("slow.cpp", kSlow);
  const std::vector<std::string> args = {"verify", ".", "slow.cpp", "--time-limit", "1.5s"};
  const Ran text = hone(folder, args);
  EXPECT_EQ(text.code, 1) << text.all();
  EXPECT_NE(text.out.find("UNDECIDED at the correctness gate: out_of_time"), std::string::npos) << text.all();
  EXPECT_NE(text.out.find("draws were done"), std::string::npos) << text.all();
  EXPECT_NE(text.out.find("--time-limit"), std::string::npos) << text.all();
  EXPECT_LT(text.seconds, 30) << text.all();
  std::vector<std::string> json = args;
  json.push_back("--json");
  const Ran ran = hone(folder, json);
  EXPECT_EQ(ran.code, 1) << ran.all();
  EXPECT_EQ(against_schema(ran.json(), "verdict"), "");
  EXPECT_FALSE(ran.json()["accepted"]);
  EXPECT_EQ(ran.json()["verdict"].value("class", ""), "undecided");
  EXPECT_TRUE(strays().empty());
}

TEST(Verify, TheTimeLimitHoldsWithAsManyCasesAsATaskMayHave) {
  const Folder folder;
  std::string cases;
  for (int i = 0; i < 254; ++i) cases += fmt::format("[[case]]\nN = {}\ntime = false\n", 1100 + i);
  write_task(folder, kTask + cases);
  const Ran ran = hone(folder, {"verify", ".", "candidates/good.cpp", "--time-limit", "3s"});
  EXPECT_EQ(ran.code, 1) << ran.all();
  EXPECT_NE(ran.out.find("UNDECIDED"), std::string::npos) << ran.all();
  EXPECT_NE(ran.out.find(" more"), std::string::npos) << "all 254 cases in one line\n" << ran.all();
  EXPECT_LT(ran.seconds, 15) << ran.all();
  EXPECT_TRUE(strays().empty());
}

TEST(Verify, CtrlCForTheWholeGroupIsNoCrash) {
  const Folder folder;
  write_task(folder);
  folder.write("slow.cpp", kSlow);
  for (const int delay_ms : {300, 2500, 4000}) {
    Process process(folder, {{"verify", ".", "slow.cpp"}, {}, 60, nullptr});
    ::usleep(static_cast<useconds_t>(delay_ms) * 1000);
    ASSERT_FALSE(process.ended()) << process.wait().all();
    ASSERT_EQ(::kill(-process.pid(), SIGINT), 0);
    const Ran ran = process.wait();
    EXPECT_EQ(ran.code, 130) << ran.all();
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err.find("crash"), std::string::npos) << ran.all();
    EXPECT_NE(ran.err.find("interrupted"), std::string::npos) << ran.all();
    EXPECT_EQ(strays(), std::vector<std::string>());
    EXPECT_EQ(folder.left_behind(), std::set<std::string>());
  }
}

TEST(Verify, ASeedDrawsTheSameAgain) {
  const Folder folder;
  write_task(folder);
  const std::vector<std::string> args = {"verify", ".", "candidates/good.cpp", "--no-timing", "--no-memory-gate", "--json", "--seed", "77"};
  const Ran one = hone(folder, args), two = hone(folder, args);
  ASSERT_EQ(one.code, 0) << one.all();
  const Json a = one.json()["verdict"], b = two.json()["verdict"];
  EXPECT_EQ(a["seeds"], b["seeds"]);
  EXPECT_EQ(a["errors"], b["errors"]);
  EXPECT_EQ(a["identity"], b["identity"]);
}

TEST(Verify, FasterThanDecidesTheExitCode) {
  const Folder folder;
  write_task(folder);
  const auto verify = [&](const std::string& than) {
    return hone(folder, {"verify", ".", "candidates/good.cpp", "--set", "BLOCK=16", "--no-memory-gate", "--faster-than", than,
                         "--seconds", "0.1", "--json"});
  };
  const Ran faster = verify("1.5");
  EXPECT_EQ(faster.code, 0) << faster.all();
  EXPECT_EQ(against_schema(faster.json(), "verdict"), "");
  EXPECT_GT(faster.json()["verdict"]["speedup"].value("low", 0.0), 1.5) << faster.all();
  const Ran slower = verify("100000");
  EXPECT_EQ(slower.code, 1) << slower.all();
  EXPECT_FALSE(slower.json()["accepted"]);
}

TEST(Verify, ACandidateThatDoesNotBuildShowsTheCompiler) {
  const Folder folder;
  write_task(folder);
  folder.write("broken.cpp", "// hone:function running_maximum\nextern \"C\" void running_maximum(const float* x, float* y, int N) { y[0] = oops; }\n");
  const Ran ran = hone(folder, {"verify", ".", "broken.cpp"});
  EXPECT_EQ(ran.code, 1) << ran.all();
  EXPECT_NE(ran.out.find("oops"), std::string::npos) << ran.all();
}

TEST(Verify, AReferenceThatDoesNotBuildIsTheTasksMistake) {
  const Folder folder;
  write_task(folder);
  folder.write("reference.cpp", "// hone:function running_maximum\nextern \"C\" void running_maximum(const float* x, HONE_OUT* y, int N) { oops(); }\n");
  const Ran ran = hone(folder, {"verify", ".", "candidates/good.cpp"});
  EXPECT_EQ(ran.code, 2) << ran.all();
  EXPECT_NE(ran.err.find("oops"), std::string::npos) << ran.all();
}

TEST(Bench, TimesAgainstTheBaseline) {
  const Folder folder;
  write_task(folder);
  const Ran ran = hone(folder, {"bench", ".", "candidates/good.cpp", "--seconds", "0.1", "--pairs", "4", "--warm", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.all();
  EXPECT_EQ(against_schema(ran.json(), "compare"), "") << ran.all();
}

TEST(Compare, TellsWhichIsFaster) {
  const Folder folder;
  write_task(folder);
  folder.write("slow.cpp", R"(// hone:function running_maximum
extern "C" void running_maximum(const float* x, float* y, int N) {
  for (int i = 0; i < N; ++i) {
    float m = x[0];
    for (int j = 1; j <= i; ++j) m = m < x[j] ? x[j] : m;
    y[i] = m;
  }
}
)");
  // A neighbour's burst in one of four pairs is enough for "undecided"; three such in a row are not to be expected.
  Ran ran;
  for (int tries = 0; tries < 3 && ran.out.find("faster") == std::string::npos; ++tries)
    ran = hone(folder, {"compare", ".", "slow.cpp", "candidates/good.cpp", "--seconds", "0.1", "--pairs", "4", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.all();
  EXPECT_EQ(against_schema(ran.json(), "compare"), "") << ran.all();
  EXPECT_NE(ran.out.find("faster"), std::string::npos) << ran.all();
}

}  // namespace
}  // namespace hone::e2e
