// What the command line promises whatever the kernel: exit codes, messages that name the cure, help, documents.

#include "harness.h"

namespace hone::e2e {
namespace {

const std::vector<std::string> kVerbs = {"optimize", "verify", "bench", "compare", "audit", "runs",
                                         "show",     "export", "replay", "doctor", "init"};

TEST(Cli, TellsItsVersion) {
  const Folder folder;
  for (const char* word : {"--version", "version"}) {
    const Ran ran = hone(folder, {word});
    EXPECT_EQ(ran.code, 0);
    EXPECT_TRUE(ran.out.starts_with("hone ")) << ran.all();
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(ran.out[5]))) << ran.all();
  }
}

TEST(Cli, HelpOfEachVerbComesFromItsPage) {
  const Folder folder;
  const Ran overview = hone(folder, {"--help"});
  EXPECT_EQ(overview.code, 0);
  for (const std::string& verb : kVerbs) {
    EXPECT_NE(overview.out.find("\n  " + verb + " "), std::string::npos) << verb << overview.all();
    const Ran help = hone(folder, {verb, "--help"});
    EXPECT_EQ(help.code, 0) << verb;
    EXPECT_NE(help.out.find("hone " + verb), std::string::npos) << help.all();
    EXPECT_EQ(help.out, hone(folder, {"help", verb}).out);
    EXPECT_EQ(help.err, "");
  }
}

struct Mistake {
  const char* name;
  std::vector<std::string> args;
  std::vector<std::string> says;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

class UsageError : public ::testing::TestWithParam<Mistake> {};

TEST_P(UsageError, ExitsTwoAndNamesTheCure) {
  const Folder folder;
  write_task(folder);
  const Ran ran = hone(folder, GetParam().args);
  EXPECT_EQ(ran.code, 2) << ran.all();
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err.find("building"), std::string::npos) << "built before all was read\n" << ran.all();
  for (const std::string& text : GetParam().says) EXPECT_NE(ran.err.find(text), std::string::npos) << text << "\n" << ran.all();

  std::vector<std::string> args = GetParam().args;
  if (args.empty()) return;
  args.push_back("--json");
  const Ran json = hone(folder, args);
  EXPECT_EQ(json.code, 2) << json.all();
  const Json document = json.json();
  EXPECT_EQ(against_schema(document, "error"), "") << json.all();
  EXPECT_EQ(document.value("exit", 0), 2);
  EXPECT_EQ(document.value("code", ""), "usage");
  EXPECT_NE(document.value("cure", ""), "") << json.all();
}

