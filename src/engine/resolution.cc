#include "engine/resolution.h"

#include "base/files.h"
#include "task/task_file.h"

namespace hone::engine {
namespace {

// EXTRA repeats that many thousandths of the work, and the answer stays the same. In ruler_small `zero` is a scalar that
// the compiler cannot know, so that nothing can be left out. None keeps large arrays on the stack: those lie on pages
// of their own in each process, and that alone moves a millisecond kernel by some percent from process to process.

constexpr const char* kSmallTask = R"toml([task]
name = "ruler_small"
about = "A recurrence on values that stay in the first cache."
lanes = ["cpu"]
precision = "f32"
[dims]
N = "values"
R = "steps"
[[input]]
name = "x"
dtype = "f32"
shape = ["N"]
[[scalar]]
name = "zero"
dtype = "f32"
value = 0.0
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "reference.cpp" }
[[case]]
N = 1024
R = 800
)toml";

constexpr const char* kSmallSource = R"cpp(// hone:tune EXTRA = 0 25
// hone:function ruler_small
extern "C" void ruler_small(const float* x, float* y, int N, int R, float zero) {
  for (int i = 0; i < N; i += 64) {
    float v[64], w[64];
    for (int k = 0; k < 64; ++k) v[k] = w[k] = 0;
    for (int r = 0; r < R; ++r)
      for (int k = 0; k < 64; ++k) v[k] = v[k] * 0.875f + x[i + k];
    int extra = EXTRA;
    asm("" : "+r"(extra));
    for (int r = 0; r < R * extra / 1000; ++r)
      for (int k = 0; k < 64; ++k) w[k] = w[k] * 0.875f + x[i + k];
    for (int k = 0; k < 64; ++k) y[i + k] = v[k] + zero * w[k];
  }
}
)cpp";

constexpr const char* kSmallReference = R"cpp(// hone:function ruler_small
extern "C" void ruler_small(const float* x, HONE_OUT* y, int N, int R, float zero) {
  for (int i = 0; i < N; ++i) {
    HONE_REAL v = 0;
    for (int r = 0; r < R; ++r) v = v * HONE_REAL(0.875) + HONE_REAL(x[i]);
    y[i] = v + HONE_REAL(zero);
  }
}
)cpp";

std::string matmul_task(const char* name, int n, int threads) {
  return std::string("[task]\nname = \"") + name +
         "\"\nabout = \"Square matrix product.\"\nlanes = [\"cpu\"]\nprecision = \"f32\"\n[dims]\nN = \"size\"\n"
         "[[input]]\nname = \"a\"\ndtype = \"f32\"\nshape = [\"N\", \"N\"]\n"
         "[[input]]\nname = \"b\"\ndtype = \"f32\"\nshape = [\"N\", \"N\"]\n"
         "[[output]]\nname = \"c\"\ndtype = \"f32\"\nshape = [\"N\", \"N\"]\n"
         "[reference]\nsource = { cpu = \"reference.cpp\" }\n[limits]\nthreads = " + std::to_string(threads) +
         "\n[[case]]\nN = " + std::to_string(n) + "\n";
}

// Every fortieth row is done twice: exactly so much more of the same work for each thread. The compiler does not know
// the number, so that both kernels are the same code.
std::string matmul_source(const char* name, bool parallel) {
  return std::string("// hone:tune EXTRA = 0 25\n// hone:function ") + name + (parallel ? " threads=(2)" : "") +
         "\nextern \"C\" void " + name + R"cpp((const float* a, const float* b, float* c, int N) {
  int extra = EXTRA;
  asm("" : "+r"(extra));
)cpp" + (parallel ? "#pragma omp parallel for schedule(static)\n" : "") +
         R"cpp(  for (int i = 0; i < N; ++i) {
    const int times = 1 + (i + 1) * extra / 1000 - i * extra / 1000;
    for (int t = 0; t < times; ++t) {
      for (int j = 0; j < N; ++j) c[i * N + j] = 0;
      for (int k = 0; k < N; ++k)
        for (int j = 0; j < N; ++j) c[i * N + j] += a[i * N + k] * b[k * N + j];
    }
  }
}
)cpp";
}

std::string matmul_reference(const char* name) {
  return std::string("// hone:function ") + name + "\nextern \"C\" void " + name +
         R"cpp((const float* a, const float* b, HONE_OUT* c, int N) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) c[i * N + j] = 0;
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < N; ++k)
      for (int j = 0; j < N; ++j) c[i * N + j] += HONE_MUL(a[i * N + k], b[k * N + j]);
}
)cpp";
}

