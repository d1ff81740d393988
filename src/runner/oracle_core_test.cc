#include "runner/oracle_core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "runner/layout.h"
#include "task/task_file.h"
#include "wire/arena.h"

namespace hone::runner {
namespace {

OracleCore::Parts parts_of(const std::string& truth, const std::string& rounded) {
  OracleCore::Parts parts;
  parts.load = [truth, rounded](const task::Task& task) -> Result<References> {
    References references;
    HONE_TRY(references.truth, load_object_reference(task, truth));
    HONE_TRY(references.rounded, load_object_reference(task, rounded));
    return references;
  };
  return parts;
}

// y = a * x + x0 in the arithmetic REAL; both an in-place output and a plain one. Written by hand as resolve() would:
// inputs x, z; outputs y, zz (inout z); dims N; scalars a.
constexpr const char* kSource = R"cpp(
extern "C" void hone_entry(void* const* p, const int*) {
  const float* x = (const float*)p[0];
  const float* z = (const float*)p[1];
  REAL* y = (REAL*)p[2];
  REAL* zz = (REAL*)p[3];
  const long long n = *(const long long*)p[4];
  const float a = *(const float*)p[5];
  for (long long i = 0; i < n; ++i) {
    y[i] = (REAL)a * (REAL)x[i] + (REAL)x[0];
    zz[i] = (REAL)z[i] + (REAL)1;
  }
}
)cpp";

constexpr const char* kTask = R"toml(
[task]
name = "affine"
lanes = ["cpu"]
precision = "f32"
[dims]
N = "n"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
[[input]]
name = "z"
dtype = "f32"
shape = ["N"]
[[scalar]]
name = "a"
dtype = "f32"
value = 1.5
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[[output]]
name = "zz"
dtype = "f32"
shape = ["N"]
inout = "z"
[reference]
source = { cpu = "reference.cpp" }
[[case]]
N = 1000
)toml";

std::string build(const char* real) {
  auto folder = TemporaryFolder::make("hone-oracle-test-");
  EXPECT_TRUE(folder.ok());
  const fs::path source = folder->path() / "a.cpp", object = folder->path() / "a.so";
  EXPECT_TRUE(write_file(source, kSource).ok());
  const std::string command = "g++ -O1 -ffp-contract=off -shared -fPIC -DREAL=" + std::string(real) + " -o " +
                              object.string() + " " + source.string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_file(object).value();
}

std::unique_ptr<OracleCore> make_core() {
  static const std::string truth = build("double"), rounded = build("float");
  auto task = task::parse_task(kTask, "task.toml", false);
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().text());
  auto core = OracleCore::make(*task, parts_of(truth, rounded), std::uint64_t{1} << 30);
  EXPECT_TRUE(core.ok());
  return std::move(core).value();
}

constexpr std::int64_t kN = 1000;
DrawKey key(std::uint64_t seed) { return {{{"N", kN}}, {seed, task::Distribution::nominal, 0}}; }

/// What an honest float kernel would leave, computed here.
std::vector<std::string> honest(const std::vector<std::string>& inputs) {
  std::vector<float> x(kN), z(kN), y(kN), zz(kN);
  std::memcpy(x.data(), inputs[0].data(), 4 * kN);
  std::memcpy(z.data(), inputs[1].data(), 4 * kN);
  for (int i = 0; i < kN; ++i) {
    y[i] = std::fma(1.5f, x[i], x[0]);  // contracted: differs from r in the last bit here and there
    zz[i] = z[i] + 1;
  }
  return {std::string(reinterpret_cast<char*>(y.data()), 4 * kN), std::string(reinterpret_cast<char*>(zz.data()), 4 * kN)};
}

TEST(OracleCore, HonestOutputsAreNearAndWrongOnesFar) {
  const auto core = make_core();
  const auto prepared = core->prepare(key(1));
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  EXPECT_EQ(prepared->elements, (std::vector<std::int64_t>{kN, kN}));
  EXPECT_FALSE(prepared->reference_exact);  // float products are rounded
  const auto inputs = core->inputs_of(prepared->id);
  ASSERT_TRUE(inputs.ok());
  auto outputs = honest(*inputs);
  const auto right = core->check_bytes(prepared->id, outputs);
  ASSERT_TRUE(right.ok());
  // A correctly rounded fma errs by half an ulp of the result at most; s + half an ulp is at least half an ulp.
  EXPECT_LE(right->outputs[0].max_candidate, 1.0 + 1e-9);
  EXPECT_EQ(right->outputs[0].exact_wrong, 0);
  EXPECT_EQ(right->outputs[1].bits_differ, 0);

  float wrong;
  std::memcpy(&wrong, outputs[0].data() + 4 * 123, 4);
  wrong *= 1.001f;
  std::memcpy(outputs[0].data() + 4 * 123, &wrong, 4);
  const auto far = core->check_bytes(prepared->id, outputs);
  ASSERT_TRUE(far.ok());
  // 0.1 % of a float is 2^-10 / 2^-24: thousands of half ulps; the spread of y by its inputs' rounding is some ulps.
  EXPECT_GT(far->outputs[0].max_candidate, 500);
  EXPECT_EQ(far->outputs[0].worst.index, 123);
}