INSTANTIATE_TEST_SUITE_P(
    Each, UsageError,
    ::testing::Values(
        Mistake{"Nothing", {}, {"optimize"}}, Mistake{"Verb", {"optimise", "."}, {"optimise", "optimize"}},
        Mistake{"FarVerb", {"frobnicate"}, {"frobnicate", "hone --help"}},
        Mistake{"Flag", {"verify", ".", "candidates/good.cpp", "--no-timeing"}, {"--no-timeing", "--no-timing"}},
        Mistake{"FlagOfOtherVerb", {"runs", "--faster-than", "2"}, {"--faster-than"}},
        Mistake{"NoCandidate", {"verify", "."}, {"candidate"}},
        Mistake{"NoTask", {"optimize"}, {"no task", "hone optimize TASK"}},
        Mistake{"NoSuchTask", {"verify", "nowhere", "candidates/good.cpp"}, {"nowhere", "task.toml", "hone init"}},
        Mistake{"NoSuchTaskToBench", {"bench", "nowhere", "candidates/good.cpp"}, {"nowhere"}},
        Mistake{"NoSuchTaskToCompare", {"compare", "nowhere", "a.cpp", "b.cpp"}, {"nowhere"}},
        Mistake{"NoSuchTaskToAudit", {"audit", "nowhere"}, {"nowhere"}},
        Mistake{"NoSuchTaskToOptimize", {"optimize", "nowhere"}, {"nowhere"}},
        Mistake{"NoSuchCandidateToBench", {"bench", ".", "candidates/good.cpp", "gone.cpp"}, {"gone.cpp"}},
        Mistake{"NoSuchCandidateToCompare", {"compare", ".", "candidates/good.cpp", "gone.cpp"}, {"gone.cpp"}},
        Mistake{"NoSuchCandidateToOptimize", {"optimize", ".", "gone.cpp"}, {"gone.cpp"}},
        Mistake{"NoSuchTunableToBench", {"bench", ".", "candidates/good.cpp", "--set", "BLOK=8"}, {"BLOK", "BLOCK"}},
        Mistake{"NoSuchCandidate", {"verify", ".", "candidates/gone.cpp", "--no-timing"}, {"candidates/gone.cpp", "source file of a candidate"}},
        Mistake{"NoSuchTunable", {"verify", ".", "candidates/good.cpp", "--set", "BLOK=8", "--no-timing"}, {"BLOK", "BLOCK"}},
        Mistake{"NoSuchValue", {"verify", ".", "candidates/good.cpp", "--set", "BLOCK=9", "--no-timing"}, {"BLOCK", "32 64"}},
        Mistake{"MisspeltCompiler", {"verify", ".", "candidates/good.cpp", "--compiler", "clang"}, {"did you mean 'clang++'"}},
        Mistake{"Page", {"help", "verfy"}, {"verfy", "did you mean 'verify'"}},
        Mistake{"BudgetUnit", {"optimize", ".", "--budget", "10evalz"}, {"10evalz", "did you mean 'evals'"}},
        Mistake{"EndlessTimeLimit", {"verify", ".", "candidates/good.cpp", "--time-limit", "1e300h"}, {"three years"}},
        Mistake{"EndlessAuditLimit", {"audit", ".", "--time-limit", "1e300h"}, {"three years"}},
        Mistake{"AuditLimit", {"audit", ".", "--time-limit", "soon"}, {"soon", "20min"}},
        Mistake{"SetWithoutValue", {"verify", ".", "candidates/good.cpp", "--set", "BLOCK"}, {"NAME=VALUE"}},
        Mistake{"NoNumber", {"verify", ".", "candidates/good.cpp", "--faster-than", "fast"}, {"faster-than", "fast"}},
        Mistake{"Compiler", {"verify", ".", "candidates/good.cpp", "--compiler", "icc"}, {"g++", "clang++"}},
        Mistake{"Budget", {"optimize", ".", "--budget", "soon"}, {"soon", "60s"}},
        Mistake{"Proposer", {"optimize", ".", "--proposers", "decent"}, {"decent", "descent"}},
        Mistake{"TimeLimit", {"verify", ".", "candidates/good.cpp", "--time-limit", "300"}, {"300", "20min"}},
        Mistake{"Margin", {"optimize", ".", "--margin", "2"}, {"--margin"}},
        Mistake{"OneToCompare", {"compare", ".", "candidates/good.cpp"}, {"two"}},
        Mistake{"NoArchive", {"runs"}, {"archive.db"}}, Mistake{"NoArchiveToShow", {"show"}, {"archive.db"}},
        Mistake{"NoSuchEvidence", {"replay", "nowhere"}, {"nowhere", "a folder written by hone export"}},
        Mistake{"NoEvidence", {"replay", "."}, {"manifest.json", "a folder written by hone export"}},
        Mistake{"BudgetWithoutValue", {"optimize", ".", "--budget"}, {"--budget needs a value, for example --budget 60s"}},
        Mistake{"NoSuchKernel", {"init", "nowhere.cpp"}, {"nowhere.cpp"}}),
    [](const auto& one) { return std::string(one.param.name); });

