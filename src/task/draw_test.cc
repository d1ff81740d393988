#include "task/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/hash.h"
#include "task/draw_kinds.h"

namespace hone::task {
namespace {

using Kind = Values::Kind;

Tensor tensor(const char* name, DType dtype, std::vector<std::string> shape, Values values = {}) {
  Tensor out;
  out.name = name;
  out.dtype = dtype;
  for (const std::string& extent : shape) out.shape.push_back(Expression::parse(extent).value());
  out.values = std::move(values);
  return out;
}
Values values(Kind kind, double low = 0, double high = 1) {
  Values out;
  out.kind = kind;
  out.low = low;
  out.high = high;
  return out;
}
Task task_of(std::vector<Tensor> inputs) {
  Task task;
  task.inputs = std::move(inputs);
  return task;
}

std::vector<std::byte> raw(const Task& task, std::size_t input, const Dims& dims,
                           DrawSpec spec = {1, {}, 0}) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(bytes_of(task.inputs[input], dims).value()));
  const Status status = draw_input(task, input, dims, spec, bytes);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
  return bytes;
}
std::vector<double> draw(const Task& task, const Dims& dims, DrawSpec spec = {1, {}, 0},
                         std::size_t input = 0) {
  const auto bytes = raw(task, input, dims, spec);
  std::vector<double> out(bytes.size() / size_of(task.inputs[input].dtype));
  load_elements(task.inputs[input].dtype, bytes.data(), out.data(), out.size());
  return out;
}

// Equality bit by bit, so that NaNs are equal and signed zeros differ.
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

std::vector<Tensor> all_kinds(DType floating) {
  Values csr_rowptr = values(Kind::csr), csr_col = csr_rowptr, csr_val = csr_rowptr;
  csr_rowptr.group = csr_col.group = csr_val.group = "A";
  csr_rowptr.part = "rowptr", csr_col.part = "col", csr_val.part = "val";
  csr_col.columns = Expression::parse("N").value();
  Values upper = values(Kind::triangular);
  upper.upper = true;
  Values constant = values(Kind::constant);
  constant.value = 3;
  return {tensor("normal", floating, {"N", "N"}),
          tensor("uniform", floating, {"N", "N"}, values(Kind::uniform, -2, 3)),
          tensor("integers", DType::i32, {"N", "N"}, values(Kind::integers, -5, 5)),
          tensor("wide_integers", DType::i64, {"N"}, values(Kind::integers, -1e15, 1e15)),
          tensor("permutation", DType::i32, {"2", "N"}, values(Kind::permutation)),
          tensor("sorted", floating, {"2", "N"}, values(Kind::sorted, -1, 1)),
          tensor("lower", floating, {"N", "N"}, values(Kind::triangular)),
          tensor("upper", floating, {"2", "N", "N"}, upper),
          tensor("symmetric", floating, {"2", "N", "N"}, values(Kind::symmetric)),
          tensor("definite", floating, {"N", "N"}, values(Kind::positive_definite)),
          tensor("constant", floating, {"N"}, constant),
          tensor("specials", floating, {"N", "N"}, values(Kind::specials)),
          tensor("heavy", floating, {"N", "N"}, values(Kind::heavy_tailed)),
          tensor("rowptr", DType::i32, {"N + 1"}, csr_rowptr),
          tensor("col", DType::i32, {"NNZ"}, csr_col),
          tensor("val", floating, {"NNZ"}, csr_val)};
}

TEST(Draw, TheBitsNeverChange) {
  // Recorded once; every build (compilers, vector widths, sanitizers) must reproduce them, else an
  // archived seed would no longer name its draw.
  const Dims dims = {{"N", 37}, {"NNZ", 300}};
  std::string all;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Task task = task_of(all_kinds(dtype));
    for (Tensor& input : task.inputs) input.specials = is_floating(input.dtype);
    for (std::size_t i = 0; i < task.inputs.size(); ++i)
      for (const Distribution distribution : distributions_for(task)) {
        const auto bytes = raw(task, i, dims, {42, distribution, 5});
        all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
  }
  EXPECT_EQ(identity_hash(all), "3988db526dd19c1d956f09caedf71a62");
}

TEST(Draw, EmptyTensorsOfEveryKind) {
  const Task task = task_of(all_kinds(DType::f32));
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.inputs[i].name == "rowptr")
      EXPECT_EQ(draw(task, {{"N", 0}, {"NNZ", 0}}, {1, {}, 0}, i), std::vector<double>{0});
    else
      EXPECT_TRUE(raw(task, i, {{"N", 0}, {"NNZ", 0}}).empty()) << task.inputs[i].name;
  }
}

