#include "device/cpu.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hone::device {
namespace {

/// A small file of /sys or /proc, trimmed; nothing when it cannot be read.
std::optional<std::string> read_line(const std::string& path) {
  const auto text = read_file(path, std::size_t{1} << 20);
  if (!text.ok()) return std::nullopt;
  return std::string(trim(*text));
}

/// "32K", "1024K", "32M" in bytes; 0 when it reads otherwise.
std::int64_t parse_size(const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || value < 0) return 0;
  const std::int64_t unit = *end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : *end == 'G' ? 1024 * 1024 * 1024 : 1;
  return value * unit;
}

/// How many cores a list such as "0-3,8" names.
int count_list(const std::string& text) {
  int count = 0;
  for (const auto part : split(text, ',')) {
    int low = 0, high = 0;
    const std::string word(trim(part));
    const int found = std::sscanf(word.c_str(), "%d-%d", &low, &high);
    if (found == 1) ++count;
    if (found == 2 && high >= low) count += high - low + 1;
  }
  return count;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::vector<Cache> caches_from_sysfs(int core) {
  std::vector<Cache> caches;
  for (int index = 0; index < 16; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", core, index);
    const auto level = read_line(folder + "level"), type = read_line(folder + "type"), size = read_line(folder + "size");
    if (!level || !type || !size) break;
    Cache cache;
    cache.level = std::atoi(level->c_str());
    cache.type = lower(*type);
    cache.bytes = parse_size(*size);
    if (const auto shared = read_line(folder + "shared_cpu_list")) cache.shared_by = count_list(*shared);
    if (cache.bytes > 0) caches.push_back(cache);
  }
  return caches;
}

#if defined(__x86_64__)
/// Containers often hide /sys: leaf 4 (Intel) or 0x8000001D (AMD) say the same, in one encoding.
std::vector<Cache> caches_from_cpuid(bool amd) {
  std::vector<Cache> caches;
  for (unsigned index = 0; index < 16; ++index) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(amd ? 0x8000001Du : 4u, index, &a, &b, &c, &d) || (a & 31u) == 0) break;
    Cache cache;
    cache.level = static_cast<int>((a >> 5) & 7u);
    cache.type = (a & 31u) == 1 ? "data" : (a & 31u) == 2 ? "instruction" : "unified";
    cache.bytes = std::int64_t{1} * ((b >> 22) + 1) * (((b >> 12) & 1023u) + 1) * ((b & 4095u) + 1) *
                  (static_cast<std::int64_t>(c) + 1);
    caches.push_back(cache);
  }
  return caches;
}
#endif

std::vector<int> affinity() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

