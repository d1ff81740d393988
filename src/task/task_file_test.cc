#include "task/task_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/text.h"

namespace hone::task {
namespace {

const fs::path kGolden = fs::path(HONE_SOURCE_DIR) / "tests" / "golden" / "task";

// A file states its fate in its first lines: "# valid" or "# error: TEXT", which the error must
// hold (the file's own name left out).
TEST(TaskFile, GoldenFilesGiveTheStatedError) {
  std::size_t wrong = 0, valid = 0;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string text = read_file(entry.path()).value();
    const std::string name = entry.path().filename().string();
    const auto task = read_task(entry.path());
    if (text.rfind("# valid", 0) == 0) {
      EXPECT_TRUE(task.ok()) << name << ": " << task.error().text();
      ++valid;
      continue;
    }
    ASSERT_EQ(text.rfind("# error: ", 0), 0u) << name << " states neither valid nor an error";
    const std::string expected(text.substr(9, text.find('\n') - 9));
    ++wrong;
    if (task.ok()) {
      ADD_FAILURE() << name << " was read without an error";
      continue;
    }
    std::string found = task.error().text();
    const std::string prefix = entry.path().string() + ":";
    EXPECT_EQ(found.rfind(prefix, 0), 0u) << found;
    found = found.substr(std::min(found.size(), prefix.size()));
    EXPECT_NE(found.find(expected), std::string::npos)
        << name << "\n  found:    " << found << "\n  expected: " << expected;
    EXPECT_EQ(exit_code(task.error()), 2) << name;
  }
  EXPECT_GE(wrong, 60u);
  EXPECT_GE(valid, 5u);
}

TEST(TaskFile, EveryKeyReachesTheTask) {
  const auto read = read_task(kGolden / "every_key.toml");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const Task& task = *read;
  EXPECT_EQ(task.name, "every_key");
  EXPECT_EQ(task.about, "Uses every key.");
  EXPECT_EQ(task.op, "nothing");
  EXPECT_EQ(task.lanes, (std::vector<std::string>{"cpu", "cuda"}));
  EXPECT_EQ(task.precision, Precision::bf16);
  EXPECT_EQ(task.dims.at("N"), "rows");
  EXPECT_EQ(task.dim_names(), (std::vector<std::string>{"D", "N", "NNZ"}));
  const auto input = [&](const char* name) {
    return *std::find_if(task.inputs.begin(), task.inputs.end(),
                         [&](const Tensor& t) { return t.name == name; });
  };
  EXPECT_EQ(input("x").values.mean, 1.5);
  EXPECT_EQ(input("x").values.std, 2);
  EXPECT_EQ(input("x").align, 16);
  EXPECT_TRUE(input("x").is_static);
  EXPECT_FALSE(input("x").vary);
  EXPECT_TRUE(input("x").specials);
  EXPECT_EQ(input("u").values.kind, Values::Kind::uniform);
  EXPECT_EQ(input("u").values.low, -1);
  EXPECT_EQ(input("u").values.high, 2.5);
  EXPECT_TRUE(input("t").values.upper);
  EXPECT_EQ(input("c").values.value, 7);
  EXPECT_EQ(input("digits").values.file, "digits.npy");
  EXPECT_FALSE(input("digits").values.shuffle);
  EXPECT_EQ(input("mask").values.kind, Values::Kind::integers);
  EXPECT_EQ(input("cols").values.columns.text(), "D");
  EXPECT_EQ(input("cols").values.group, "A");
  ASSERT_EQ(task.scalars.size(), 3u);
  EXPECT_TRUE(task.scalars[0].fixed);
  EXPECT_EQ(task.scalars[0].value, 1e-5);
  EXPECT_FALSE(task.scalars[1].fixed);
  EXPECT_EQ(task.scalars[1].value, 1);  // the middle of [0, 2]
  EXPECT_TRUE(task.scalars[2].integers);
  ASSERT_EQ(task.outputs.size(), 3u);
  EXPECT_EQ(task.outputs[0].inout, "u");
  EXPECT_EQ(task.outputs[1].selects, "index_value");
  EXPECT_EQ(task.outputs[2].selects, "my_value");
  EXPECT_EQ(task.outputs[2].role, Role::output);
  EXPECT_EQ(task.reference.at("cuda"), "reference.cu");
  EXPECT_EQ(task.baseline, "faster.cpp");
  EXPECT_EQ(task.work.bytes, "4*N*D");
  EXPECT_EQ(task.work.flops, "5*N*D*log2(D)");
  EXPECT_EQ(task.work.min_flops, "1000");
  EXPECT_EQ(task.limits.threads, 2);
  EXPECT_EQ(task.limits.memory_gb, 1.5);
  EXPECT_EQ(task.limits.gpu_gb, 8);
  EXPECT_EQ(task.limits.scratch_bytes, 1048576);
  EXPECT_EQ(task.limits.call_s, 2.5);
  ASSERT_EQ(task.cases.size(), 2u);
  EXPECT_EQ(task.cases[0].label, "D=4 N=3 NNZ=5");
  EXPECT_FALSE(task.cases[1].time);
  EXPECT_EQ(task.hidden.draws, 4);
  EXPECT_EQ(task.hidden.ranges.at("N"), (std::pair<std::int64_t, std::int64_t>{0, 6}));
}

TEST(TaskFile, AFolderStandsForItsTaskFile) {
  auto folder = TemporaryFolder::make("hone-task-");
  ASSERT_TRUE(folder.ok());
  EXPECT_NE(read_task(folder->path()).error().message.find("holds no task.toml"),
            std::string::npos);
  EXPECT_EQ(read_task(folder->path() / "none.toml").error().code, ErrorCode::usage);
  const std::string text = R"([task]
name = "t"
[dims]
N = "n"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "r.cpp" }
[[case]]
N = 4
)";
  ASSERT_TRUE(write_file(folder->path() / "task.toml", text).ok());
  ASSERT_TRUE(write_file(folder->path() / "r.cpp", "1").ok());
  const auto task = read_task(folder->path());
  ASSERT_TRUE(task.ok()) << task.error().text();
  EXPECT_EQ(task->folder, folder->path());
  EXPECT_EQ(task->text, text);
  // The identity follows the text and every file named.
  ASSERT_TRUE(write_file(folder->path() / "r.cpp", "2").ok());
  const auto other = read_task(folder->path());
  EXPECT_NE(task->identity(), other->identity());
  ASSERT_TRUE(write_file(folder->path() / "r.cpp", "1").ok());
  EXPECT_EQ(task->identity(), read_task(folder->path())->identity());
}