TEST(Draw, WindowsOfALongerDrawAreDraws) {
  const Task task = task_of(all_kinds(DType::f64));
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (!is_windowable(task, i)) continue;
    const auto whole = draw(task, {{"N", 40}, {"NNZ", 1000}}, {9, {}, 0}, i);
    for (const std::uint64_t offset : {1, 2, 7, 20}) {
      const auto part = draw(task, {{"N", 4}, {"NNZ", 500}}, {9, {}, offset}, i);
      ASSERT_LE(part.size() + offset, whole.size());
      const auto from = whole.begin() + static_cast<std::ptrdiff_t>(offset);
      EXPECT_TRUE(
          same(part, std::vector<double>(from, from + static_cast<std::ptrdiff_t>(part.size()))))
          << task.inputs[i].name << " " << offset;
    }
  }
  std::set<std::string> windowable;
  for (std::size_t i = 0; i < task.inputs.size(); ++i)
    if (is_windowable(task, i)) windowable.insert(task.inputs[i].name);
  EXPECT_EQ(windowable, (std::set<std::string>{"normal", "uniform", "integers", "wide_integers",
                                               "constant", "specials", "heavy", "val"}));
}

TEST(Draw, SeedsAndNamesGiveOtherDraws) {
  const Task task = task_of({tensor("a", DType::f32, {"N"}), tensor("b", DType::f32, {"N"})});
  const auto a1 = draw(task, {{"N", 100}}, {1, {}, 0}, 0),
             a2 = draw(task, {{"N", 100}}, {2, {}, 0}, 0);
  const auto b1 = draw(task, {{"N", 100}}, {1, {}, 0}, 1);
  EXPECT_FALSE(same(a1, a2));
  EXPECT_FALSE(same(a1, b1));
  EXPECT_TRUE(same(a1, draw(task, {{"N", 100}}, {1, {}, 0}, 0)));
}

TEST(Draw, UniformsAreHalfOpenAndEven) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const auto x =
        draw(task_of({tensor("x", dtype, {"N"}, values(Kind::uniform, -1, 3))}), {{"N", 1 << 18}});
    double counts[16] = {};
    for (const double v : x) {
      ASSERT_GE(v, -1);
      ASSERT_LT(v, 3);
      ++counts[static_cast<int>((v + 1) * 4)];
    }
    // Chi-square of 15 degrees of freedom exceeds 37.7 once in 1,000; bf16 rounds across the
    // borders of bins.
    double chi = 0;
    for (const double c : counts) chi += (c - 16384) * (c - 16384) / 16384;
    if (dtype != DType::bf16) {
      EXPECT_LT(chi, 37.7) << name_of(dtype);
    }
  }
  for (const double v :
       draw(task_of({tensor("x", DType::f32, {"9"}, values(Kind::uniform, 2, 2))}), {}))
    EXPECT_EQ(v, 2);
}

TEST(Draw, IntegersTakeBothEndsEvenly) {
  const auto x = draw(task_of({tensor("x", DType::i8, {"N"}, values(Kind::integers, -3, 4))}),
                      {{"N", 1 << 16}});
  std::map<double, double> counts;
  for (const double v : x) ++counts[v];
  ASSERT_EQ(counts.size(), 8u);
  EXPECT_EQ(counts.begin()->first, -3);
  double chi = 0;
  for (const auto& [v, c] : counts) chi += (c - 8192) * (c - 8192) / 8192;
  EXPECT_LT(chi, 24.3);  // 7 degrees of freedom, once in 1,000
  // A uniform of an integer dtype means the same numbers.
  const auto wide = draw(
      task_of({tensor("x", DType::i64, {"N"}, values(Kind::uniform, -1e15, 1e15))}), {{"N", 4096}});
  double mean = 0;
  for (const double v : wide) {
    ASSERT_LE(std::abs(v), 1e15);
    ASSERT_EQ(v, std::floor(v));
    mean += v / 4096;
  }
  EXPECT_LT(std::abs(mean), 5 * 1e15 / std::sqrt(3.0) / 64);  // five standard errors
  for (const double v :
       draw(task_of({tensor("m", DType::boolean, {"64"}, values(Kind::integers))}), {}))
    EXPECT_TRUE(v == 0 || v == 1);
}