std::vector<std::string> known_isa(const std::string& flags) {
  static constexpr const char* kKnown[] = {
      "sse4_2", "avx", "avx2", "fma", "f16c", "bmi2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
      "avx512_bf16", "avx512_fp16", "avx512_vbmi", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8"};
  const auto present = words(flags);
  std::vector<std::string> out;
  for (const char* name : kKnown)
    if (std::find(present.begin(), present.end(), name) != present.end()) out.emplace_back(name);
  return out;
}

void read_cpuinfo(CpuFacts& facts) {
  const auto text = read_file("/proc/cpuinfo", std::size_t{16} << 20);
  if (!text.ok()) return;
  for (const auto line : split(*text, '\n')) {
    if (line.empty() && !facts.model.empty()) break;  // the first core is enough
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = trim(line.substr(0, colon));
    const std::string value(trim(line.substr(colon + 1)));
    if (key == "vendor_id") facts.vendor = value;
    if (key == "model name") facts.model = value;
    if (key == "flags") {
      facts.isa = known_isa(value);
      const auto flags = words(value);
      facts.virtual_machine = std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
    }
  }
}

CpuFacts gather() {
  CpuFacts facts;
  read_cpuinfo(facts);
  if (facts.model.empty()) facts.model = "unknown";
  utsname names{};
  if (::uname(&names) == 0) {
    facts.kernel = names.release;
    facts.architecture = names.machine;
  }
  facts.usable_cores = affinity();
  facts.online_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const int core = facts.usable_cores.front();
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/", core);
  if (const auto siblings = read_line(folder + "topology/thread_siblings_list"))
    facts.threads_per_core = count_list(*siblings);
  facts.caches = caches_from_sysfs(core);
#if defined(__x86_64__)
  if (facts.caches.empty()) facts.caches = caches_from_cpuid(facts.vendor == "AuthenticAMD");
#endif
  facts.memory_bytes = std::int64_t{1} * ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGE_SIZE);
  facts.governor = read_line(folder + "cpufreq/scaling_governor");
  if (const auto khz = read_line(folder + "cpufreq/cpuinfo_max_freq")) facts.max_ghz = std::atof(khz->c_str()) / 1e6;
  // No interface tells the width and rate of the memory channels (DMI needs root, and virtual machines
  // invent it), so only the owner of the machine can.
  if (const char* stated = std::getenv("HONE_MEMORY_BANDWIDTH_GBS")) {
    const double value = std::atof(stated);
    if (value > 0) facts.memory_bandwidth = value * 1e9;
  }
  return facts;
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

std::int64_t CpuFacts::last_level_cache_bytes() const {
  std::int64_t largest = 0;
  for (const Cache& cache : caches)
    if (cache.type != "instruction") largest = std::max(largest, cache.bytes);
  return largest > 0 ? largest : std::int64_t{32} << 20;
}

std::string CpuFacts::identity() const {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", vendor, model, architecture, kernel, usable_cores.size(),
                                 fmt::join(isa, " "));
  for (const Cache& cache : caches) text += fmt::format("{} {} {}\n", cache.level, cache.type, cache.bytes);
  return identity_hash(text).substr(0, 16);
}

const CpuFacts& cpu_facts() {
  static const CpuFacts kFacts = gather();
  return kFacts;
}

Result<std::string> compiler_version(const std::string& compiler) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::string program = find_program(compiler);
  if (program.empty())
    return environment_error("there is no compiler '" + compiler + "' on this machine",
                             compiler.find("clang") != std::string::npos ? "Install it: apt-get install clang"
                                                                         : "Install it: apt-get install g++");
  const std::scoped_lock lock(mutex);
  if (const auto it = known.find(program); it != known.end()) return it->second;
  HONE_TRY(const CommandOutput output, run_command({program, "--version"}));
  if (output.code != 0) return environment_error(program + " --version failed: " + scrub(output.err, 300));
  const std::string first = scrub(split(output.out, '\n').front(), 200);
  known.emplace(program, first);
  return first;
}

Json to_json(const CpuFacts& facts) {
  Json caches = Json::array();
  for (const Cache& cache : facts.caches)
    caches.push_back({{"level", cache.level}, {"type", cache.type}, {"bytes", cache.bytes},
                      {"shared_by", cache.shared_by > 0 ? Json(cache.shared_by) : Json(nullptr)}});
  return {{"vendor", facts.vendor},
          {"model", facts.model},
          {"architecture", facts.architecture},
          {"usable_cores", facts.usable_cores},
          {"online_cores", facts.online_cores},
          {"threads_per_core", facts.threads_per_core > 0 ? Json(facts.threads_per_core) : Json(nullptr)},
          {"isa", facts.isa},
          {"caches", caches},
          {"memory_bytes", facts.memory_bytes},
          {"kernel", facts.kernel},
          {"virtual_machine", facts.virtual_machine},
          {"governor", facts.governor ? Json(*facts.governor) : Json(nullptr)},
          {"max_ghz", optional_number(facts.max_ghz)},
          {"theoretical_memory_bandwidth", optional_number(facts.memory_bandwidth)},
          {"identity", facts.identity()}};
}

}  // namespace hone::device
