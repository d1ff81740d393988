// hone audit on a task that can tell right from wrong, and on one that cannot.

#include "harness.h"

namespace hone::e2e {
namespace {

TEST(Audit, AStrongTaskIsZeroAndItsDocumentHoldsToTheSchema) {
  const Folder folder;
  write_task(folder);
  const Ran ran = hone(folder, {"audit", ".", "--mutants", "6", "--seed", "5", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.all();
  const Json document = ran.json();
  EXPECT_EQ(against_schema(document, "audit"), "") << ran.all();
  EXPECT_TRUE(document["strong"]);
  EXPECT_TRUE(document["admitted"]);
  EXPECT_EQ(document["seed"], "0x0000000000000005");
  EXPECT_EQ(document["mutants"].size(), 6u);
  int counted = 0;
  for (const char* state : {"killed", "survived", "equivalent", "not_built"}) counted += document.value(state, -100);
  EXPECT_EQ(counted, 6);
  EXPECT_NE(ran.err.find("mutant 6 of 6"), std::string::npos) << "progress of a pipe ends with the last state\n" << ran.err;
  EXPECT_TRUE(strays().empty());
  EXPECT_EQ(folder.left_behind(), std::set<std::string>());
}

TEST(Audit, AWeakTaskIsOneAndNamesTheCheckAndTheCure) {
  const Folder folder;
  write_task(folder);
  // What is above 1e30 is never drawn: the answer is 0 everywhere, and no input matters.
  folder.write("reference.cpp", R"(// hone:function running_maximum
extern "C" void running_maximum(const float* x, HONE_OUT* y, int N) {
  for (int i = 0; i < N; ++i) y[i] = x[i] > 1e30f ? HONE_REAL(1) : HONE_REAL(0);
}
)");
  const Ran text = hone(folder, {"audit", ".", "--mutants", "2"});
  EXPECT_EQ(text.code, 1) << text.all();
  EXPECT_NE(text.out.find("NOT admitted"), std::string::npos) << text.all();
  EXPECT_NE(text.out.find("FAILED  null: zeros for y"), std::string::npos) << text.all();
  EXPECT_EQ(text.out.find("ok      "), std::string::npos) << text.all();
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos) << "no colour in a pipe";
  const Ran explained = hone(folder, {"audit", ".", "--mutants", "2", "--explain"});
  EXPECT_NE(explained.out.find("ok      "), std::string::npos) << explained.all();
  const Ran json = hone(folder, {"audit", ".", "--mutants", "2", "--json"});
  EXPECT_EQ(json.code, 1) << json.all();
  EXPECT_EQ(against_schema(json.json(), "audit"), "") << json.all();
  EXPECT_FALSE(json.json()["admitted"]);
}

/// As many cases as a task may have, none of them cheap: 20 ms an evaluation, of which an audit makes thousands.
void write_large_task(const Folder& folder) {
  std::string cases;
  for (int i = 0; i < 254; ++i) cases += fmt::format("[[case]]\nN = {}\ntime = false\n", 1100 + i);
  write_task(folder, kTask + cases);
  folder.write("reference.cpp", R"(#include <cmath>
// hone:function running_maximum
extern "C" void running_maximum(const float* x, HONE_OUT* y, int N) {
  volatile double sink = N;
  for (int i = 0; i < 2000000; ++i) sink = std::sqrt(sink + i);
  for (int i = 0; i < N; ++i) y[i] = i == 0 || HONE_REAL(y[i - 1]) < HONE_REAL(x[i]) ? HONE_REAL(x[i]) : HONE_REAL(y[i - 1]);
}
)");
}

TEST(Audit, EndsWithItsTimeLimitAndSaysWhatWasLeftOut) {
  const Folder folder;
  write_large_task(folder);
  const std::vector<std::string> args = {"audit", ".", "--mutants", "4", "--time-limit", "12s", "--json"};
  const Ran ran = hone(folder, args);
  EXPECT_EQ(ran.code, 1) << ran.all();
  EXPECT_LT(ran.seconds, 30) << ran.all();
  const Json document = ran.json();
  EXPECT_EQ(against_schema(document, "audit"), "") << ran.all();
  EXPECT_FALSE(document["strong"]);
  EXPECT_TRUE(document["admitted"]) << ran.all();
  EXPECT_EQ(document.value("left_out", 0), 4) << ran.all();
  EXPECT_TRUE(strays().empty());
}

TEST(Audit, CtrlCEndsIt) {
  const Folder folder;
  write_large_task(folder);
  Process audit(folder, Call{{"audit", ".", "--mutants", "4"}, {}, 60, nullptr});
  ::sleep(3);
  ASSERT_FALSE(audit.ended()) << audit.err_so_far();
  audit.signal(SIGINT);
  const std::int64_t start_ns = monotonic_ns();
  const Ran ran = audit.wait();
  EXPECT_EQ(ran.code, 130) << ran.all();
  EXPECT_LT(static_cast<double>(monotonic_ns() - start_ns) * 1e-9, 15) << ran.all();
  EXPECT_TRUE(strays().empty());
  EXPECT_EQ(folder.left_behind(), std::set<std::string>());
}

}  // namespace
}  // namespace hone::e2e
