// Every example judged by the real program: its candidates are right, its wrong ones fail as their own
// `hone:expect GATE REASON` lines say. With several lines any may hold: which fault shows first may depend on the draw.

#include <algorithm>

#include "harness.h"

namespace hone::e2e {
namespace {

const fs::path kExamples = fs::path(HONE_SOURCE_DIR) / "examples";

std::vector<std::string> sources(bool wrong) {
  std::vector<std::string> out;
  for (const auto& example : fs::directory_iterator(kExamples)) {
    const fs::path folder = wrong ? example.path() / "candidates" / "wrong" : example.path() / "candidates";
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".cpp") out.push_back(fs::relative(entry.path(), kExamples).string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& one) {
  std::string name = one.param.substr(0, one.param.find('.'));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::set<std::string> expectations(const std::string& source) {
  std::set<std::string> out;
  for (const std::string_view line : split(source, '\n')) {
    const auto parts = words(line);
    if (parts.size() == 4 && parts[1] == "hone:expect") out.insert(std::string(parts[2]) + "/" + std::string(parts[3]));
  }
  return out;
}

Ran verify(const Folder& folder, const std::string& source) {
  const fs::path task = kExamples / *fs::path(source).begin();
  return hone(folder, Call{{"verify", task.string(), (kExamples / source).string(), "--no-timing", "--json"}, {}, 300, nullptr});
}

class RightExampleLongTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RightExampleLongTest, IsCorrect) {
  const Folder folder;
  const Ran ran = verify(folder, GetParam());
  EXPECT_EQ(ran.code, 0) << ran.all();
  EXPECT_EQ(strays(), std::vector<std::string>());
}
INSTANTIATE_TEST_SUITE_P(Each, RightExampleLongTest, ::testing::ValuesIn(sources(false)), name_of);

class WrongExampleLongTest : public ::testing::TestWithParam<std::string> {};

TEST_P(WrongExampleLongTest, FailsAsItSays) {
  const Folder folder;
  const auto text = read_file(kExamples / GetParam());
  ASSERT_TRUE(text.ok());
  const std::set<std::string> expected = expectations(*text);
  ASSERT_FALSE(expected.empty());
  const Ran ran = verify(folder, GetParam());
  ASSERT_EQ(ran.code, 1) << ran.all();
  const Json failure = ran.json()["verdict"]["failure"];
  const std::string seen = failure.value("gate", "") + "/" + failure.value("reason", "");
  EXPECT_TRUE(expected.contains(seen)) << seen << "\n" << failure.dump(1);
}
INSTANTIATE_TEST_SUITE_P(Each, WrongExampleLongTest, ::testing::ValuesIn(sources(true)), name_of);

// A compiler kept busy for ever is stopped, whatever it is busy with.
TEST(CompilerLongTest, ABombIsAVerdict) {
  const char* kKernel = "\nextern \"C\" void running_maximum(const float* x, float* y, int N) { y[0] = x[0] + N + bomb(); }\n";
  const std::vector<std::string> bombs = {
      // Twenty-four doublings at each of as many levels, none shared.
      "template <int N, int K> struct Node { static constexpr long long value = Node<N - 1, 2 * K>::value + Node<N - 1, 2 * K + 1>::value; };\n"
      "template <int K> struct Node<0, K> { static constexpr long long value = K; };\nstatic float bomb() { return Node<26, 1>::value; }",
      "#include \"/dev/zero\"\nstatic float bomb() { return 0; }",
      "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nstatic float bomb() { float s = 0; B(B(s += 1;)) return s; }",
  };
  for (const std::string& bomb : bombs) {
    const Folder folder;
    write_task(folder);
    folder.write("bomb.cpp", "// hone:function running_maximum\n" + bomb + kKernel);
    const Ran ran = hone(folder, {"verify", ".", "bomb.cpp", "--no-timing", "--no-memory-gate", "--json"});
    EXPECT_EQ(ran.code, 1) << ran.all();
    const std::string reason = ran.json()["verdict"]["failure"].value("reason", "");
    EXPECT_TRUE(reason == "compile_timeout" || reason == "compile_limits" || reason == "compile_error") << reason << ran.all();
    EXPECT_LT(ran.seconds, 60);
    EXPECT_EQ(strays(), std::vector<std::string>());
    EXPECT_EQ(folder.left_behind(), std::set<std::string>());
  }
}

}  // namespace
}  // namespace hone::e2e