// The pages name the options: those with a value are what a bare word behind them says.
TEST(Cli, AnOptionWithoutItsValueIsToldWithAnExampleThatWorks) {
  const Folder folder;
  write_task(folder);
  const std::set<std::string> kFlags = {"--accept-c", "--accept-x", "--no-timing", "--no-memory-gate", "--allow-missing-tools",
                                        "--warm", "--force", "--quick", "--json", "--quiet", "--verbose", "--explain", "--stats",
                                        "--unsafe", "--help", "--version"};
  std::set<std::string> seen;
  for (const std::string& verb : kVerbs) {
    std::set<std::string> options = {"--archive", "--compiler"};
    const Ran help = hone(folder, {verb, "--help"});
    for (const std::string_view line : split(help.out, '\n')) {
      const auto cells = words(line);
      if (cells.empty() || !cells[0].starts_with("--")) continue;
      const std::string name(cells[0].substr(0, cells[0].find(',')));
      if (!kFlags.contains(name)) options.insert(name);
    }
    for (const std::string& option : options) {
      const Ran ran = hone(folder, {verb, option});
      EXPECT_EQ(ran.code, 2) << verb << ran.all();
      EXPECT_NE(ran.err.find(fmt::format("{0} needs a value, for example {0} ", option)), std::string::npos) << verb << ran.all();
      EXPECT_EQ(ran.err.find("TEXT"), std::string::npos) << verb << ran.all();
      seen.insert(option);
    }
  }
  EXPECT_GE(seen.size(), 15u) << "the pages were read";
}

struct Numeric {
  const char* option;
  std::vector<std::string> verb;
  std::vector<std::string> wrong;  // beyond what no number may be
};

// What no number may be, whatever its range: not finite, negative, too large to hold, more than a number, none.
TEST(Cli, NumbersAreReadWholeOrRefused) {
  const std::vector<std::string> kNever = {"nan", "inf", "-inf", "-1", "1e999", "5x", "x5", "+5", " 5", "0x10", "1e", "--1", "5,5"};
  const std::vector<std::string> verify = {"verify", ".", "candidates/good.cpp"}, optimize = {"optimize", "."},
                                 bench = {"bench", ".", "candidates/good.cpp"};
  const std::vector<std::string> kNoSeed = {"18446744073709551616", "2.5", "1e3"};
  const std::vector<Numeric> options = {
      {"--seed", verify, kNoSeed},
      {"--seed", optimize, kNoSeed},
      {"--seed", {"audit", "."}, kNoSeed},
      {"--faster-than", verify, {"0"}},
      {"--seconds", verify, {"0", "1e9"}},
      {"--time-limit", verify, {"5", "-5s", "nans", "infs", "1e999s", "5sx", "s", "5 parsecs"}},
      {"--verify-limit", optimize, {"5", "-5s", "nans", "infs", "1e999s", "5sx", "s"}},
      {"--margin", optimize, {"1", "1e9"}},
      {"--budget", optimize, {"0s", "-5s", "nans", "infs", "1e999s", "5sx", "s", "evals", "-3evals", "2.5evals", "1e30evals",
                              "99999999999999999999evals", "18446744073709551615evals", "target=-2x", "target=nanx", "target=infx", "target=x"}},
      {"--seconds", bench, {"0", "1e9"}},
      {"--pairs", bench, {"0", "1", "2.5", "1001", "4294967298", "18446744073709551618"}},
      {"--pairs", {"compare", ".", "candidates/good.cpp", "candidates/good.cpp"}, {"0", "2.5", "4294967298"}},
      {"--time-limit", {"audit", "."}, {"5", "-5s", "nans", "1e999s", "5sx"}},
      {"--mutants", {"audit", "."}, {"2.5", "4294967298"}},
      {"--limit", {"runs"}, {"0", "2.5", "18446744073709551617"}},
      {"--seconds", {"doctor"}, {"0", "1e9"}},
      {"--time-limit", {"replay", "."}, {"5", "-5s", "nans", "1e999s", "5sx"}},
  };
  const Folder folder;
  write_task(folder);
  for (const Numeric& option : options) {
    std::vector<std::string> wrong = kNever;
    wrong.insert(wrong.end(), option.wrong.begin(), option.wrong.end());
    for (const std::string& value : wrong) {
      std::vector<std::string> args = option.verb;
      args.push_back(option.option + ("=" + value));
      const Ran ran = hone(folder, Call{args, {}, 10, nullptr});
      EXPECT_EQ(ran.code, 2) << fmt::format("{}", fmt::join(args, " ")) << "\n" << ran.all();
      EXPECT_NE(ran.err.find(option.option), std::string::npos) << fmt::format("{}", fmt::join(args, " ")) << "\n" << ran.all();
      EXPECT_EQ(ran.out, "") << ran.all();
      EXPECT_LT(ran.seconds, 5) << fmt::format("{}", fmt::join(args, " "));
    }
  }
}

