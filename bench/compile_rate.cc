// How many distinct candidates the cpu lane compiles a second, two at a time: the jail, the compiler, the bare
// link and the hash of the machine code, nothing from the cache. Beside it a bare `g++ -shared` loop in the same
// minute, so that a busy machine shows itself. Standard output has bench/run.sh's lines; --json PATH writes all.

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "lane/lane.h"

namespace {

using namespace hone;

constexpr int kThreads = 2, kCandidates = 40, kWarm = 6;

/// Row softmax and a tiled product with two OpenMP regions, as the facts were measured on.
std::string source(const std::string& headers, std::uint64_t tag) {
  return headers + "static volatile unsigned long tag = " + std::to_string(tag) + R"(ul;
static inline float fast_exp(float x) {
  float t = x * 1.442695041f;
  int k = (int)(t + (t < 0 ? -0.5f : 0.5f));
  float f = t - (float)k, p = 1.33335581e-3f;
  p = p * f + 9.61812911e-3f;
  p = p * f + 5.55041087e-2f;
  p = p * f + 2.40226507e-1f;
  p = p * f + 6.93147181e-1f;
  p = p * f + 1.0f;
  union { float v; int i; } u;
  u.i = (k + 127) << 23;
  return p * u.v;
}
extern "C" void softmax(const float* x, float* y, int n, int d) {
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < n; ++i) {
    const float* row = x + (long)i * d;
    float* out = y + (long)i * d;
    float top = row[0];
    for (int j = 1; j < d; ++j) top = row[j] > top ? row[j] : top;
    float sum = 0;
    for (int j = 0; j < d; ++j) {
      out[j] = fast_exp(row[j] - top);
      sum += out[j];
    }
    const float scale = 1.0f / sum;
    for (int j = 0; j < d; ++j) out[j] *= scale;
  }
}
extern "C" void product(const float* a, const float* b, float* c, int n) {
  const int T = 32;
#pragma omp parallel for num_threads(2)
  for (int i0 = 0; i0 < n; i0 += T) {
    for (int k0 = 0; k0 < n; k0 += T) {
      for (int j0 = 0; j0 < n; j0 += T) {
        const int i1 = i0 + T < n ? i0 + T : n, k1 = k0 + T < n ? k0 + T : n;
        const int j1 = j0 + T < n ? j0 + T : n;
        for (int i = i0; i < i1; ++i) {
          for (int k = k0; k < k1; ++k) {
            const float v = a[(long)i * n + k];
            for (int j = j0; j < j1; ++j) c[(long)i * n + j] += v * b[(long)k * n + j];
          }
        }
      }
    }
  }
}
extern "C" void hone_entry(void* const* p, const int*) {
  softmax((const float*)p[0], (float*)p[1], 64, 64);
  product((const float*)p[0], (const float*)p[1], (float*)p[2], 64);
}
)";
}

/// Calls work(i) for 0 ≤ i < count on kThreads threads; calls a second, or 0 when one failed.
template <typename Work>
double rate(int count, const Work& work) {
  std::atomic<int> next{0};
  std::atomic<bool> failed{false};
  const auto begin = monotonic_ns();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = next++; i < count && !failed; i = next++)
        if (!work(i)) failed = true;
    });
  for (auto& thread : threads) thread.join();
  return failed ? 0 : count / (static_cast<double>(monotonic_ns() - begin) * 1e-9);
}

double lane_rate(lane::Lane& lane, const std::string& headers, int count) {
  const std::uint64_t start = entropy64() >> 8;
  return rate(count, [&](int i) {
    candidate::Resolved resolved;
    resolved.source = source(headers, start + static_cast<std::uint64_t>(i));
    resolved.openmp = true;
    const auto outcome = lane.build(resolved, {});
    if (!outcome.ok()) std::fprintf(stderr, "compile_rate: %s\n", outcome.error().text().c_str());
    if (outcome.ok() && std::holds_alternative<candidate::Failure>(*outcome))
      std::fprintf(stderr, "compile_rate: %s\n", std::get<candidate::Failure>(*outcome).message.c_str());
    return outcome.ok() && std::holds_alternative<lane::Built>(*outcome);
  });
}

double bare_rate(const fs::path& folder, const std::string& headers, int count) {
  return rate(count, [&](int i) {
    const std::string name = (folder / fmt::format("bare{}.cc", i)).string();
    if (!write_file(name, source(headers, static_cast<std::uint64_t>(i))).ok()) return false;
    const auto run = run_command({"g++", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-std=c++20", name, "-o", name + ".so"}, 60);
    return run.ok() && run->code == 0;
  });
}

}  // namespace

int main(int argc, char** argv) {
  auto folder = TemporaryFolder::make("hone-compile-rate");
  if (!folder.ok()) return std::fprintf(stderr, "%s\n", folder.error().text().c_str()), 1;
  fs::permissions(folder->path(), fs::perms(0755));
  auto lane = lane::make_cpu_lane({.compiler = "g++", .cache = folder->path().string(), .use_cache = false});
  if (!lane.ok()) return std::fprintf(stderr, "%s\n", lane.error().text().c_str()), 1;
  struct Row {
    const char* name;
    const char* headers;
    double target;
  };
  const Row rows[] = {{"compile only, no headers", "", 20},
                      {"compile only, immintrin.h from the precompiled prelude", "#include <immintrin.h>\n#include <cstdint>\n", 15},
                      {"compile only, cmath and immintrin.h from it", "#include <cmath>\n#include <cstdint>\n#include <immintrin.h>\n", 15}};
  Json json = Json::array();
  for (const Row& row : rows) {
    if (lane_rate(**lane, row.headers, kWarm) == 0) return 1;  // makes the precompiled header
    const double ours = lane_rate(**lane, row.headers, kCandidates), bare = bare_rate(folder->path(), row.headers, kCandidates / 2);
    if (ours == 0 || bare == 0) return 1;
    std::printf("%s | %.1f a second | at least %g | %s\n", row.name, ours, row.target, ours >= row.target ? "yes" : "no");
    std::printf("%s, over a bare g++ loop (%.1f) | %.2f x | - | -\n", row.name, bare, ours / bare);
    json.push_back({{"name", row.name}, {"per_s", ours}, {"bare_per_s", bare}, {"target_per_s", row.target}, {"threads", kThreads}});
  }
  if (argc == 3 && std::string(argv[1]) == "--json") {
    const Status written = write_file(argv[2], json.dump(2) + "\n");
    if (!written.ok()) return std::fprintf(stderr, "%s\n", written.error().text().c_str()), 1;
  }
  return 0;
}
