#include "lane/cpu/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"

namespace hone::lane {
namespace {

// Flags without a value; those of kSwitches exist as -fX and -fno-X (-mX and -mno-X).
constexpr const char* kWhole[] = {"-O0", "-O1", "-O2", "-O3", "-Ofast", "-Os", "-Og", "-pthread", "-fopenmp",
                                  "-fopenmp-simd"};

constexpr const char* kSwitches[] = {
    // arithmetic
    "fast-math", "unsafe-math-optimizations", "associative-math", "reciprocal-math", "finite-math-only",
    "signed-zeros", "trapping-math", "math-errno", "rounding-math", "signaling-nans", "fp-int-builtin-inexact",
    // loops and vectors
    "unroll-loops", "unroll-all-loops", "peel-loops", "split-loops", "unswitch-loops", "loop-interchange",
    "loop-unroll-and-jam", "loop-nest-optimize", "tree-vectorize", "tree-loop-vectorize", "tree-slp-vectorize",
    "vectorize", "slp-vectorize", "tree-loop-distribution", "tree-loop-distribute-patterns", "tree-loop-im",
    "tree-loop-ivcanon", "ivopts", "prefetch-loop-arrays", "variable-expansion-in-unroller", "predictive-commoning",
    "version-loops-for-strides", "graphite-identity", "split-paths", "web",
    "split-ivs-in-unroller", "move-loop-invariants", "tree-partial-pre",
    // scheduling, registers, calls
    "schedule-insns", "schedule-insns2", "sched-pressure", "selective-scheduling", "selective-scheduling2",
    "modulo-sched", "rename-registers", "tree-pre", "gcse", "gcse-after-reload", "gcse-las", "gcse-sm",
    "omit-frame-pointer", "inline-functions", "inline-small-functions", "inline", "ipa-cp-clone", "ipa-pta",
    "ipa-ra", "strict-aliasing", "strict-overflow", "wrapv", "tree-ter", "reorder-blocks",
    "reorder-blocks-and-partition", "crossjumping", "if-conversion", "if-conversion2", "guess-branch-probability",
    "semantic-interposition", "plt", "stack-protector", "exceptions", "rtti", "asynchronous-unwind-tables",
    "cx-limited-range", "builtin", "align-functions", "align-loops", "align-jumps", "align-labels",
    "split-wide-types", "tree-vrp", "tree-dominator-opts", "code-hoisting", "isolate-erroneous-paths-dereference",
    "delete-null-pointer-checks", "aggressive-loop-optimizations", "keep-inline-functions", "merge-all-constants"};

constexpr const char* kMachineSwitches[] = {
    "sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt", "aes",
    "pclmul", "movbe", "gfni", "vaes", "vpclmulqdq", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl",
    "avx512vnni", "avx512bf16", "avx512fp16", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg",
    "avx512vpopcntdq", "avxvnni", "vzeroupper", "prefer-avx128", "recip", "avx256-split-unaligned-load",
    "avx256-split-unaligned-store", "red-zone"};

// Flags with a value from a list.
const std::map<std::string, std::vector<std::string>>& valued() {
  static const std::vector<std::string> kArch = {
      "native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "broadwell", "skylake",
      "skylake-avx512", "cascadelake", "icelake-server", "sapphirerapids", "znver1", "znver2", "znver3", "znver4"};
  static const auto kTune = [] {
    auto all = kArch;
    for (const char* v : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) std::erase(all, v);  // not legal for -mtune
    all.insert(all.begin() + 1, {"generic", "intel"});
    return all;
  }();
  static const std::map<std::string, std::vector<std::string>> kValued = {
      {"-march=", kArch},
      {"-mtune=", kTune},
      {"-mprefer-vector-width=", {"none", "128", "256", "512"}},
      {"-mbranch-cost=", {"0", "1", "2", "3", "4", "5"}},
      {"-ffp-contract=", {"fast", "on", "off"}},
      {"-fvect-cost-model=", {"unlimited", "dynamic", "cheap", "very-cheap"}},
      {"-fsimd-cost-model=", {"unlimited", "dynamic", "cheap", "very-cheap"}},
      {"-fira-algorithm=", {"CB", "priority"}},
      {"-fira-region=", {"all", "mixed", "one"}},
      {"-std=", {"c++11", "c++14", "c++17", "c++20", "c++23", "c++2b", "gnu++11", "gnu++14", "gnu++17", "gnu++20",
                 "gnu++23", "gnu++2b"}},
  };
  return kValued;
}

// Flags with an integer of at most six digits: enough for any alignment or limit, too little for a bomb.
constexpr const char* kNumbered[] = {"-falign-functions=", "-falign-loops=", "-falign-jumps=", "-falign-labels=",
                                     "-finline-limit="};

constexpr const char* kParams[] = {
    "max-unroll-times", "max-unrolled-insns", "max-average-unrolled-insns", "max-completely-peel-times",
    "max-completely-peeled-insns", "max-completely-peel-loop-nest-depth", "max-peel-times", "max-peeled-insns",
    "max-unswitch-insns", "vect-epilogues-nomask", "vect-partial-vector-usage", "vect-max-peeling-for-alignment",
    "vect-max-version-for-alias-checks", "vect-max-version-for-alignment-checks", "unroll-jam-max-unroll",
    "unroll-jam-min-percent", "prefetch-latency", "simultaneous-prefetches", "min-insn-to-prefetch-ratio",
    "prefetch-min-insn-to-mem-ratio", "l1-cache-size", "l1-cache-line-size", "l2-cache-size",
    "max-inline-insns-auto", "max-inline-insns-single", "inline-unit-growth", "large-function-growth",
    "early-inlining-insns", "iv-max-considered-uses", "iv-consider-all-candidates-bound", "sched-autopref-queue-depth",
    "store-merging-max-size", "tree-reassoc-width", "avoid-fma-max-bits", "loop-block-tile-size"};

bool integer(std::string_view text, std::size_t max_digits) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return !text.empty() && text.size() <= max_digits &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Why a whole family is refused: what it could do.
std::string reason_for(const std::string& flag) {
  struct Family {
    const char* prefix;
    const char* why;
  };
  static constexpr Family kFamilies[] = {
      {"-I", "it reads folders outside the candidate"},
      {"-include", "it reads files outside the candidate"},
      {"-imacros", "it reads files outside the candidate"},
      {"-isystem", "it reads folders outside the candidate"},
      {"-iquote", "it reads folders outside the candidate"},
      {"-B", "it changes which programs compile"},
      {"-fplugin", "it loads code into the compiler"},
      {"-wrapper", "it runs another program"},
      {"-specs", "it changes which programs compile"},
      {"-flto", "the lane links without the compiler's driver"},
      {"-fwhole-program", "the entry point must stay visible"},
      {"-l", "it changes what is linked"},
      {"-L", "it changes what is linked"},
      {"-Wl,", "it changes what is linked"},
      {"-Xlinker", "it changes what is linked"},
      {"-static", "it changes what is linked"},
      {"-shared", "it changes what is linked"},
      {"-Wa,", "it speaks to the assembler"},
      {"-Wp,", "it speaks to the preprocessor"},
      {"-X", "it passes arguments past this list"},
      {"-mllvm", "it passes arguments past this list"},
      {"-mcmodel", "a shared object needs the small model"},
      {"-o", "the lane names the output"},
      {"-fprofile", "it reads or writes files"},
      {"-fauto-profile", "it reads files"},
      {"-fsanitize", "the memory gate builds with sanitizers itself"},
      {"-fdump", "it writes files"},
      {"-fopenacc", "there is no such runtime"},
      {"@", "it reads a file"},
  };
  for (const Family& family : kFamilies)
    if (flag.rfind(family.prefix, 0) == 0) return std::string(": ") + family.why;
  return "";
}

bool boolean_flag(const std::string& flag) {
  for (const char* whole : kWhole)
    if (flag == whole) return true;
  const auto matches = [&flag](const char* prefix, const char* name) {
    return flag == std::string(prefix) + name || flag == std::string(prefix) + "no-" + name;
  };
  for (const char* name : kSwitches)
    if (matches("-f", name)) return true;
  for (const char* name : kMachineSwitches)
    if (matches("-m", name)) return true;
  return false;
}

bool numbered_flag(const std::string& flag) {
  for (const char* prefix : kNumbered)
    if (flag.rfind(prefix, 0) == 0) return integer(std::string_view(flag).substr(std::string(prefix).size()), 6);
  return false;
}

bool parameter(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const bool known = std::any_of(std::begin(kParams), std::end(kParams),
                                 [&](const char* name) { return text.substr(0, equals) == name; });
  return known && integer(text.substr(equals + 1), 6);
}

/// -DNAME=INTEGER, -DNAME; names of the implementation and of the prelude stay ours.
bool definition(const std::string& flag) {
  if (flag.rfind("-D", 0) != 0) return false;
  const auto equals = flag.find('=');
  const std::string name = flag.substr(2, equals == std::string::npos ? equals : equals - 2);
  if (!is_identifier(name) || name[0] == '_' || name.rfind("HONE_", 0) == 0 || name.rfind("hone_", 0) == 0)
    return false;
  return equals == std::string::npos || integer(std::string_view(flag).substr(equals + 1), 18);
}

bool allowed(const std::string& flag) {
  if (boolean_flag(flag) || numbered_flag(flag) || definition(flag)) return true;
  if (flag.rfind("--param=", 0) == 0) return parameter(std::string_view(flag).substr(8));
  const auto equals = flag.find('=');
  if (equals == std::string::npos) return false;
  const auto it = valued().find(flag.substr(0, equals + 1));
  return it != valued().end() &&
         std::find(it->second.begin(), it->second.end(), flag.substr(equals + 1)) != it->second.end();
}

/// Both spellings of the switches, for the nearest one.
std::vector<std::string> spellings() {
  std::vector<std::string> out(std::begin(kWhole), std::end(kWhole));
  for (const char* name : kSwitches) out.insert(out.end(), {std::string("-f") + name, std::string("-fno-") + name});
  for (const char* name : kMachineSwitches)
    out.insert(out.end(), {std::string("-m") + name, std::string("-mno-") + name});
  for (const auto& [prefix, values] : valued())
    for (const auto& value : values) out.push_back(prefix + value);
  for (const char* prefix : kNumbered) out.push_back(std::string(prefix) + "16");
  for (const char* name : kParams) out.push_back(fmt::format("--param={}=8", name));
  return out;
}

Error refuse(const std::string& flag) {
  const auto equals = flag.find('=');
  const auto it = equals == std::string::npos ? valued().end() : valued().find(flag.substr(0, equals + 1));
  if (it != valued().end())
    return usage_error(fmt::format("the compiler flag '{}' is not allowed: {} takes one of {}{}", flag, it->first,
                                   fmt::join(it->second, " "), did_you_mean(flag, spellings())));
  if (flag.rfind("-D", 0) == 0)
    return usage_error(fmt::format("the compiler flag '{}' is not allowed: a definition is -DNAME or -DNAME=INTEGER, "
                                   "its name without a leading underscore and not HONE_…",
                                   flag));
  const std::string why = reason_for(flag);
  return usage_error(
      fmt::format("the compiler flag '{}' is not in the list of allowed ones{}{}", flag, why,
                  why.empty() ? did_you_mean(flag, spellings()) : ""),
      "docs/cpu-lane.md lists them; -O3 -march=native are already there");
}

/// True for a flag that may stay in an exact build: it cannot change a result.
bool keeps_results(const std::string& flag) {
  return flag.rfind("-D", 0) == 0 || flag.rfind("-std=", 0) == 0 || flag.rfind("-fopenmp", 0) == 0 ||
         flag == "-pthread" || flag == "-fno-strict-aliasing" || flag == "-fwrapv";
}

}  // namespace

const std::vector<std::string>& allowed_flags() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> out(std::begin(kWhole), std::end(kWhole));
    for (const auto& [prefix, values] : valued())
      for (const auto& value : values) out.push_back(prefix + value);
    for (const char* name : kSwitches) out.push_back(fmt::format("-f[no-]{}", name));
    for (const char* name : kMachineSwitches) out.push_back(fmt::format("-m[no-]{}", name));
    for (const char* prefix : kNumbered) out.push_back(std::string(prefix) + "N");
    for (const char* name : kParams) out.push_back(fmt::format("--param={}=N", name));
    out.insert(out.end(), {"-DNAME", "-DNAME=INTEGER"});
    return out;
  }();
  return kAll;
}

Status check_flags(const std::vector<std::string>& flags) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == "--param" && i + 1 < flags.size() && parameter(flags[i + 1])) {
      ++i;
      continue;
    }
    if (!allowed(flags[i])) return refuse(flags[i]);
  }
  return {};
}

std::vector<std::string> build_flags(const std::vector<std::string>& own, bool openmp, Arithmetic arithmetic) {
  // The alignments keep code layout from looking like merit: without them the place of an identical loop
  // shifts its time by 0.7 %. Without interposition a call inside the object may be inlined, as in a program.
  std::vector<std::string> flags = {"-O3", "-march=native", "-std=c++20", "-fPIC", "-falign-functions=64",
                                    "-falign-loops=64", "-fno-semantic-interposition",
                                    openmp ? "-fopenmp" : "-fopenmp-simd"};
  for (std::size_t i = 0; i < own.size(); ++i)
    if (arithmetic == Arithmetic::plain || keeps_results(own[i])) flags.push_back(own[i]);
  if (arithmetic == Arithmetic::exact) flags.insert(flags.end(), {"-fno-fast-math", "-ffp-contract=off"});
  return flags;
}

}  // namespace hone::lane
