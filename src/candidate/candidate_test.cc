#include "candidate/candidate.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/files.h"

namespace hone::candidate {
namespace {

using task::DType;
using task::Expression;

task::Tensor tensor(std::string name, task::Role role, DType dtype,
                    std::vector<std::string> shape) {
  task::Tensor t;
  t.name = std::move(name);
  t.role = role;
  t.dtype = dtype;
  for (const auto& extent : shape) t.shape.push_back(*Expression::parse(extent));
  return t;
}

/// y[N, D] = f(x[N, D], eps), two timed cases and an edge.
task::Task rows_task() {
  task::Task t;
  t.name = "rows";
  t.lanes = {"cpu"};
  t.dims = {{"N", "rows"}, {"D", "columns"}};
  t.inputs = {tensor("x", task::Role::input, DType::f32, {"N", "D"})};
  t.outputs = {tensor("y", task::Role::output, DType::f32, {"N", "D"})};
  task::Scalar eps;
  eps.name = "eps";
  eps.value = 1e-5;
  t.scalars = {eps};
  t.limits.threads = 4;
  t.cases = {{{{"N", 8}, {"D", 64}}, true, "N=8 D=64"},
             {{{"N", 4}, {"D", 32}}, true, "N=4 D=32"},
             {{{"N", 1}, {"D", 3}}, false, "N=1 D=3"}};
  t.identity_value = "task-identity";
  return t;
}

constexpr const char* kRows =
    "#include <math.h>\n"
    "// hone:tune TILE = 64 32 16\n"
    "// hone:tune T = 8 4 2\n"
    "// hone:tune OPT = -O2 none\n"
    "// hone:require TILE <= D\n"
    "// hone:scratch sums f32 [N, ceil_div(D, TILE)] zero\n"
    "// hone:function rows threads=(T)\n"
    "// hone:flags $OPT -fno-math-errno\n"
    "extern \"C\" void rows(const float* x, float* y, int N, int64_t D, float eps, float* sums) {\n"
    "#pragma omp parallel for\n"
    "  for (int i = 0; i < N; ++i) sums[i] = TILE, y[i * D] = x[i * D] + eps;\n"
    "}\n";

std::string resolve_error(const std::string& source, const task::Task& task,
                          Build build = Build::candidate) {
  auto c = parse(source, "k.cc");
  if (!c) return "parse: " + c.error().text();
  auto a = default_assignment(*c, task);
  if (!a) return "assignment: " + a.error().text();
  auto r = resolve(*c, *a, task, build);
  return r.ok() ? "no error" : r.error().text();
}

TEST(Candidate, ParseReadsPlanAndSignature) {
  const auto c = parse(kRows, "dir/rows.cc");
  ASSERT_TRUE(c.ok()) << c.error().text();
  ASSERT_EQ(c->functions.size(), 1u);
  EXPECT_EQ(c->functions[0].threads, "T");
  EXPECT_EQ(c->functions[0].line, 9);
  ASSERT_EQ(c->functions[0].parameters.size(), 6u);
  EXPECT_TRUE(c->functions[0].parameters[0].is_const);
  EXPECT_EQ(c->functions[0].parameters[3].type, "int64_t");
  EXPECT_EQ(c->scratch[0].dtype, DType::f32);
  EXPECT_EQ(c->flags, (std::vector<std::string>{"$OPT", "-fno-math-errno"}));
}

TEST(Candidate, ParseMistakesNameTheLine) {
  struct Mistake {
    std::string source;
    const char* said;
  };
  const std::string f = "extern \"C\" void f(float* y) {}\n";
  const Mistake mistakes[] = {
      {f + "// hone:function g\n", "found no definition of a function 'g'"},
      {f + "// hone:flags $OTP\n// hone:tune OPT = -O2 -O3\n", "did you mean 'OPT'?"},
      {f + "// hone:tune MODE = fast slow\n",
       "k.cc:2: tunable 'MODE' has the word 'fast', and no hone:flags line uses $MODE"},
      {f + "// hone:tune OPT = -O2\n// hone:flags $OPT\n// hone:require OPT > 1\n",
       "k.cc:4: hone:require: 'OPT' has values that are not integers"},
      {f + "// hone:require 1 +\n", "k.cc:2: hone:require: "},
      {f + "// hone:scratch s f31 [1]\n", "k.cc:2: scratch 's': "},
      {f + "// hone:tune s = 1\n// hone:scratch s f32 [1]\n",
       "scratch 's' has the name of a tunable"},
      {f + "// hone:compiler icc\n", "k.cc:2: found compiler 'icc', expected g++ or clang++"},
      {f + "// hone:kernel f grid=(1) block=(1)\n",
       "found hone:kernel, which the cpu lane has no use for"},
      {f + "extern \"C\" void g(float* y) {}\n",
       "found no hone:function line and 2 extern \"C\" functions: f, g"},
      {"int x;\n", "found no function to call"},
  };
  for (const auto& mistake : mistakes) {
    const auto c = parse(mistake.source, "k.cc");
    ASSERT_FALSE(c.ok()) << mistake.source;
    EXPECT_NE(c.error().text().find(mistake.said), std::string::npos)
        << mistake.source << "\n said: " << c.error().text();
  }
}

TEST(Space, ConstraintsAndLimitsDecideWhatIsValid) {
  const auto c = parse(kRows, "rows.cc");
  ASSERT_TRUE(c.ok());
  const task::Task t = rows_task();
  // By hand: TILE <= 32, because the timed case D=32 counts and the edge D=3 does not; T <= 4 by
  // [limits].
  EXPECT_FALSE(satisfies(*c, {{"TILE", "64"}, {"T", "4"}, {"OPT", "none"}}, t));
  EXPECT_FALSE(satisfies(*c, {{"TILE", "32"}, {"T", "8"}, {"OPT", "none"}}, t));
  EXPECT_TRUE(satisfies(*c, {{"TILE", "32"}, {"T", "4"}, {"OPT", "none"}}, t));
  EXPECT_FALSE(satisfies(*c, {{"TILE", "32"}, {"T", "4"}}, t)) << "OPT has no value";
  EXPECT_FALSE(satisfies(*c, {{"TILE", "31"}, {"T", "4"}, {"OPT", "none"}}, t)) << "31 is no value";
  const auto d = default_assignment(*c, t);
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(*d, (Assignment{{"TILE", "32"}, {"T", "4"}, {"OPT", "-O2"}}))
      << "the first in the order written";
  const auto all = all_assignments(*c, t, 8);  // {32, 16} x {4, 2} x {-O2, none}
  ASSERT_TRUE(all.ok()) << all.error().text();
  EXPECT_EQ(all->size(), 8u);
  for (const auto& a : *all) EXPECT_TRUE(satisfies(*c, a, t));
  const auto few = all_assignments(*c, t, 7);
  ASSERT_FALSE(few.ok());
  EXPECT_NE(few.error().message.find("8 valid points, more than 7"), std::string::npos)
      << few.error().message;
}

TEST(Space, DefaultChangesOneTunableFirst) {
  const auto c = parse(
      "// hone:tune A = 1 2 3\n// hone:tune B = 5 6 7\n// hone:require A + B == 8 || A * B == "
      "12\nvoid f(float* y) {}",
      "k.cc");
  ASSERT_TRUE(c.ok()) << c.error().text();
  // (1,5) is not valid; one change: A=3 gives 3+5=8. Depth first would have found (1,7) first.
  EXPECT_EQ(*default_assignment(*c, rows_task()), (Assignment{{"A", "3"}, {"B", "5"}}));
}

TEST(Space, PrunesAndCounts) {
  std::string source = "void f(float* y) {}\n";
  for (int i = 0; i < 20; ++i) source += "// hone:tune P" + std::to_string(i) + " = 0 1 2 3\n";
  auto c = parse(source, "k.cc");
  ASSERT_TRUE(c.ok());
  auto all = all_assignments(*c, rows_task(), 1000);
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().message.find("1099511627776 valid points"), std::string::npos) << "4^20";
  // Chained equalities leave the four constant points; without pruning 4^20 would be visited.
  for (int i = 1; i < 20; ++i)
    source += "// hone:require P" + std::to_string(i) + " == P" + std::to_string(i - 1) + "\n";
  c = parse(source, "k.cc");
  all = all_assignments(*c, rows_task(), 1000);
  ASSERT_TRUE(all.ok()) << all.error().text();
  EXPECT_EQ(all->size(), 4u);
  EXPECT_EQ(all_assignments(*parse("void f(float* y) {}", "k"), rows_task(), 1)->size(), 1u)
      << "no tunable: one point";
  const auto none =
      default_assignment(*parse(source + "// hone:require P0 > 3\n", "k.cc"), rows_task());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("no choice of the tunables satisfies"), std::string::npos);
}