TEST(TaskFile, AsManyTablesAsAVerificationCanDealWith) {
  const auto parse = [](int cases, int inputs) {
    std::string text = "[task]\nname = \"t\"\n[dims]\nN = \"n\"\n";
    for (int i = 0; i < inputs; ++i)
      text += "[[input]]\nname = \"x" + std::to_string(i) + "\"\ndtype = \"f32\"\nshape = [\"N\"]\n";
    text += "[[output]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\n[reference]\nsource = { cpu = \"r.cpp\" }\n";
    for (int i = 0; i < cases; ++i)
      text += "[[case]]\nN = " + std::to_string(i + 1) + (i > 0 ? "\ntime = false\n" : "\n");
    return parse_task(text, "task.toml", false);
  };
  EXPECT_TRUE(parse(256, 256).ok());
  const auto cases = parse(257, 1);
  ASSERT_FALSE(cases.ok());
  EXPECT_NE(cases.error().text().find("[[case]]: found 257 of them, expected at most 256"), std::string::npos)
      << cases.error().text();
  EXPECT_NE(cases.error().text().find("[hidden] draws fresh sizes"), std::string::npos);
  std::string dims = "[task]\nname = \"t\"\n[dims]\n";
  for (int i = 0; i < 257; ++i) dims += "N" + std::to_string(i) + " = \"n\"\n";
  const auto many = parse_task(dims, "task.toml", false);
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().text().find("[dims]: found 257 names, expected at most 256"), std::string::npos)
      << many.error().text();
  const auto inputs = parse(1, 257);
  ASSERT_FALSE(inputs.ok());
  EXPECT_NE(inputs.error().text().find("[[input]]: found 257 of them, expected at most 256"), std::string::npos)
      << inputs.error().text();
}

TEST(TaskFile, SizesAreCheckedForOverflow) {
  Tensor tensor;
  tensor.name = "x";
  tensor.dtype = DType::f64;
  tensor.shape = {*Expression::parse("N"), *Expression::parse("N"), *Expression::parse("D")};
  EXPECT_EQ(bytes_of(tensor, {{"N", 3}, {"D", 5}}).value(), 360);
  EXPECT_EQ(bytes_of(tensor, {{"N", std::int64_t{1} << 40}, {"D", 0}}).value(), 0);
  EXPECT_FALSE(elements_of(tensor, {{"N", std::int64_t{1} << 40}, {"D", 1}}).ok());
  EXPECT_TRUE(elements_of(tensor, {{"N", std::int64_t{1} << 30}, {"D", 4}}).ok());
  EXPECT_FALSE(bytes_of(tensor, {{"N", std::int64_t{1} << 30}, {"D", 4}}).ok());
  EXPECT_FALSE(shape_of(tensor, {{"N", -1}, {"D", 4}}).ok());
  EXPECT_FALSE(shape_of(tensor, {{"N", 1}}).ok());
  tensor.shape.clear();
  EXPECT_EQ(bytes_of(tensor, {}).value(), 8);
}

}  // namespace
}  // namespace hone::task