TEST(OracleCore, StagesPoisonSlackAndOldValues) {
  const auto core = make_core();
  const auto prepared = core->prepare(key(2));
  ASSERT_TRUE(prepared.ok());
  const auto inputs = core->inputs_of(prepared->id);
  for (const Side side : {Side::upper, Side::lower}) {
    const auto arenas = core->make_arenas({{"N", kN}}, side);
    ASSERT_TRUE(arenas.ok());
    ASSERT_TRUE(core->stage(prepared->id, arenas->id).ok());
    auto in = wire::map_guarded(arenas->inputs[0], 0, input_arena_bytes(*arenas->layout), false);
    auto out = wire::map_guarded(arenas->outputs[0], 0, output_arena_bytes(*arenas->layout), true);
    ASSERT_TRUE(in.ok() && out.ok());
    const Place& x = arenas->layout->inputs[0];
    EXPECT_EQ(std::memcmp(in->bytes().data() + x.data, (*inputs)[0].data(), x.bytes), 0);
    // The in-place output starts with the old values of z, the other one is NaN everywhere.
    const Place& zz = arenas->layout->outputs[1];
    EXPECT_EQ(std::memcmp(out->bytes().data() + zz.data, (*inputs)[1].data(), zz.bytes), 0);
    const Place& y = arenas->layout->outputs[0];
    float first;
    std::memcpy(&first, out->bytes().data() + y.data, 4);
    EXPECT_TRUE(std::isnan(first));

    const auto untouched = core->check(prepared->id, arenas->id);
    ASSERT_TRUE(untouched.ok());
    EXPECT_EQ(untouched->outputs[0].poison_left, kN);
    EXPECT_EQ(untouched->outputs[0].exact_wrong, kN);  // NaN where the truth is finite
    EXPECT_TRUE(untouched->red_zone.empty());

    const auto right = honest(*inputs);
    std::memcpy(out->bytes().data() + y.data, right[0].data(), y.bytes);
    std::memcpy(out->bytes().data() + zz.data, right[1].data(), zz.bytes);
    const auto good = core->check(prepared->id, arenas->id);
    ASSERT_TRUE(good.ok());
    EXPECT_EQ(good->outputs[0].exact_wrong, 0);
    EXPECT_EQ(good->outputs[0].poison_left, 0);
    EXPECT_TRUE(good->red_zone.empty());

    // 4000 bytes leave 96 to the alignment's next multiple, which is the page's end: slack on either side's layout.
    const std::uint64_t beyond = y.data + y.bytes;
    out->bytes()[beyond] ^= std::byte{1};
    const auto spilt = core->check(prepared->id, arenas->id);
    ASSERT_TRUE(spilt.ok());
    EXPECT_NE(spilt->red_zone.find("1 bytes beyond its end"), std::string::npos)
        << spilt->red_zone;
  }
}

TEST(OracleCore, TimedContentsAreDrawsAndAreCheckedAfterwards) {
  const auto core = make_core();
  constexpr std::int64_t kSets = 5;
  const auto arenas = core->make_timing_arenas({{"N", kN}}, kSets);
  ASSERT_TRUE(arenas.ok()) << arenas.error().text();
  EXPECT_EQ(core->freshness(arenas->id).value(), "fresh");
  auto in = wire::map_guarded(arenas->inputs[0], 0, input_arena_bytes(*arenas->layout), false);
  auto out = wire::map_guarded(arenas->outputs[0], 0, output_arena_bytes(*arenas->layout), true);
  ASSERT_TRUE(in.ok() && out.ok());
  const Layout& layout = *arenas->layout;
  std::vector<std::string> before;
  for (const bool cold : {true, false}) {
    for (const std::uint64_t seed : {7u, 8u}) {
      ASSERT_TRUE(core->fill(arenas->id, seed, kSets, cold).ok());
      for (std::int64_t set = 0; set < kSets; ++set) {
        const auto s = static_cast<std::uint64_t>(set);
        std::vector<std::string> inputs;
        for (const Place& p : layout.inputs)
          inputs.emplace_back(reinterpret_cast<char*>(in->bytes().data() + p.data + s * layout.input_stride), p.bytes);
        // Fresh: no set has the contents of another, whatever the release.
        if (cold) {
          for (const std::string& old : before) EXPECT_NE(old, inputs[0]);
          before.push_back(inputs[0]);
        }
        const auto right = honest(inputs);
        for (std::size_t o = 0; o < 2; ++o)
          std::memcpy(out->bytes().data() + layout.outputs[o].data + s * layout.output_stride, right[o].data(),
                      layout.outputs[o].bytes);
      }
      if (cold && seed == 8) {  // call 3 leaves the answer of call 2
        std::memcpy(out->bytes().data() + layout.outputs[0].data + 3 * layout.output_stride,
                    out->bytes().data() + layout.outputs[0].data + 2 * layout.output_stride, layout.outputs[0].bytes);
      }
      ASSERT_TRUE(core->collect(arenas->id, seed, {2, 3}, cold ? "cold" : "warm").ok());
    }
  }
  const auto settled = core->settle(1e6, 1);
  ASSERT_TRUE(settled.ok());
  ASSERT_EQ(settled->size(), 8u);
  for (const Oracle::Settled& s : *settled) {
    const bool stale = s.tag == "cold" && s.seed == 8 && s.call == 3;
    if (stale)
      EXPECT_GT(s.check.outputs[0].max_candidate, 1000) << "a stale answer is far from the truth";
    else
      EXPECT_LE(s.check.outputs[0].max_candidate, 1.0 + 1e-9);
  }
}

