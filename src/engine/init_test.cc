#include "engine/init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "../../tests/json_schema.h"
#include "candidate/candidate.h"
#include "task/task_file.h"

namespace hone::engine {
namespace {

class Init : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("init-test");
    ASSERT_TRUE(made.ok());
    temporary_.emplace(std::move(*made));
  }
  fs::path root() const { return temporary_->path(); }

  Result<InitResult> scaffold(const std::string& source, const std::string& file = "kernel.cpp",
                              const std::string& function = "", bool force = false) {
    EXPECT_TRUE(write_file(root() / file, source).ok());
    return scaffold_task(root() / file, {function, root() / "made", force});
  }
  std::string error(const std::string& source) {
    const auto result = scaffold(source);
    return result.ok() ? "no error" : result.error().text();
  }
  std::string made(const std::string& file) const {
    return read_file(root() / "made" / file).value();
  }

  /// The written task as read_task sees it; every build of the reference and the candidate resolves
  /// and compiles.
  task::Task check_made(const InitResult& result) {
    auto task = task::read_task(result.folder);
    EXPECT_TRUE(task.ok()) << task.error().text() << "\n" << made("task.toml");
    if (!task.ok()) return {};
    using candidate::Build;
    for (const auto& [build, file, real] :
         {std::tuple{Build::oracle, result.files[1], "double"},
          std::tuple{Build::rounded, result.files[1], "float"},
          std::tuple{Build::baseline, result.files[1], "float"},
          std::tuple{Build::candidate, result.files[2], "float"}}) {
      const auto c = candidate::read(file.string());
      EXPECT_TRUE(c.ok()) << c.error().text();
      if (!c.ok()) continue;
      const auto r =
          candidate::resolve(*c, *candidate::default_assignment(*c, *task), *task, build);
      EXPECT_TRUE(r.ok()) << r.error().text();
      if (!r.ok()) continue;
      // The lane's own prelude, so that hone::exp and the like are what a reference gets.
      const fs::path prelude = fs::path(HONE_SOURCE_DIR) / "src/lane/cpu/prelude",
                     text = root() / "resolved.cc";
      EXPECT_TRUE(write_file(text, r->source).ok());
      const std::string command =
          "g++ -std=gnu++20 -fsyntax-only -fopenmp -DHONE_ROUND= -DHONE_REAL=" + std::string(real) +
          " -DHONE_OUT=" + real + " -include " + (prelude / "types.h").string() + " -include " +
          (prelude / "reference.h").string() + " " + text.string();
      EXPECT_EQ(std::system(command.c_str()), 0) << r->source;
    }
    return *task;
  }

  static std::string shape(const task::Tensor& tensor) {
    std::string text;
    for (const auto& extent : tensor.shape) text += (text.empty() ? "" : ",") + extent.text();
    return text;
  }

 private:
  std::optional<TemporaryFolder> temporary_;
};

TEST_F(Init, SaxpyIsInPlace) {
  const auto result = scaffold(
      "void saxpy(int n, float a, const float* x, float* y) {\n  for (int i = 0; i < n; ++i) y[i] "
      "= a * x[i] + y[i];\n}\n");
  ASSERT_TRUE(result.ok()) << result.error().text();
  const task::Task task = check_made(*result);
  ASSERT_EQ(task.inputs.size(), 2u);
  EXPECT_EQ(task.inputs[0].name, "x");
  EXPECT_EQ(task.inputs[1].name, "y_old");
  ASSERT_EQ(task.outputs.size(), 1u);
  EXPECT_EQ(task.outputs[0].inout, "y_old");
  EXPECT_EQ(shape(task.outputs[0]), "n");
  ASSERT_EQ(task.scalars.size(), 1u);
  EXPECT_EQ(task.scalars[0].name, "a");
  EXPECT_NE(made("candidates/kernel.cpp").find("// hone:function saxpy\nextern \"C\" void saxpy("),
            std::string::npos);
  EXPECT_NE(made("reference.cpp").find("const float* y_old, HONE_OUT* y"), std::string::npos)
      << made("reference.cpp");
  EXPECT_NE(made("reference.cpp").find("a * HONE_REAL(x[i]) + y[i]"), std::string::npos)
      << made("reference.cpp");
}

TEST_F(Init, GemmShapesComeFromSubscripts) {
  const auto result = scaffold(
      "extern \"C\" void gemm(const float* A, const float* B, float* C, int M, int N, int K) "
      "{\n#pragma omp parallel for\n"
      "  for (int i = 0; i < M; ++i)\n    for (int j = 0; j < N; ++j) {\n      float sum = 0.0f;\n"
      "      for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];\n      C[i * N + j] = "
      "sum;\n    }\n}\n");
  ASSERT_TRUE(result.ok()) << result.error().text();
  const task::Task task = check_made(*result);
  EXPECT_EQ(shape(task.inputs[0]), "M,K");
  EXPECT_EQ(shape(task.inputs[1]), "K,N");
  EXPECT_EQ(shape(task.outputs[0]), "M,N");
  EXPECT_TRUE(task.outputs[0].inout.empty());
  EXPECT_EQ(task.limits.threads, 2) << "the kernel has an OpenMP pragma";
  EXPECT_NE(made("reference.cpp").find("HONE_REAL sum = 0.0f"), std::string::npos);
  EXPECT_GE(result->next_steps.size(), 3u);
}