// Every kind of mistake in a task file that the reader's own tests hold, from the outside.
TEST(TaskMistake, EachExitsTwoAndNamesTheFile) {
  const fs::path golden = fs::path(HONE_SOURCE_DIR) / "tests" / "golden" / "task";
  const Folder folder;
  folder.write("candidate.cpp", kGood);
  int mistakes = 0;
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (entry.path().extension() != ".toml") continue;
    const auto text = read_file(entry.path());
    ASSERT_TRUE(text.ok());
    if (text->find("error:") == std::string::npos) continue;
    ++mistakes;
    const Ran ran = hone(folder, {"verify", entry.path().string(), "candidate.cpp", "--no-timing"});
    EXPECT_EQ(ran.code, 2) << entry.path() << "\n" << ran.all();
    EXPECT_NE(ran.err.find(entry.path().filename().string()), std::string::npos) << ran.all();
  }
  EXPECT_GT(mistakes, 50);
}

TEST(Doctor, TellsWhatThisMachineOffers) {
  const Folder folder;
  const Ran text = hone(folder, {"doctor", "--quick"});
  EXPECT_EQ(text.code, 0) << text.all();
  EXPECT_NE(text.out.find("sandbox"), std::string::npos) << text.all();
  const Ran json = hone(folder, {"doctor", "--quick", "--json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(against_schema(json.json(), "doctor"), "") << json.all();
}

TEST(Init, MakesATaskThatVerifiesItsOwnKernel) {
  const Folder folder;
  folder.write("scale.cpp", "extern \"C\" void scale(const float* x, float* y, int n, float factor) {\n"
                            "  for (int i = 0; i < n; ++i) y[i] = x[i] * factor;\n}\n");
  const Ran made = hone(folder, {"init", "scale.cpp"});
  ASSERT_EQ(made.code, 0) << made.all();
  EXPECT_TRUE(fs::exists(folder / "scale/task.toml"));
  const Ran json = hone(folder, {"init", "scale.cpp", "--force", "--json"});
  EXPECT_EQ(against_schema(json.json(), "init"), "") << json.all();
  const Ran again = hone(folder, {"init", "scale.cpp"});
  EXPECT_EQ(again.code, 2) << again.all();
  EXPECT_NE(again.err.find("--force"), std::string::npos) << again.all();
  std::string candidate;
  for (const auto& entry : fs::directory_iterator(folder / "scale/candidates")) candidate = entry.path().string();
  const Ran right = hone(folder, {"verify", "scale", candidate, "--no-timing", "--no-memory-gate"});
  EXPECT_EQ(right.code, 0) << right.all();
  // Without tunables there is one point: the run ends at once and says why nothing was found.
  const Ran run = hone(folder, {"optimize", "scale", "--budget", "30s", "--verify-limit", "60s", "--archive", "archive.db", "--json"});
  ASSERT_LE(run.code, 1) << run.all();
  const Json document = run.json();
  EXPECT_EQ(document.value("status_note", ""), "exhausted");
  EXPECT_EQ(document.value("tried", 0), 1);
  EXPECT_NE(document.value("note", "").find("hone:tune"), std::string::npos);
}

}  // namespace
}  // namespace hone::e2e
