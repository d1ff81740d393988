// Measured ceilings: how fast a plain copy and a chain-free stream of multiply-adds go on this machine. They
// place a kernel in the roofline; a verdict never depends on them.

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "device/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hone::device {
namespace {

// Twelve independent chains cover latency times throughput of every core known (4 cycles, 2 a cycle = 8).
// Named variables, not an array: then they stay in registers at every optimisation level. The multiply-add is
// spelled out, since the build does not contract a * m + c.
#define HONE_FMA_BODY(WIDTH, FMA)                                                                     \
  typedef float V __attribute__((vector_size(WIDTH * 4)));                                            \
  const V m = V{} + scale, c = V{} + add;                                                             \
  V a0 = c, a1 = c + 1, a2 = c + 2, a3 = c + 3, a4 = c + 4, a5 = c + 5, a6 = c + 6, a7 = c + 7,       \
    a8 = c + 8, a9 = c + 9, aa = c + 10, ab = c + 11;                                                 \
  for (long i = 0; i < count; ++i) {                                                                  \
    a0 = FMA(a0, m, c); a1 = FMA(a1, m, c); a2 = FMA(a2, m, c); a3 = FMA(a3, m, c);                   \
    a4 = FMA(a4, m, c); a5 = FMA(a5, m, c); a6 = FMA(a6, m, c); a7 = FMA(a7, m, c);                   \
    a8 = FMA(a8, m, c); a9 = FMA(a9, m, c); aa = FMA(aa, m, c); ab = FMA(ab, m, c);                   \
  }                                                                                                   \
  const V sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + aa + ab;                            \
  float total = 0;                                                                                    \
  for (int lane = 0; lane < WIDTH; ++lane) total += sum[lane];                                        \
  return total
#define HONE_PLAIN_FMA(a, b, c) ((a) * (b) + (c))

constexpr int kChains = 12;

#if defined(__x86_64__)
__attribute__((target("avx512f"), noinline)) float fma_avx512(long count, float scale,
                                                                                      float add) {
  HONE_FMA_BODY(16, _mm512_fmadd_ps);
}
__attribute__((target("avx2,fma"), noinline)) float fma_avx2(long count, float scale, float add) {
  HONE_FMA_BODY(8, _mm256_fmadd_ps);
}
#endif
__attribute__((noinline)) float fma_baseline(long count, float scale, float add) {
  HONE_FMA_BODY(4, HONE_PLAIN_FMA);
}
#undef HONE_FMA_BODY
#undef HONE_PLAIN_FMA

struct FmaBody {
  float (*run)(long, float, float);
  int width;
  const char* isa;
};

/// Every body this core can run: the widest is not always the fastest (AVX-512 may lower the clock).
std::vector<FmaBody> fma_bodies() {
  std::vector<FmaBody> bodies = {{fma_baseline, 4, "baseline"}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) bodies.push_back({fma_avx2, 8, "avx2"});
  if (__builtin_cpu_supports("avx512f")) bodies.push_back({fma_avx512, 16, "avx512f"});
#endif
  return bodies;
}

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);  // not pinned is only less exact
}