TEST_F(Init, SoftmaxInDoubleAndCMathsBecomeWide) {
  const auto result = scaffold(
      "#include <math.h>\nstatic float top(const float* x, size_t n) { float m = x[0]; for (size_t "
      "i = 1; i < n; ++i) m = fmaxf(m, x[i]); return m; }\n"
      "void softmax(const float* restrict x, float* restrict y, int rows, int cols) {\n  for (int "
      "r = 0; r < rows; r++) {\n"
      "    const float* in = x + r * cols;\n    float* out = y + r * cols;\n    float m = top(in, "
      "cols), s = 0;\n"
      "    for (int c = 0; c < cols; ++c) s += expf(in[c] - m);\n    for (int c = 0; c < cols; "
      "++c) out[c] = expf(in[c] - m) / s;\n  }\n}\n",
      "softmax.c");
  ASSERT_TRUE(result.ok()) << result.error().text();
  const task::Task task = check_made(*result);
  EXPECT_EQ(shape(task.inputs[0]), "rows,cols");
  EXPECT_EQ(shape(task.outputs[0]), "rows,cols");
  EXPECT_NE(made("reference.cpp").find("hone::exp(in[c] - m)"), std::string::npos);
  EXPECT_NE(made("reference.cpp").find("HONE_OUT* out = y"), std::string::npos);
  EXPECT_NE(made("task.toml").find("# check: handed on as a pointer"), std::string::npos);
}

TEST_F(Init, HistogramKeepsIntegerOutputs) {
  const auto result = scaffold(
      "extern \"C\" void histogram(const unsigned char* pixels, int32_t* counts, int64_t n, int "
      "bins) {\n  for (int b = 0; b < bins; ++b) counts[b] = 0;\n"
      "  for (int64_t i = 0; i < n; ++i) counts[pixels[i]]++;\n}\n");
  ASSERT_TRUE(result.ok()) << result.error().text();
  const task::Task task = check_made(*result);
  EXPECT_EQ(task.precision, task::Precision::integer);
  EXPECT_EQ(task.inputs[0].dtype, task::DType::u8);
  EXPECT_EQ(shape(task.inputs[0]), "n");
  EXPECT_EQ(shape(task.outputs[0]), "bins");
  EXPECT_EQ(task.outputs[0].dtype, task::DType::i32);
  EXPECT_NE(made("reference.cpp").find("int32_t* counts"), std::string::npos);
}

TEST_F(Init, DoubleKernels) {
  const auto result = scaffold(
      "extern \"C\" void scale(const double* x, double* y, double a, long n) { for (long i = 0; i "
      "< n; ++i) y[i] = a * x[i]; }");
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(check_made(*result).precision, task::Precision::f64);
}

TEST_F(Init, RefusalsNameTheCure) {
  struct Refusal {
    const char* source;
    const char* said;
  };
  const Refusal refusals[] = {
      {"#include <vector>\nvoid f(const float* x, float& y) {}", "'float& y' is a reference"},
      {"#include <vector>\nvoid f(std::vector<float> v, float* y, int n) {}",
       "pass its data and its size, v.data() and v.size()"},
      {"float dot(const float* x, const float* y, int n) { return 0; }",
       "returns 'float'. return nothing and write the result through a pointer"},
      {"void f(const float* x, int n) {}", "writes to no pointer"},
      {"void f(float* x) {}\nvoid g(float* x) {}",
       "found 2 functions: f, g. say which is the kernel: --function f"},
      {"template <typename T> void f(T* x) {}", "found no function that could be the kernel"},
      {"struct S { int a; };\nvoid f(S* s, float* y) {}", "has the parameter 's' of type 'S'"},
      {"#include <immintrin.h>\nvoid f(float* y) { _mm256_storeu_ps(y, _mm256_setzero_ps()); }",
       "uses '_mm256_storeu_ps': a reference is plain code"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string said = error(refusal.source);
    EXPECT_NE(said.find(refusal.said), std::string::npos) << refusal.source << "\n said: " << said;
  }
  EXPECT_FALSE(fs::exists(root() / "made")) << "nothing is written when something is refused";
  EXPECT_FALSE(scaffold_task(root() / "no-such.cpp", {}).ok());
}

TEST_F(Init, NeverOverwritesUnlessForced) {
  const std::string source =
      "void f(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i]; }";
  ASSERT_TRUE(scaffold(source).ok());
  ASSERT_TRUE(write_file(root() / "made/task.toml", "mine").ok());
  const auto again = scaffold(source);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().text().find("task.toml exists already"), std::string::npos);
  EXPECT_EQ(made("task.toml"), "mine");
  EXPECT_TRUE(scaffold(source, "kernel.cpp", "", true).ok());
  EXPECT_NE(made("task.toml"), "mine");
  EXPECT_EQ(
      scaffold(source + "\nvoid g(float* y, int n) { y[0] = 1; }", "two.cpp", "g", true)->function,
      "g");
}

TEST_F(Init, ItsDocumentHoldsToItsSchema) {
  const auto result = scaffold("void scale(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i]; }\n");
  ASSERT_TRUE(result.ok()) << result.error().text();
  const Json document = to_json(*result);
  EXPECT_EQ(document["document"], "init");
  EXPECT_EQ(hone::testing::JsonSchema(fs::path(HONE_SOURCE_DIR) / "docs/schema").check(document, "init"), "");
}

}  // namespace
}  // namespace hone::engine
