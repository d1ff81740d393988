// Candidates that mean harm or simply break. Each is judged by the real program, in its jail, and must come out as a
// verdict with the reason that fits, with nothing left behind. Where an attack could succeed, success is rewarded: the
// kernel then answers rightly, so that a hole makes the test fail. Bombs are bounded, should a jail not hold.

#include "harness.h"
#include "wire/frame.h"

namespace hone::e2e {
namespace {

// A system call that no listing of instructions shows: it lies inside the constant of another instruction. What the
// static gate catches by reading is tried apart; this is for the layers below it.
constexpr const char* kHidden = R"(
static inline long hidden(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("jmp 2f\n1: movl $0xc3050f, %%eax\n2: lea -128(%%rsp), %%rsp\nlea 1b+1(%%rip), %%r11\ncall *%%r11\nlea 128(%%rsp), %%rsp"
               : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return number;
}
static void right(const float* x, float* y, int N) {
  for (int i = 0; i < N; ++i) y[i] = i == 0 || y[i - 1] < x[i] ? x[i] : y[i - 1];
}
)";

constexpr const char* kEscape = "/var/tmp/hone-e2e-escape";

struct Attack {
  const char* name;
  std::string globals;
  std::string body;                  // of the kernel: x, y, N
  std::vector<std::string> reasons;  // GATE/REASON, any may hold
};
void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.name; }

std::string source_of(const Attack& attack) {
  return "// hone:function running_maximum\n" + std::string(kHidden) + attack.globals +
         "\nextern \"C\" void running_maximum(const float* x, float* y, int N) {\n" + attack.body + "\n}\n";
}

/// The bytes as the C array that a kernel would carry.
std::string array_of(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{},", static_cast<int>(static_cast<unsigned char>(c)));
  return "{" + out + "}";
}

std::vector<Attack> attacks() {
  const std::string done = wire::encode_frame({{"op", "done"}, {"ns", 1000}});
  const std::string escape = kEscape;
  // Refused by the filter with a signal, or with an error code; then the answer is not there.
  const std::vector<std::string> refused = {"correctness/forbidden_call", "correctness/unwritten"};
  const std::string late = "static void late(const float* x, float* y, int N) {\n"
                           "  for (volatile int i = 0; i < 100000000; i = i + 1) {}\n  right(x, y, N);\n}\n";
  return {
      {"Crashes", "", "*(volatile int*)(N * 0l + 8) = 1;", {"correctness/crash"}},
      {"Hangs", "", "for (volatile int i = 0;;) i = i + 1;", {"correctness/timeout"}},
      {"FillsMemory", "extern \"C\" void* malloc(unsigned long);",
       "for (int i = 0; i < 8192; ++i) { char* p = (char*)malloc(1 << 20); for (int k = 0; k < (1 << 20); k += 4096) p[k] = 1; }\nright(x, y, N);",
       {"correctness/crash", "correctness/timeout"}},
      {"Forks", "extern \"C\" int fork();", "fork(); right(x, y, N);", {"static/process_import"}},
      {"ForksHidden", "", "for (int i = 0; i < 64; ++i) if (hidden(57) >= 0) right(x, y, N);", refused},
      {"ClonesHidden", "", "for (int i = 0; i < 64; ++i) if (hidden(56, 17) >= 0) right(x, y, N);", refused},
      {"OpensAFile", "#include <stdio.h>\n", "FILE* f = fopen(\"" + escape + "\", \"w\"); if (f) right(x, y, N);", {"static/file_import"}},
      {"FillsTheDiskHidden", "",
       "const long fd = hidden(2, (long)\"/tmp/fill\", 0102, 0644); long all = 0;\n"
       "for (int i = 0; i < 16384; ++i) { const long n = hidden(1, fd, (long)x, N * 4); if (n > 0) all += n; }\nif (all > 0) right(x, y, N);",
       refused},
      {"WritesOutsideHidden", "", "if (hidden(2, (long)\"" + escape + "\", 0102, 0644) >= 0) right(x, y, N);", refused},
      {"WritesSharedMemoryHidden", "", "if (hidden(2, (long)\"/dev/shm/hone-e2e-escape\", 0102, 0644) >= 0) right(x, y, N);", refused},
      {"OpensASocket", "#include <sys/socket.h>\n", "if (socket(AF_INET, SOCK_STREAM, 0) >= 0) right(x, y, N);", {"static/network_import"}},
      {"OpensASocketHidden", "", "if (hidden(41, 2, 1, 0) >= 0) right(x, y, N);", refused},
      {"ReadsAnotherProcess", "#include <sys/uio.h>\n", "if (process_vm_readv(1, 0, 0, 0, 0, 0) >= 0) right(x, y, N);",
       {"static/process_import"}},
      {"ReadsAnotherProcessHidden", "", "if (hidden(310, 1, 0, 0, 0, 0, 0) >= 0) right(x, y, N);", refused},
      {"OpensMemoryOfAnotherHidden", "", "for (int pid = 1; pid < 64; ++pid) { char name[] = \"/proc/00/mem\"; name[6] = char('0' + pid / 10);\n"
       "name[7] = char('0' + pid % 10); const char* from = pid < 10 ? name + 1 : name; char one[] = \"/proc/0/mem\"; one[6] = name[7];\n"
       "if (pid < 10 && from && hidden(2, (long)one, 2) >= 0) right(x, y, N); if (pid >= 10 && hidden(2, (long)name, 2) >= 0) right(x, y, N); }", refused},
      {"TracesHidden", "", "if (hidden(101, 16, 1, 0, 0) >= 0) right(x, y, N);", refused},
      {"KillsAllHidden", "", "if (hidden(62, -1, 9) >= 0) right(x, y, N);", refused},
      {"TruncatesItsTensorsHidden", "", "for (int fd = 3; fd < 64; ++fd) if (hidden(77, fd, 0) >= 0) right(x, y, N);", refused},
      {"ChangesItsInput", "", "((float*)x)[0] = 1e30f; for (int i = 0; i < N; ++i) y[i] = 1e30f;", {"correctness/crash", "correctness/inputs_changed"}},
      {"StartsAThread", "#include <pthread.h>\nstatic void* nothing(void* p) { return p; }\n",
       "pthread_t t; pthread_create(&t, 0, nothing, 0); right(x, y, N);", {"static/thread_import"}},
      // A thread by a hidden clone; the call is over at once, the thread answers long after.
      {"AnswersEarlyFillsLateHidden",
       late + "extern \"C\" void* malloc(unsigned long);\nstatic const float* volatile from; static float* volatile to; static volatile int n, started;\n"
              "static void serve() { for (;;) { while (n == 0) {} const int m = n; n = 0; late(from, to, m); } }\n",
       "from = x; to = y; n = N;\n"
       "if (!started) { started = 1; char* top = (char*)(((long)malloc(1 << 16) + (1 << 16) - 64) & -64l);\n"
       "  *(void (**)())top = serve;  // where the new thread's `ret` goes\n"
       "  hidden(56, 0x50f00, (long)top); }",
       // Its late writes come to nothing, or hit the next call's smaller tensors, or those that are gone.
       {"correctness/unwritten", "correctness/out_of_bounds", "correctness/crash"}},
      // The completion signal itself, forged; then the work.
      {"ForgesTheAnswerHidden", late + "static const unsigned char frame[] = " + array_of(done) + ";\n",
       "hidden(1, 3, (long)frame, sizeof frame); late(x, y, N);",
       {"correctness/unwritten", "correctness/protocol"}},
      {"BreaksFramesHidden", "", "for (int i = 0; i < 64; ++i) hidden(1, 3, (long)\"HON1 nonsense and more of it\", 28); right(x, y, N);",
       {"correctness/protocol"}},
      {"ClosesItsDescriptorsHidden", "", "for (int fd = 0; fd < 64; ++fd) hidden(3, fd); right(x, y, N);",
       {"correctness/exited", "correctness/timeout"}},
      {"Exits", "#include <stdlib.h>\n", "right(x, y, N); exit(0);", {"static/exit_import"}},
      {"ExitsHidden", "", "right(x, y, N); hidden(231, 0);", {"correctness/exited"}},
      {"PrintsGigabytesHidden", "extern \"C\" void* malloc(unsigned long);",
       "const long block = (long)malloc(1 << 16); for (int i = 0; i < 20000; ++i) for (int fd = 1; fd < 3; ++fd) hidden(1, fd, block, 1 << 16);",
       {"correctness/unwritten"}},
      {"RunsWhenLoaded", "__attribute__((constructor)) static void early() { for (;;) {} }\n", "right(x, y, N);", {"static/constructor"}},
      {"ReadsTheClock", "#include <time.h>\n", "timespec t; clock_gettime(CLOCK_MONOTONIC, &t); right(x, y, N);", {"static/clock_import"}},
      {"MakesASystemCall", "#include <unistd.h>\n#include <sys/syscall.h>\n", "syscall(SYS_getpid); right(x, y, N);", {"static/system_call_import"}},
      {"IncludesADeviceWithoutEnd", "#include \"/dev/zero\"\n", "right(x, y, N);", {"static/compile_error"}},
      {"IncludesItsCompilersOutput", "#define WHERE \"/proc/self/fd/2\"\n#include WHERE\n", "right(x, y, N);", {"static/compile_error"}},
      {"IncludesAFileOfTheMachine", "#include \"/etc/passwd\"\n", "right(x, y, N);", {"static/compile_error"}},
  };
}

class Fault : public ::testing::TestWithParam<Attack> {};

TEST_P(Fault, IsAVerdictWithItsReason) {
  const Attack& attack = GetParam();
  const Folder folder;
  write_task(folder);
  folder.write("candidate.cpp", source_of(attack));
  const Ran ran = hone(folder, Call{{"verify", ".", "candidate.cpp", "--no-timing", "--no-memory-gate", "--json"}, {}, 60, nullptr});
  ASSERT_EQ(ran.code, 1) << ran.all();
  const Json document = ran.json();
  EXPECT_EQ(against_schema(document, "verdict"), "");
  const Json failure = document["verdict"]["failure"];
  ASSERT_TRUE(failure.is_object()) << ran.all();
  const std::string reason = failure.value("gate", "") + "/" + failure.value("reason", "");
  EXPECT_NE(std::find(attack.reasons.begin(), attack.reasons.end(), reason), attack.reasons.end()) << reason << "\n" << failure.dump(1);
  EXPECT_NE(failure.value("message", ""), "");
  EXPECT_NE(document.value("next", ""), "") << "no word on what to do about " << reason;
  EXPECT_EQ(ran.out.find("root:"), std::string::npos) << "a file of the machine was read";
  EXPECT_LT(ran.seconds, 30);
  EXPECT_LT(ran.out.size() + ran.err.size(), std::size_t{1} << 20);
  EXPECT_EQ(strays(), std::vector<std::string>());
  EXPECT_EQ(folder.left_behind(), std::set<std::string>());
  for (const char* path : {kEscape, "/dev/shm/hone-e2e-escape"}) EXPECT_FALSE(fs::exists(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Each, Fault, ::testing::ValuesIn(attacks()), [](const auto& one) { return std::string(one.param.name); });

// The static gate reads instructions from the start of each function, so it does not see this one and must not claim to;
// the filter in the runner holds it. The verdict says so, with the cause.
TEST(HiddenSystemCall, PassesTheStaticGateAndIsHeldByTheFilter) {
  const Folder folder;
  write_task(folder);
  for (const char* call : {"hidden(41, 2, 1, 0)", "hidden(57)", "hidden(59)", "hidden(101, 16, 1)"}) {  // socket, fork, execve, ptrace
    folder.write("candidate.cpp", source_of({"Hidden", "", fmt::format("if ({} >= 0) right(x, y, N);", call), {}}));
    const Ran ran = hone(folder, {"verify", ".", "candidate.cpp", "--no-timing", "--no-memory-gate", "--json"});
    EXPECT_EQ(ran.code, 1) << ran.all();
    const Json verdict = ran.json()["verdict"];
    EXPECT_EQ(verdict.value("class", ""), "wrong") << ran.all();
    EXPECT_EQ(verdict["gates"][0].value("gate", ""), "static") << ran.all();
    EXPECT_EQ(verdict["gates"][0].value("state", ""), "pass") << ran.all();
    EXPECT_EQ(verdict["failure"].value("reason", ""), "forbidden_call") << ran.all();
    EXPECT_NE(verdict["failure"].value("message", "").find("SIGSYS: forbidden system call"), std::string::npos) << ran.all();
  }
  EXPECT_TRUE(strays().empty());
  // The judge goes on as before.
  EXPECT_EQ(hone(folder, {"verify", ".", "candidates/good.cpp", "--no-timing", "--no-memory-gate"}).code, 0);
}

// The same where many are judged, or two are timed without a verdict before: the verbs end, and say what it was.
class FaultElsewhere : public ::testing::TestWithParam<const char*> {};

TEST_P(FaultElsewhere, EndsARunAndAComparisonCleanly) {
  const std::vector<Attack> all = attacks();
  const auto attack = std::find_if(all.begin(), all.end(), [](const Attack& one) { return std::string(one.name) == GetParam(); });
  ASSERT_NE(attack, all.end());
  const Folder folder;
  write_task(folder);
  folder.write("evil.cpp", source_of(*attack));
  const Ran run = hone(folder, Call{{"optimize", ".", "evil.cpp", "--budget", "2evals", "--archive", "archive.db", "--json"}, {}, 60, nullptr});
  EXPECT_EQ(run.code, 1) << run.all();
  const Json document = run.json();
  EXPECT_EQ(against_schema(document, "run"), "") << run.all();
  EXPECT_EQ(document.value("status", ""), "done");
  EXPECT_EQ(document.value("failed", 0), 1) << run.all();
  EXPECT_TRUE(document["best"].is_null()) << run.all();
  const Ran compared = hone(folder, Call{{"compare", ".", "candidates/good.cpp", "evil.cpp", "--seconds", "0.1", "--pairs", "2", "--json"}, {}, 60, nullptr});
  EXPECT_EQ(compared.code, 1) << compared.all();
  EXPECT_EQ(compared.out.find("\"answer\": \"faster\""), std::string::npos) << compared.all();
  EXPECT_EQ(strays(), std::vector<std::string>());
  EXPECT_EQ(folder.left_behind(), std::set<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Each, FaultElsewhere,
                         ::testing::Values("Crashes", "Hangs", "ForksHidden", "ForgesTheAnswerHidden", "BreaksFramesHidden",
                                           "AnswersEarlyFillsLateHidden", "ExitsHidden", "RunsWhenLoaded"),
                         [](const auto& one) { return std::string(one.param); });

// Without a reward there would be no test: the same source that answers rightly after a harmless call is correct.
TEST(FaultReward, TheAnswerOfTheAttacksIsRight) {
  const Folder folder;
  write_task(folder);
  folder.write("candidate.cpp", source_of({"Harmless", "", "if (hidden(24) >= 0) right(x, y, N);", {}}));  // sched_yield
  const Ran ran = hone(folder, {"verify", ".", "candidate.cpp", "--no-timing", "--no-memory-gate"});
  EXPECT_EQ(ran.code, 0) << ran.all();
}

}  // namespace
}  // namespace hone::e2e