TEST(Space, UnknownNamesAndDimNamesAreErrors) {
  EXPECT_NE(resolve_error("// hone:tune TILE = 1\n// hone:require TIEL <= D\nvoid f(float* y) {}",
                          rows_task())
                .find("did you mean 'TILE'?"),
            std::string::npos);
  EXPECT_NE(resolve_error("// hone:tune D = 1\nvoid f(float* y) {}", rows_task())
                .find("the tunable 'D' has the name of a dim"),
            std::string::npos);
  EXPECT_NE(resolve_error("// hone:scratch eps f32 [N]\nvoid f(float* y) {}", rows_task())
                .find("scratch 'eps' has the name of something in the task"),
            std::string::npos);
}

TEST(Resolve, ArgumentOrderIsInputsOutputsScratchDimsScalars) {
  const auto c = parse(kRows, "rows.cc");
  const auto list = argument_list(rows_task(), c->scratch);
  std::vector<std::string> names;
  for (const auto& a : list) names.push_back(a.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "y", "sums", "D", "N", "eps"}));
}

TEST(Resolve, FlagsThreadsScratchAndLines) {
  const task::Task t = rows_task();
  const auto c = parse(kRows, "rows.cc");
  const auto r = resolve(*c, {{"TILE", "32"}, {"T", "4"}, {"OPT", "none"}}, t);
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(r->flags, std::vector<std::string>{"-fno-math-errno"}) << "none leaves the flag out";
  EXPECT_EQ(r->function_threads, std::vector<std::string>{"4"});
  EXPECT_TRUE(r->openmp);
  EXPECT_EQ(*threads_for(*r, t, t.cases[0].dims), std::vector<int>{4});
  // N * ceil(D / TILE) floats = 8 * 2 * 4 bytes.
  EXPECT_EQ(*scratch_bytes(r->scratch[0], *r, t.cases[0].dims), 64);
  EXPECT_EQ(r->narrow_dims.count("N"), 1u);
  EXPECT_EQ(r->narrow_dims.count("D"), 0u);
  EXPECT_FALSE(threads_for(*r, t, {{"N", std::int64_t{1} << 31}, {"D", 1}}).ok())
      << "int N holds 2^31 - 1";
  EXPECT_TRUE(
      threads_for(*r, t, {{"N", (std::int64_t{1} << 31) - 1}, {"D", std::int64_t{1} << 40}}).ok());
  const auto at = r->source.find("constexpr int TILE = 32;\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GT(at, r->source.find("#include <math.h>"));
  EXPECT_LT(at, r->source.find("extern \"C\" void rows"));
  EXPECT_NE(r->source.find("#line 2 \"rows.cc\"\n// hone:tune TILE"), std::string::npos)
      << r->source;
  EXPECT_EQ(r->source.find("OPT ="), r->source.find("OPT = -O2 none")) << "words are no constants";
}

TEST(Resolve, IdentitiesTellPointsApart) {
  const task::Task t = rows_task();
  const auto c = parse(kRows, "rows.cc");
  const Assignment a = {{"TILE", "32"}, {"T", "4"}, {"OPT", "none"}},
                   b = {{"TILE", "32"}, {"T", "2"}, {"OPT", "none"}};
  EXPECT_EQ(source_identity(*c, a), source_identity(*parse(kRows, "other.cc"), a))
      << "a path is no content";
  EXPECT_NE(source_identity(*c, a), source_identity(*c, b));
  const auto ra = resolve(*c, a, t), rb = resolve(*c, b, t);
  EXPECT_EQ(identity("h", *ra, t, "cpu"), identity("h", *ra, t, "cpu"));
  EXPECT_NE(identity("h", *ra, t, "cpu"), identity("h", *rb, t, "cpu"))
      << "the same code with other threads";
  EXPECT_NE(identity("h", *ra, t, "cpu"), identity("g", *ra, t, "cpu"));
  EXPECT_NE(identity("h", *ra, t, "cpu"), identity("h", *ra, t, "other cpu"));
  auto other = t;
  other.identity_value = "x";
  EXPECT_NE(identity("h", *ra, t, "cpu"), identity("h", *ra, other, "cpu"));
  EXPECT_EQ(to_json(a).dump(), R"({"OPT":"none","T":4,"TILE":32})");
  EXPECT_EQ(*assignment_from(to_json(a)), a);
  EXPECT_EQ(text_of(a), "OPT=none T=4 TILE=32");
}

TEST(Binding, EachMismatchNamesTheParameterAndTheCure) {
  struct Mistake {
    std::string parameters;
    const char* said;
  };
  const Mistake mistakes[] = {
      {"const double* x, float* y",
       "parameter 'const double* x' does not match the input's dtype f32. take it as const float*"},
      {"float* x, float* y", "may be written, yet inputs are read-only"},
      {"float x, float* y", "is a value, yet the input is a tensor"},
      {"const HONE_REAL* x, float* y", "inputs keep their storage type: const float*"},
      {"const float* x, int* y", "does not match the output's dtype f32"},
      {"const float* x, const float* y",
       "no function may write the output 'y'. outputs are not const: float* y"},
      {"const float* x", "no function takes the output 'y'. add the parameter float* y"},
      {"float* y, const int* N", "is not how a dim is taken"},
      {"float* y, float N", "is not how a dim is taken"},
      {"float* y, double eps", "does not match the scalar's dtype f32"},
      {"float* y, const float* eps", "is passed by value"},
      {"float* y, int M", "has no counterpart of that name"},
      {"float* yy", "did you mean 'y'?"},
  };
  for (const auto& mistake : mistakes) {
    const std::string said =
        resolve_error("extern \"C\" void f(" + mistake.parameters + ") {}", rows_task());
    EXPECT_NE(said.find(mistake.said), std::string::npos)
        << mistake.parameters << "\n said: " << said;
  }
  EXPECT_NE(resolve_error("// hone:tune T = 1 2\nvoid f(float* y, int T) {}", rows_task())
                .find("a tunable is a constant of the source"),
            std::string::npos);
  EXPECT_EQ(resolve_error("void f(const float* x, float* y, unsigned N, size_t D, float eps) {}",
                          rows_task()),
            "no error");
  // A later stage may read what an earlier one wrote.
  EXPECT_EQ(resolve_error("// hone:function f\n// hone:function g\nvoid f(const float* x, float* "
                          "y) {}\nvoid g(const float* y, const float* x) {}",
                          rows_task()),
            "no error");
}

TEST(Binding, ReferencesHaveHoneOutAndTwoBuffersInPlace) {
  task::Task t = rows_task();
  const std::string plain = "void f(const float* x, float* y) {}",
                    real = "void f(const float* x, HONE_OUT* y, HONE_REAL eps) {}";
  EXPECT_NE(
      resolve_error(plain, t, Build::oracle).find("floating outputs of a reference are HONE_OUT*"),
      std::string::npos);
  for (const Build build : {Build::oracle, Build::rounded, Build::baseline, Build::candidate})
    EXPECT_EQ(resolve_error(real, t, build), "no error");
  EXPECT_EQ(resolve_error("void f(const float* x, HONE_OUT_y* y) {}", t, Build::oracle),
            "no error");
  EXPECT_EQ(resolve_error(plain, t, Build::baseline), "no error");
  EXPECT_NE(resolve_error("// hone:flags -O3\n" + real, t, Build::oracle)
                .find("a reference takes no hone:flags"),
            std::string::npos);

  t.outputs[0].inout = "x";
  const auto in_place = [&](const std::string& source, Build build) {
    const auto c = parse(source, "k.cc");
    const auto r = resolve(*c, {}, t, build);
    return r.ok() ? (r->in_place ? "one buffer" : "two buffers") : r.error().text();
  };
  EXPECT_EQ(in_place("void f(float* x) {}", Build::candidate), "one buffer");
  EXPECT_EQ(in_place("void f(float* y) {}", Build::candidate), "one buffer");
  EXPECT_EQ(in_place("void f(const float* x, HONE_OUT* y) {}", Build::oracle), "two buffers");
  EXPECT_EQ(in_place("void f(const float* x, HONE_OUT* y) {}", Build::baseline), "two buffers");
  EXPECT_EQ(in_place("void f(float* x) {}", Build::baseline), "one buffer");
  EXPECT_NE(in_place("void f(float* x) {}", Build::oracle)
                .find("holds the old values; the new ones go to 'y'"),
            std::string::npos);

  t.outputs[0].inout.clear();
  t.outputs.push_back(tensor("z", task::Role::output, DType::f64, {"N"}));
  EXPECT_NE(resolve_error("void f(HONE_OUT* y, HONE_OUT* z) {}", t, Build::baseline)
                .find("take it as HONE_OUT_z*"),
            std::string::npos);
  EXPECT_EQ(resolve_error("void f(HONE_OUT* y, HONE_OUT* z) {}", t, Build::oracle), "no error");
}

/// Compiles `source` with a small stand-in for the lane's prelude and loads it. Only our own text
/// is run.
class Loaded {
 public:
  explicit Loaded(const std::string& source, const std::string& extra = "") {
    auto folder = TemporaryFolder::make("candidate-test");
    if (!folder) return;
    folder_.emplace(std::move(*folder));
    const auto file = folder_->path() / "k.cc", object = folder_->path() / "k.so",
               log = folder_->path() / "log";
    std::ofstream(file) << source;
    const std::string prelude = "-include cstdint -DHONE_REAL=double -DHONE_OUT=double ";
    const std::string command =
        "g++ -std=c++20 -O1 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-parameter -shared "
        "-fPIC " +
        prelude + extra + " " + file.string() + " -o " + object.string() + " 2>" + log.string();
    status_ = std::system(command.c_str());
    std::ifstream in(log);
    log_.assign(std::istreambuf_iterator<char>(in), {});
    // Never unloaded: libgomp's idle threads would be left without their code.
    if (status_ == 0) handle_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  template <typename F>
  F* find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(handle_, name));
  }
  const std::string& log() const { return log_; }

 private:
  std::optional<TemporaryFolder> folder_;
  void* handle_ = nullptr;
  int status_ = -1;
  std::string log_;
};