TEST(OracleCore, ATimedCallThatLeftItsOutputAloneIsNoted) {
  const auto core = make_core();
  const auto arenas = core->make_timing_arenas({{"N", kN}}, 4);
  ASSERT_TRUE(arenas.ok());
  auto out = wire::map_guarded(arenas->outputs[0], 0, output_arena_bytes(*arenas->layout), true);
  ASSERT_TRUE(out.ok());
  const Layout& layout = *arenas->layout;
  for (const std::uint64_t seed : {7u, 8u, 9u}) {
    ASSERT_TRUE(core->fill(arenas->id, seed, 4, true).ok());
    for (std::uint64_t set = 0; set < 4; ++set)
      if (seed != 8 || set != 2)  // release 8 skips its third call
        for (const Place& p : layout.outputs) std::memset(out->bytes().data() + p.data + set * layout.output_stride, 1, p.bytes);
  }
  const auto settled = core->settle(0, 0);
  ASSERT_TRUE(settled.ok());
  ASSERT_FALSE(settled->empty());
  for (const Oracle::Settled& s : *settled) {
    EXPECT_EQ(s.tag, "untouched");
    EXPECT_EQ(s.seed, 8u);
    EXPECT_EQ(s.call, 2);
    EXPECT_GT(s.check.outputs[0].exact_wrong, 0);
  }
}

TEST(OracleCore, ForgetsForMemoryAndDrawsAgain) {
  const auto small = [] {
    auto task = task::parse_task(kTask, "task.toml", false);
    return OracleCore::make(*task, parts_of(build("double"), build("float")), 1);  // room for one draw
  }();
  ASSERT_TRUE(small.ok());
  const auto first = (*small)->prepare(key(1));
  const auto second = (*small)->prepare(key(2));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto a = (*small)->inputs_of(first->id);
  const auto b = (*small)->inputs_of(second->id);
  const auto again = (*small)->inputs_of(first->id);
  ASSERT_TRUE(a.ok() && b.ok() && again.ok());
  EXPECT_EQ((*a)[0], (*again)[0]);
  EXPECT_NE((*a)[0], (*b)[0]);
  EXPECT_FALSE((*small)->inputs_of(999).ok());
}

TEST(Layout, TensorsLieAgainstTheirGuards) {
  auto task = task::parse_task(kTask, "task.toml", false);
  const auto upper = guarded_layout(*task, {{"N", kN}}, Side::upper);
  ASSERT_TRUE(upper.ok());
  // 4000 bytes at an alignment of 256: 4096 is the next multiple, so the tensor starts at its page.
  EXPECT_EQ(upper->inputs[0].data, upper->inputs[0].region);
  const auto odd = guarded_layout(*task, {{"N", 3}}, Side::upper);
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->inputs[0].data + 256, odd->inputs[0].region + odd->inputs[0].region_bytes);
  const auto empty = guarded_layout(*task, {{"N", 0}}, Side::lower);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->inputs[0].bytes, 0u);
  const auto packed = packed_layout(*task, {{"N", kN}}, 7);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->input_stride % 256, 0u);
  EXPECT_GE(packed->input_stride, 2 * 4000u);
  EXPECT_GE(input_arena_bytes(*packed), 7 * 8000u);
  const auto back = layout_from_json(to_json(*packed));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(to_json(*back), to_json(*packed));
}

}  // namespace
}  // namespace hone::runner