TEST(Draw, PermutationsAreBijectionsInEveryRow) {
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1000, 4097}) {
    const auto x =
        draw(task_of({tensor("p", DType::i32, {"3", "N"}, values(Kind::permutation))}), {{"N", n}});
    ASSERT_EQ(x.size(), static_cast<std::size_t>(3 * n));
    for (int row = 0; row < 3; ++row) {
      std::vector<bool> seen(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) {
        const auto v = static_cast<std::int64_t>(x[static_cast<std::size_t>(row * n + i)]);
        ASSERT_TRUE(v >= 0 && v < n && !seen[static_cast<std::size_t>(v)]) << n;
        seen[static_cast<std::size_t>(v)] = true;
      }
    }
    if (n > 100) {
      EXPECT_FALSE(std::equal(x.begin(), x.begin() + n, x.begin() + n)) << "rows are equal";
    }
  }
}

TEST(Draw, PermutationsOfThreeAreAllDrawnAlikeOften) {
  std::map<std::vector<double>, double> counts;
  const Task task = task_of({tensor("p", DType::i32, {"3"}, values(Kind::permutation))});
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++counts[draw(task, {}, {seed, {}, 0})];
  ASSERT_EQ(counts.size(), 6u);
  double chi = 0;
  for (const auto& [p, c] : counts) chi += (c - 1000) * (c - 1000) / 1000;
  EXPECT_LT(chi, 300) << "a small Feistel network is not perfectly even, but none is rare";
}

TEST(Draw, SortedRowsAscendAndAreSpreadAsTheUniform) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8})
    for (const Distribution d : {Distribution::nominal, Distribution::scaled_up,
                                 Distribution::shifted, Distribution::negated}) {
      const double high = is_floating(dtype) ? 5 : 200;
      const auto x = draw(task_of({tensor("s", dtype, {"3", "N"}, values(Kind::sorted, 1, high))}),
                          {{"N", 1000}}, {1, d, 0});
      double mean = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 1000) {
          ASSERT_LE(x[i - 1], x[i]) << name_of(dtype);
        }
        mean += x[i] / 3000;
      }
      // Stratified: the mean of 1,000 strata is within one stratum of the middle.
      if (d == Distribution::nominal) {
        EXPECT_NEAR(mean, 0.5 * (1 + high), is_floating(dtype) ? 0.02 : 0.3);
        EXPECT_GE(x.front(), 1);
        EXPECT_LE(x.back(), high);
      }
    }
}

TEST(Draw, MatricesHaveTheirStructure) {
  const std::int64_t n = 67;
  const auto at = [&](const std::vector<double>& m, std::int64_t b, std::int64_t i,
                      std::int64_t j) { return m[static_cast<std::size_t>((b * n + i) * n + j)]; };
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const Distribution d : {Distribution::nominal, Distribution::scaled_up,
                                 Distribution::scaled_down, Distribution::shifted}) {
      const auto symmetric =
          draw(task_of({tensor("m", dtype, {"2", "N", "N"}, values(Kind::symmetric))}), {{"N", n}},
               {1, d, 0});
      const auto definite =
          draw(task_of({tensor("m", dtype, {"2", "N", "N"}, values(Kind::positive_definite))}),
               {{"N", n}}, {1, d, 0});
      const auto lower =
          draw(task_of({tensor("m", dtype, {"2", "N", "N"}, values(Kind::triangular))}), {{"N", n}},
               {1, d, 0});
      Values is_upper = values(Kind::triangular);
      is_upper.upper = true;
      const auto upper =
          draw(task_of({tensor("m", dtype, {"2", "N", "N"}, is_upper)}), {{"N", n}}, {1, d, 0});
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < n; ++i) {
          double off = 0;
          for (std::int64_t j = 0; j < n; ++j) {
            ASSERT_EQ(at(symmetric, b, i, j), at(symmetric, b, j, i));
            ASSERT_EQ(at(definite, b, i, j), at(definite, b, j, i));
            if (i != j) off += std::abs(at(definite, b, i, j));
            ASSERT_EQ(at(lower, b, i, j) == 0, j > i) << i << " " << j;
            ASSERT_EQ(at(upper, b, i, j) == 0, j < i) << i << " " << j;
          }
          ASSERT_GT(at(definite, b, i, i), off) << "not strictly dominant";
        }
    }
  // Rectangles, wide and tall, have a triangle too.
  const auto wide =
      draw(task_of({tensor("m", DType::f32, {"2", "5"}, values(Kind::triangular))}), {});
  EXPECT_EQ(std::count(wide.begin(), wide.end(), 0.0), 7);
  const auto tall =
      draw(task_of({tensor("m", DType::f32, {"5", "2"}, values(Kind::triangular))}), {});
  EXPECT_EQ(std::count(tall.begin(), tall.end(), 0.0), 1);
}