using Entry = void(void* const*, const int*);

TEST(EndToEnd, ARealKernelCompilesRunsAndKeepsItsLineNumbers) {
  // Row sums of 4 columns at a time: y[i] = sum(x[i, :]) + eps, in C as C programmers write it.
  const std::string source =
      "/* Row sums,\n   blocked. */\n"
      "#ifdef __AVX512F__\n#include <immintrin.h>\n#endif\n"
      "/* a comment */ #include <stddef.h>\n"
      "// hone:tune BLOCK = 4\n// hone:tune HUGE_ONE = 5000000000\n// hone:tune LOW = "
      "-9223372036854775808\n"
      "// hone:scratch part f64 [N]\n"
      "// hone:function clear\n// hone:function sums threads=(min(N, 2))\n"
      "namespace stage { void clear(double* part, int N) { for (int i = 0; i < N; ++i) part[i] = "
      "HUGE_ONE - 5000000000; } }\n"
      "extern \"C\" void sums(const float* restrict x, float* restrict y, double* restrict part, "
      "size_t N, long D, float eps) {\n"
      "#pragma omp parallel for\n"
      "  for (long i = 0; i < (long)N; ++i) {\n"
      "    for (long j = 0; j < D; j += BLOCK) for (long k = j; k < D && k < j + BLOCK; ++k) "
      "part[i] += x[i * D + k];\n"
      "    y[i] = (float)(part[i] + eps) + (LOW + 9223372036854775807 + 1);\n"
      "  }\n"
      "#line_marker_below\n"
      "}\n";
  std::string runnable = source;
  runnable.erase(runnable.find("#line_marker_below\n"), 19);
  task::Task t = rows_task();
  t.outputs[0].shape = {*Expression::parse("N")};
  const auto c = parse(runnable, "sums.c");
  ASSERT_TRUE(c.ok()) << c.error().text();
  const auto a = default_assignment(*c, t);
  ASSERT_TRUE(a.ok()) << a.error().text();
  const auto r = resolve(*c, *a, t);
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_TRUE(r->openmp);
  Loaded loaded(r->source, "-Wno-comment -fopenmp");
  auto* entry = loaded.find<Entry>("hone_entry");
  ASSERT_NE(entry, nullptr) << loaded.log() << r->source;
  EXPECT_EQ(loaded.log(), "") << "no warning from what was added";
  // 3 x 6 whole numbers: sums are exact in float. Row i holds 10 i + 0..5: 60 i + 15.
  float x[18], y[3] = {-1, -1, -1}, eps = 0.5f;
  double part[3] = {7, 7, 7};
  for (int i = 0; i < 18; ++i) x[i] = static_cast<float>(10 * (i / 6) + i % 6);
  std::int64_t N = 3, D = 6;
  void* arguments[] = {x, y, part, &D, &N, &eps};
  const int threads[] = {1, 2};
  entry(arguments, threads);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(y[i], static_cast<float>(60 * i + 15) + 0.5f);

  // A mistake of the user's is reported at the user's line: the marker is line 20 of the text
  // above.
  const auto wrong = parse(source, "sums.c");
  ASSERT_TRUE(wrong.ok()) << wrong.error().text();
  Loaded broken(resolve(*wrong, *a, t)->source);
  EXPECT_NE(broken.log().find("sums.c:20:"), std::string::npos) << broken.log();
}

