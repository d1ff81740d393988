// hone verify, bench and compare on kernels whose answers are known. Only differences of ten times and more are asked
// of the clock, which a loaded machine shows as well.

#include <sys/stat.h>

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

// Sources as editors, other systems and accidents leave them: judged as meant, or refused with the cause, at once.
TEST(Verify, SourcesOfEveryTexture) {
  const Folder folder;
  write_task(folder);
  const std::string good = kGood;
  const auto replaced = [&](const std::string& what, const std::string& with) {
    std::string out = good;
    for (std::size_t at = 0; (at = out.find(what, at)) != std::string::npos; at += with.size()) out.replace(at, what.size(), with);
    return out;
  };
  struct Texture {
    const char* name;
    std::string text;
    int code;
    const char* says;
  };
  const std::string zero(1, '\0');
  for (const Texture& t : std::vector<Texture>{
           {"crlf.cpp", replaced("\n", "\r\n"), 0, "correct, class A"},
           {"no_newline.cpp", good.substr(0, good.find_last_not_of('\n') + 1), 0, "correct, class A"},
           {"long_line.cpp", good + "// " + std::string(1'000'000, 'x') + "\n", 0, "correct, class A"},
           {"latin.cpp", "// caf\xe9\n" + good, 0, "correct, class A"},
           {"ends_in_backslash.cpp", good + "// \\", 0, "correct, class A"},
           {"zero.cpp", replaced("float before", zero + "float before"), 2, "0x00"},
           {"byte_order_mark.cpp", "\xef\xbb\xbf" + good, 2, "byte-order mark"},
           {"cr.cpp", replaced("\n", "\r"), 2, "cr.cpp:1"},
           {"long_plan.cpp", "// hone:tune L = " + std::string(1'000'000, '1') + "\n" + good, 2, "plan line"},
           {"large.cpp", good + "//" + std::string(2'000'000, 'x'), 2, "1048576"},
           {"empty.cpp", "", 2, "no function"}}) {
    folder.write(t.name, t.text);
    const Ran ran = hone(folder, {"verify", ".", t.name, "--no-timing", "--no-memory-gate"});
    EXPECT_EQ(ran.code, t.code) << t.name << "\n" << ran.all();
    EXPECT_NE((t.code == 0 ? ran.out : ran.err).find(t.says), std::string::npos) << t.name << "\n" << ran.all();
  }
}

// Root may read every file, so what cannot be read is what is no file.
TEST(Verify, WhatCannotBeReadIsNamedAtOnce) {
  const Folder folder;
  write_task(folder);
  fs::create_directory(folder / "folder.cpp");
  fs::create_symlink("nowhere", folder / "dangling.cpp");
  fs::create_symlink("/dev/zero", folder / "endless.cpp");
  ASSERT_EQ(::mkfifo((folder / "pipe.cpp").c_str(), 0600), 0);
  for (const char* name : {"folder.cpp", "dangling.cpp", "endless.cpp", "pipe.cpp"})
    for (const std::vector<std::string>& args : {std::vector<std::string>{"verify", ".", name}, {"bench", ".", name},
                                                 {"compare", ".", "candidates/good.cpp", name}, {"optimize", ".", name},
                                                 {"init", name}, {"verify", name, "candidates/good.cpp"}, {"replay", name}}) {
      const Ran ran = hone(folder, Call{args, {}, 20, nullptr});
      EXPECT_EQ(ran.code, 2) << ran.all();
      EXPECT_NE(ran.err.find(name), std::string::npos) << ran.all();
    }
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