TEST(Draw, SparseGroupsAreValidMatrices) {
  struct Size {
    std::int64_t n, m, nnz;
  };
  for (const Size& s :
       {Size{1, 1, 0}, Size{1, 1, 1}, Size{5, 7, 35}, Size{5, 7, 34}, Size{100, 3, 250},
        Size{1000, 1000, 10000}, Size{1000, 50000, 10}, Size{3, 100000, 5000}, Size{0, 7, 0},
        Size{7, 0, 0}, Size{4097, 513, 65536}}) {
    std::vector<Tensor> inputs = all_kinds(DType::f32);
    inputs.erase(inputs.begin(), inputs.end() - 3);
    inputs[1].values.columns = Expression::parse("M").value();
    const Task task = task_of(std::move(inputs));
    const Dims dims = {{"N", s.n}, {"M", s.m}, {"NNZ", s.nnz}};
    const auto rowptr = draw(task, dims, {3, {}, 0}, 0), col = draw(task, dims, {3, {}, 0}, 1);
    ASSERT_EQ(rowptr.size(), static_cast<std::size_t>(s.n + 1));
    EXPECT_EQ(rowptr.front(), 0);
    EXPECT_EQ(rowptr.back(), s.nnz);
    double longest = 0;
    for (std::size_t row = 0; row + 1 < rowptr.size(); ++row) {
      ASSERT_LE(rowptr[row], rowptr[row + 1]);
      longest = std::max(longest, rowptr[row + 1] - rowptr[row]);
      for (auto k = static_cast<std::size_t>(rowptr[row]);
           k < static_cast<std::size_t>(rowptr[row + 1]); ++k) {
        ASSERT_GE(col[k], 0);
        ASSERT_LT(col[k], s.m);
        if (k > static_cast<std::size_t>(rowptr[row])) {
          ASSERT_LT(col[k - 1], col[k]) << "not ascending and distinct";
        }
      }
    }
    if (s.n == 1000 && s.m == 1000) {
      EXPECT_GT(longest, 25) << "row lengths are too even: the mean is 10";
      // The first and the second half hold about the same over seeds: no bias of the splits.
      double first = 0;
      for (std::uint64_t seed = 0; seed < 100; ++seed)
        first += draw(task, dims, {seed, {}, 0}, 0)[500] / 100 / 10000;
      EXPECT_NEAR(first, 0.5, 5 * 0.5 / std::sqrt(12.0) / 10);  // a share is uniform on 0.25 … 0.75
    }
  }
  std::vector<Tensor> inputs = all_kinds(DType::f32);
  inputs.erase(inputs.begin(), inputs.end() - 3);
  const Task task = task_of(std::move(inputs));
  std::vector<std::byte> bytes(4 * 5);
  EXPECT_FALSE(draw_input(task, 1, {{"N", 2}, {"NNZ", 5}}, {}, bytes).ok())
      << "five values in a matrix of four";
}

TEST(Draw, SpecialsAreOneInFiftyAndOfEveryKind) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const auto x =
        draw(task_of({tensor("x", dtype, {"N"}, values(Kind::specials))}), {{"N", 1 << 17}});
    std::map<std::string, int> counts;
    const double smallest_normal = std::ldexp(1.0, min_exponent(dtype));
    for (const double v : x) {
      const char* kind = std::isnan(v)                   ? "nan"
                         : std::isinf(v)                 ? (v > 0 ? "inf" : "-inf")
                         : v == 0                        ? (std::signbit(v) ? "-0" : "0")
                         : std::abs(v) < smallest_normal ? (v > 0 ? "denormal" : "-denormal")
                         : v == max_finite(dtype)        ? "max"
                                                         : "";
      if (*kind) ++counts[kind];
    }
    EXPECT_EQ(counts.size(), 8u);
    const double each = (1 << 17) / 50.0 / 8;
    for (const auto& [kind, count] : counts)
      EXPECT_NEAR(count, each, 6 * std::sqrt(each)) << name_of(dtype) << " " << kind;
  }
}

TEST(Draw, HeavyTailsAreNormalsTimesPowersOfTwo) {
  const Task normal = task_of({tensor("x", DType::f64, {"N"})});
  const auto x = draw(normal, {{"N", 1 << 16}});
  const auto heavy = draw(normal, {{"N", 1 << 16}}, {1, Distribution::heavy_tailed, 0});
  double at_least[4] = {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    int exponent;
    ASSERT_EQ(std::frexp(heavy[i] / x[i], &exponent), 0.5);
    ASSERT_GE(exponent, 1);
    for (int j = 0; j < 4; ++j) at_least[j] += exponent - 1 >= j;
  }
  for (int j = 1; j < 4; ++j) {
    const double expected = std::pow(4.0, -j) * (1 << 16);  // P(k >= j) = 4^-j
    EXPECT_NEAR(at_least[j], expected, 5 * std::sqrt(expected));
  }
  EXPECT_TRUE(
      same(heavy, draw(task_of({tensor("x", DType::f64, {"N"}, values(Kind::heavy_tailed))}),
                       {{"N", 1 << 16}})));
  for (const double v : draw(task_of({tensor("x", DType::f16, {"N"}, values(Kind::heavy_tailed))}),
                             {{"N", 1 << 16}}))
    ASSERT_TRUE(std::isfinite(v));
}