TEST(EndToEnd, SelectFindsTheValueBehindAnIndex) {
  // index[i] = the column of row i's largest element; what it selects is x[i, index].
  task::Task t = rows_task();
  t.outputs = {tensor("index", task::Role::output, DType::i32, {"N"})};
  t.outputs[0].select = true;
  const std::string source =
      "HONE_REAL value_at(const float* x, int64_t D, int64_t element, int64_t index) { return "
      "HONE_REAL(x[element * D + index]); }\n"
      "extern \"C\" void f(const float* x, int* index, int N, int D) {\n"
      "  for (int i = 0; i < N; ++i) { int best = 0; for (int j = 1; j < D; ++j) if (x[i * D + j] "
      "> x[i * D + best]) best = j; index[i] = best; }\n}\n";
  EXPECT_NE(resolve_error(source, t, Build::oracle).find("the task does not say what it selects"),
            std::string::npos);
  t.outputs[0].selects = "value_at";
  const auto c = parse(source, "ref.cc");
  ASSERT_TRUE(c.ok()) << c.error().text();
  const auto r = resolve(*c, {}, t, Build::oracle);
  ASSERT_TRUE(r.ok()) << r.error().text();
  Loaded loaded(r->source);
  auto* entry = loaded.find<Entry>("hone_entry");
  auto* select = loaded.find<double(void* const*, long long, long long)>("hone_select_0");
  ASSERT_NE(entry, nullptr) << loaded.log();
  ASSERT_NE(select, nullptr);
  float x[] = {1, 3, 2, 9, 8, 7};
  std::int32_t index[2] = {-1, -1};
  std::int64_t D = 3, N = 2;
  float eps = 0;
  void* arguments[] = {x, index, &D, &N, &eps};
  const int threads[] = {1};
  entry(arguments, threads);
  EXPECT_EQ(index[0], 1);
  EXPECT_EQ(index[1], 0);
  EXPECT_EQ(select(arguments, 0, 2), 2.0);
  EXPECT_EQ(select(arguments, 1, 1), 8.0);
  EXPECT_EQ(resolve(*c, {}, t, Build::candidate)->source.find("hone_select_"), std::string::npos);
  t.outputs[0].selects = "value_ta";
  EXPECT_NE(resolve_error(source, t, Build::oracle).find("did you mean 'value_at'?"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::candidate