/// Seconds of the fastest of `repeats` rounds in which every core's thread does work(index) at once.
template <typename Work>
double fastest_round_s(const std::vector<int>& cores, int repeats, const Work& work) {
  std::barrier gate(static_cast<std::ptrdiff_t>(cores.size()));
  double best = 1e30;
  const auto body = [&](std::size_t index) {
    pin_to(cores[index]);
    work(index);  // touches pages and wakes the clock
    for (int round = 0; round < repeats; ++round) {
      gate.arrive_and_wait();
      const auto begin = monotonic_ns();
      work(index);
      gate.arrive_and_wait();
      if (index == 0) best = std::min(best, static_cast<double>(monotonic_ns() - begin) * 1e-9);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < cores.size(); ++index) threads.emplace_back(body, index);
  for (auto& thread : threads) thread.join();
  return best;
}

double copy_rate(const std::vector<int>& cores, const CpuFacts& facts) {
  // Four times the last-level cache keeps what a round leaves behind from serving the next one.
  const auto wanted = std::clamp<std::int64_t>(4 * facts.last_level_cache_bytes(), 64 << 20, 512 << 20);
  const auto bytes = static_cast<std::size_t>(std::min(wanted, facts.memory_bytes / 8));
  const std::unique_ptr<char[]> source(new char[bytes]), target(new char[bytes]);
  const std::size_t slice = bytes / cores.size();
  std::memset(source.get(), 1, bytes);
  const double s = fastest_round_s(cores, 7, [&](std::size_t index) {
    std::memcpy(target.get() + index * slice, source.get() + index * slice, slice);
    asm volatile("" : : "r"(target.get()) : "memory");
  });
  return 2.0 * static_cast<double>(slice * cores.size()) / s;
}

double fma_rate(const std::vector<int>& cores, const FmaBody& body) {
  constexpr long kCount = 2'000'000;  // some 10 ms
  const double s = fastest_round_s(cores, 7, [&](std::size_t) {
    // scale < 1 keeps the values bounded and normal: x → 0.5 x + 1 tends to 2.
    volatile float sink = body.run(kCount, 0.5F, 1.0F);
    (void)sink;
  });
  return 2.0 * kChains * body.width * kCount * static_cast<double>(cores.size()) / s;
}

CpuCeilings measure() {
  const CpuFacts& facts = cpu_facts();
  const std::vector<int> one = {facts.usable_cores.back()};
  CpuCeilings ceilings;
  ceilings.threads = static_cast<int>(facts.usable_cores.size());
  ceilings.copy_bytes_per_s_1 = copy_rate(one, facts);
  ceilings.copy_bytes_per_s_n = std::max(ceilings.copy_bytes_per_s_1, copy_rate(facts.usable_cores, facts));
  const FmaBody* best = nullptr;
  const auto bodies = fma_bodies();
  for (const FmaBody& body : bodies) {
    const double rate = fma_rate(one, body);
    if (rate <= ceilings.fma_flops_per_s_1) continue;
    ceilings.fma_flops_per_s_1 = rate;
    best = &body;
  }
  ceilings.isa = best->isa;
  ceilings.fma_flops_per_s_n = std::max(ceilings.fma_flops_per_s_1, fma_rate(facts.usable_cores, *best));
  ceilings.measured_at = wall_clock_s();
  return ceilings;
}

std::optional<CpuCeilings> stored(const fs::path& path) {
  const auto text = read_file(path, 65536);
  if (!text.ok()) return std::nullopt;
  const auto json = parse_json(*text, path.string());
  if (!json.ok() || !json->is_object()) return std::nullopt;
  CpuCeilings out;
  const auto take = [&](const char* key, double& field) {
    const auto value = get_number(*json, key, path.string());
    if (value.ok()) field = *value;
  };
  take("copy_bytes_per_s_1", out.copy_bytes_per_s_1);
  take("copy_bytes_per_s_n", out.copy_bytes_per_s_n);
  take("fma_flops_per_s_1", out.fma_flops_per_s_1);
  take("fma_flops_per_s_n", out.fma_flops_per_s_n);
  const auto isa = get_string(*json, "isa", path.string());
  const auto at = get_int(*json, "measured_at", path.string()), threads = get_int(*json, "threads", path.string());
  if (!isa.ok() || !at.ok() || !threads.ok() || out.copy_bytes_per_s_1 <= 0 || out.copy_bytes_per_s_n <= 0 ||
      out.fma_flops_per_s_1 <= 0 || out.fma_flops_per_s_n <= 0)
    return std::nullopt;
  out.isa = *isa;
  out.measured_at = *at;
  out.threads = static_cast<int>(*threads);
  return out;
}

}  // namespace

Result<CpuCeilings> cpu_ceilings(bool fresh) {
  const fs::path folder = cache_folder() / "ceilings";
  const fs::path path = folder / (cpu_facts().identity() + ".json");
  if (!fresh)
    if (const auto known = stored(path)) return *known;
  const CpuCeilings ceilings = measure();
  // A cache that cannot be written costs a second at the next call, no more.
  const Status made = make_folder(folder);
  const Status written = made.ok() ? write_file(path, to_json(ceilings).dump(2) + "\n") : made;
  if (!written.ok()) log(LogLevel::debug, written.error().text());
  return ceilings;
}

Json to_json(const CpuCeilings& ceilings) {
  return {{"copy_bytes_per_s_1", ceilings.copy_bytes_per_s_1}, {"copy_bytes_per_s_n", ceilings.copy_bytes_per_s_n},
          {"fma_flops_per_s_1", ceilings.fma_flops_per_s_1},   {"fma_flops_per_s_n", ceilings.fma_flops_per_s_n},
          {"threads", ceilings.threads},                       {"isa", ceilings.isa},
          {"measured_at", ceilings.measured_at}};
}

}  // namespace hone::device