constexpr const char* kStreamTask = R"toml([task]
name = "ruler_stream"
about = "y = a + s b, far beyond the caches."
lanes = ["cpu"]
precision = "f32"
[dims]
N = "values"
[[input]]
name = "a"
dtype = "f32"
shape = ["N"]
values = { kind = "uniform", low = -1.0, high = 1.0 }
[[input]]
name = "b"
dtype = "f32"
shape = ["N"]
values = { kind = "uniform", low = -1.0, high = 1.0 }
[[scalar]]
name = "s"
dtype = "f32"
value = 3.0
[[output]]
name = "y"
dtype = "f32"
shape = ["N"]
[reference]
source = { cpu = "reference.cpp" }
[[case]]
N = 25165824
)toml";

constexpr const char* kStreamSource = R"cpp(// hone:tune EXTRA = 0 50
// hone:function ruler_stream
extern "C" void ruler_stream(const float* a, const float* b, float* y, long N, float s) {
  for (long i = 0; i < N; ++i) y[i] = a[i] + s * b[i];
  long extra = EXTRA;
  asm("" : "+r"(extra));
  for (long i = 0; i < N / 1000 * extra; ++i) y[i] = a[i] + s * b[i];
}
)cpp";

constexpr const char* kStreamReference = R"cpp(// hone:function ruler_stream
extern "C" void ruler_stream(const float* a, const float* b, HONE_OUT* y, long N, float s) {
  for (long i = 0; i < N; ++i) y[i] = HONE_REAL(a[i]) + HONE_MUL(s, b[i]);
}
)cpp";

std::string reference_of(const Ruler& ruler) {
  if (ruler.name == "20 us") return kSmallReference;
  if (ruler.name == "15 ms memory-bound") return kStreamReference;
  return matmul_reference(ruler.name == "1 ms" ? "ruler_matmul" : "ruler_matmul_omp");
}

}  // namespace

const std::vector<Ruler>& rulers() {
  static const std::vector<Ruler> table = {
      {"20 us", kSmallTask, kSmallSource, 25},
      {"1 ms", matmul_task("ruler_matmul", 280, 1), matmul_source("ruler_matmul", false), 25},
      {"3 ms OpenMP", matmul_task("ruler_matmul_omp", 480, 2), matmul_source("ruler_matmul_omp", true), 25},
      {"15 ms memory-bound", kStreamTask, kStreamSource, 50},
  };
  return table;
}

Result<OpenRuler> open_ruler(const Ruler& ruler, const fs::path& folder, const Common& common) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_file(folder / "task.toml", ruler.task_text));
  HONE_CHECK(write_file(folder / "reference.cpp", reference_of(ruler)));
  OpenRuler open;
  HONE_TRY(open.bench, open_bench(folder.string(), common));
  HONE_TRY(const candidate::Candidate candidate, candidate::parse(ruler.source, ruler.name));
  for (const bool slowed : {false, true}) {
    HONE_TRY(const candidate::Assignment assignment,
             choose(candidate, open.bench.task, {{"EXTRA", slowed ? std::to_string(ruler.planted) : "0"}}));
    HONE_TRY(judge::Entry entry, judge::enter(*open.bench.lane, open.bench.task, candidate, assignment));
    if (entry.failure) return bug_error("a ruler does not build: " + entry.failure->message);
    (slowed ? open.slowed : open.plain) = std::move(entry.program);
  }
  return open;
}

Status run_trials(OpenRuler& ruler, int same, int slowed, double slots_s, const std::atomic<bool>* cancel, Trials& trials,
                  const std::function<void(const Trials&)>& progress) {
  measure::CompareOptions options;
  options.slots_s = slots_s;
  options.cancel = cancel;
  options.check_ms = 0;  // the rulers are ours: what they leave need not be checked
  options.check_least = 0;
  const task::Case& on = ruler.bench.task.cases.front();
  // Alternating, so that a drift of the machine meets both kinds alike.
  for (int i = 0; i < std::max(same, slowed); ++i) {
    for (const bool planted : {false, true}) {
      if (i >= (planted ? slowed : same)) continue;
      HONE_TRY(const measure::Comparison seen, measure::compare(*ruler.bench.session, ruler.plain,
                                                                planted ? ruler.slowed : ruler.plain, on, options));
      if (seen.failure) return environment_error("a ruler failed while timed: " + seen.failure->message);
      if (planted) {
        ++trials.slowed;
        trials.slowed_found += seen.ratio.high < 1 ? 1 : 0;
      } else {
        ++trials.same;
        trials.same_held += seen.ratio.contains(1) ? 1 : 0;
        trials.same_faster += seen.answer == measure::Answer::faster ? 1 : 0;
        trials.same_slower += seen.answer == measure::Answer::slower ? 1 : 0;
        trials.half_widths.push_back(seen.ratio.half_width() / seen.ratio.mid);
        trials.errors.push_back(seen.ratio.mid - 1);
      }
      if (progress) progress(trials);
    }
  }
  return {};
}

}  // namespace hone::engine