TEST(Draw, DistributionsChangeTheNominalDrawAsTheySay) {
  Tensor x = tensor("x", DType::f64, {"N"});
  x.values.mean = 0.5, x.values.std = 2;
  const Task task = task_of({x});
  const auto nominal = draw(task, {{"N", 999}});
  const auto with = [&](Distribution d) { return draw(task, {{"N", 999}}, {1, d, 0}); };
  const auto up = with(Distribution::scaled_up), down = with(Distribution::scaled_down),
             negated = with(Distribution::negated), shifted = with(Distribution::shifted);
  for (std::size_t i = 0; i < nominal.size(); ++i) {
    ASSERT_EQ(up[i], 3 * nominal[i]);
    ASSERT_EQ(down[i], 0.01 * nominal[i]);
    ASSERT_EQ(negated[i], -nominal[i]);
    ASSERT_EQ(shifted[i], nominal[i] + 32);  // sixteen standard deviations
  }
  EXPECT_TRUE(same(with(Distribution::specials), nominal)) << "specials were not allowed";
}

TEST(Draw, OnlyDistributionsThatChangeSomethingAreUsed) {
  using D = Distribution;
  const auto of = [](std::vector<Tensor> inputs) {
    return distributions_for(task_of(std::move(inputs)));
  };
  Tensor fixed = tensor("x", DType::f32, {"N"});
  fixed.vary = false;
  EXPECT_EQ(of({fixed}), std::vector<D>{D::nominal});
  EXPECT_EQ(of({tensor("i", DType::i32, {"N"}, values(Kind::integers))}),
            std::vector<D>{D::nominal});
  EXPECT_EQ(of({tensor("p", DType::f32, {"N"}, values(Kind::permutation))}),
            std::vector<D>{D::nominal});
  EXPECT_EQ(of({tensor("u", DType::f32, {"N"}, values(Kind::uniform))}),
            (std::vector<D>{D::nominal, D::scaled_up, D::scaled_down}));
  EXPECT_EQ(of({tensor("u", DType::f32, {"N"})}),
            (std::vector<D>{D::nominal, D::scaled_up, D::scaled_down, D::negated, D::shifted,
                            D::heavy_tailed}));
  Tensor special = tensor("x", DType::f32, {"N"});
  special.specials = true;
  EXPECT_EQ(of({special}).back(), D::specials);
  for (const D d : of({special})) EXPECT_EQ(distribution_from(name_of(d)).value(), d);
  EXPECT_NE(distribution_from("scaled_upp").error().message.find("did you mean 'scaled_up'?"),
            std::string::npos);
}

TEST(Draw, ScalarsAreFixedOrRedrawn) {
  Task task;
  task.scalars = {{"a", DType::f32, 0.1, true, false, 0, 0},
                  {"b", DType::f32, 1, false, false, 0.5, 1.5},
                  {"k", DType::i32, 3, false, true, 1, 5}};
  EXPECT_EQ(draw_scalars(task, {0, {}, 0}), (std::vector<double>{static_cast<double>(0.1f), 1, 3}));
  std::set<double> bs, ks;
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    const auto s = draw_scalars(task, {seed, {}, 0});
    EXPECT_EQ(s[0], static_cast<double>(0.1f));
    EXPECT_TRUE(s[1] >= 0.5 && s[1] <= 1.5);
    EXPECT_EQ(s[1], static_cast<double>(static_cast<float>(s[1])));
    bs.insert(s[1]);
    ks.insert(s[2]);
  }
  EXPECT_GT(bs.size(), 190u);
  EXPECT_EQ(ks, (std::set<double>{1, 2, 3, 4, 5}));
}

TEST(Draw, WrongSizesAreOurBug) {
  const Task task = task_of({tensor("x", DType::f32, {"N"})});
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(draw_input(task, 0, {{"N", 3}}, {}, bytes).error().code, ErrorCode::bug);
  EXPECT_EQ(draw_input(task, 1, {{"N", 3}}, {}, bytes).error().code, ErrorCode::bug);
}

}  // namespace
}  // namespace hone::task
