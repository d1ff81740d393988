#include "code/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace hone::code {
namespace {

constexpr std::size_t kMaxListing = std::size_t{1} << 28;
constexpr std::size_t kMaxNotable = 10'000;

struct Row {
  Kind kind;
  const char* name;
};
constexpr Row kNames[] = {
    {Kind::f64_arithmetic, "f64_arithmetic"},
    {Kind::f32_arithmetic, "f32_arithmetic"},
    {Kind::f16_arithmetic, "f16_arithmetic"},
    {Kind::bf16_arithmetic, "bf16_arithmetic"},
    {Kind::int8_dot, "int8_dot"},
    {Kind::to_f16, "to_f16"},
    {Kind::from_f16, "from_f16"},
    {Kind::to_bf16, "to_bf16"},
    {Kind::f64_to_f32, "f64_to_f32"},
    {Kind::f32_to_f64, "f32_to_f64"},
    {Kind::approximate, "approximate"},
    {Kind::x87, "x87"},
    {Kind::vector_integer, "vector_integer"},
    {Kind::move, "move"},
    {Kind::branch, "branch"},
    {Kind::call, "call"},
    {Kind::prefetch, "prefetch"},
    {Kind::non_temporal, "non_temporal"},
    {Kind::clock, "clock"},
    {Kind::system_call, "system_call"},
    {Kind::cpuid, "cpuid"},
    {Kind::random, "random"},
    {Kind::float_control, "float_control"},
    {Kind::cache_control, "cache_control"},
    {Kind::other, "other"},
};

struct Exact {
  std::string_view mnemonic;
  Kind kind;
};
// Intel SDM vol. 2 by mnemonic. `v` forms are looked up without their v where both exist.
constexpr Exact kExact[] = {
    {"rdtsc", Kind::clock},
    {"rdtscp", Kind::clock},
    {"rdpmc", Kind::clock},
    {"rdpru", Kind::clock},
    {"tpause", Kind::clock},
    {"umwait", Kind::clock},
    {"syscall", Kind::system_call},
    {"sysenter", Kind::system_call},
    {"cpuid", Kind::cpuid},
    {"xgetbv", Kind::cpuid},
    {"rdpid", Kind::cpuid},
    {"rdrand", Kind::random},
    {"rdseed", Kind::random},
    {"ldmxcsr", Kind::float_control},
    {"vldmxcsr", Kind::float_control},
    {"fldcw", Kind::float_control},
    {"fldenv", Kind::float_control},
    {"xrstor", Kind::float_control},
    {"fxrstor", Kind::float_control},
    {"clflush", Kind::cache_control},
    {"clflushopt", Kind::cache_control},
    {"clwb", Kind::cache_control},
    {"cldemote", Kind::cache_control},
    {"wbinvd", Kind::cache_control},
    {"wbnoinvd", Kind::cache_control},
    {"clzero", Kind::cache_control},
    {"movnti", Kind::non_temporal},
    {"movntps", Kind::non_temporal},
    {"movntpd", Kind::non_temporal},
    {"movntdq", Kind::non_temporal},
    {"movntdqa", Kind::non_temporal},
    {"movntq", Kind::non_temporal},
    {"cvtps2ph", Kind::to_f16},
    {"cvtph2ps", Kind::from_f16},
    {"cvtsd2ss", Kind::f64_to_f32},
    {"cvtpd2ps", Kind::f64_to_f32},
    {"cvtpd2psx", Kind::f64_to_f32},
    {"cvtpd2psy", Kind::f64_to_f32},
    {"cvtpd2psz", Kind::f64_to_f32},
    {"cvtss2sd", Kind::f32_to_f64},
    {"cvtps2pd", Kind::f32_to_f64},
    {"dpbf16ps", Kind::bf16_arithmetic},
    {"tdpbf16ps", Kind::bf16_arithmetic},
    {"tdpfp16ps", Kind::f16_arithmetic},
    {"cvtneps2bf16", Kind::to_bf16},
    {"cvtneps2bf16x", Kind::to_bf16},
    {"cvtneps2bf16y", Kind::to_bf16},
    {"cvtne2ps2bf16", Kind::to_bf16},
};

bool any_prefix(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view p) { return text.starts_with(p); });
}

/// Arithmetic by its stem, without suffix: what computes rather than moves, compares by bits or
/// shuffles.
bool is_arithmetic_stem(std::string_view stem) {
  return any_prefix(
      stem,
      {"add",      "sub",    "mul",      "div",      "sqrt",     "max",    "min",     "fmadd",
       "fmsub",    "fnmadd", "fnmsub",   "fmaddsub", "fmsubadd", "dp",     "hadd",    "hsub",
       "addsub",   "round",  "rndscale", "scalef",   "reduce",   "getexp", "getmant", "range",
       "fixupimm", "fcmadd", "fcmul",    "fmul",     "cmp",      "comi",   "ucomi",   "exp2"});
}

std::optional<Kind> half_precision(std::string_view m) {
  // AVX512-FP16 names end in ph or sh (bit operations do not exist there); conversions name both
  // types.
  if (m.starts_with("cvt")) {
    if (m.find("bf16") != std::string_view::npos)
      return m.find("2bf16") != std::string_view::npos ? Kind::to_bf16 : Kind::other;
    if (any_prefix(m, {"cvtph2", "cvttph2", "cvtsh2", "cvttsh2"})) return Kind::from_f16;
    if (m.find("2ph") != std::string_view::npos || m.find("2sh") != std::string_view::npos)
      return Kind::to_f16;
    return std::nullopt;
  }
  if ((m.ends_with("ph") || m.ends_with("sh")) && m.size() > 3) {
    if (m.starts_with("rcp") || m.starts_with("rsqrt") ||
        is_arithmetic_stem(m.substr(0, m.size() - 2)))
      return Kind::f16_arithmetic;
  }
  if (any_prefix(m, {"pdpbusd", "pdpwssd", "pdpbssd", "pdpbsud", "pdpbuud", "pdpwusd", "pdpwsud",
                     "pdpwuud", "tdpb"}))
    return Kind::int8_dot;
  return std::nullopt;
}

std::optional<Kind> single_or_double(std::string_view m) {
  if (any_prefix(m, {"rcp", "rsqrt"}) &&
      (m.ends_with("ps") || m.ends_with("ss") || m.ends_with("pd") || m.ends_with("sd")))
    return Kind::approximate;
  if (m.size() > 3 && (m.ends_with("ps") || m.ends_with("ss")) &&
      is_arithmetic_stem(m.substr(0, m.size() - 2)))
    return Kind::f32_arithmetic;
  if (m.size() > 3 && (m.ends_with("pd") || m.ends_with("sd")) &&
      is_arithmetic_stem(m.substr(0, m.size() - 2)))
    return Kind::f64_arithmetic;
  return std::nullopt;
}

bool is_prefix_word(std::string_view word) {
  static constexpr std::string_view kPrefixes[] = {
      "lock",     "rep",      "repz",   "repe",  "repnz",  "repne",   "bnd", "notrack",
      "data16",   "addr32",   "cs",     "ds",    "es",     "fs",      "gs",  "ss",
      "xacquire", "xrelease", "{evex}", "{vex}", "{vex3}", "{disp32}"};
  return std::find(std::begin(kPrefixes), std::end(kPrefixes), word) != std::end(kPrefixes) ||
         word.starts_with("rex");
}

std::optional<std::uint64_t> hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "aa bb cc ": objdump's raw bytes, which --no-show-raw-insn leaves out.
bool is_raw_bytes(std::string_view column) {
  const auto all = words(column);
  return !all.empty() && std::all_of(all.begin(), all.end(), [](std::string_view w) {
    return w.size() == 2 && hex(w).has_value();
  });
}

bool is_notable(Kind kind) {
  return kind != Kind::f64_arithmetic && kind != Kind::vector_integer && kind != Kind::move &&
         kind != Kind::branch && kind != Kind::call && kind != Kind::other;
}

class Reader {
 public:
  void line(std::string_view text) {
    ++line_;
    if (const std::size_t open = text.find(" <");
        text.ends_with(">:") && open != std::string_view::npos && hex(text.substr(0, open))) {
      symbol_ = scrub(text.substr(open + 2, text.size() - open - 4), 200);
      return;
    }
    const std::size_t colon = text.find(":\t");
    if (colon == std::string_view::npos) return;
    const auto address = hex(trim(text.substr(0, colon)));
    if (!address) return;
    std::string_view rest = text.substr(colon + 2);
    if (const std::size_t tab = rest.find('\t');
        tab != std::string_view::npos && is_raw_bytes(rest.substr(0, tab))) {
      rest = rest.substr(tab + 1);
    } else if (is_raw_bytes(rest)) {
      return;  // the tail of a long instruction
    }
    instruction(*address, trim(rest));
  }

  Census take() { return std::move(census_); }

 private:
  void instruction(std::uint64_t address, std::string_view text) {
    std::string_view rest = text, mnemonic;
    while (!rest.empty()) {
      const std::size_t end = rest.find_first_of(" \t");
      mnemonic = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : trim(rest.substr(end));
      if (!is_prefix_word(mnemonic)) break;
    }
    if (mnemonic.empty()) return;
    ++census_.instructions;
    const Kind kind = kind_of(mnemonic, rest);
    ++census_.counts[kind];
    if (any_prefix(mnemonic, {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub"})) ++census_.fused;
    for (const char* width : {"zmm", "ymm", "xmm"}) {
      if (rest.find(std::string("%") + width) == std::string_view::npos) continue;
      ++census_.widths[width];
      break;
    }
    if (!is_notable(kind) || kind == Kind::f32_arithmetic) return count_only(kind, address, text);
    note(kind, address, text);
  }

  /// Single precision is everyday; the first of each function is kept for class f64.
  void count_only(Kind kind, std::uint64_t address, std::string_view text) {
    if (kind != Kind::f32_arithmetic || symbol_ == last_single_) return;
    last_single_ = symbol_;
    note(kind, address, text);
  }

  void note(Kind kind, std::uint64_t address, std::string_view text) {
    if (census_.notable.size() == kMaxNotable) {
      census_.truncated = true;
      return;
    }
    census_.notable.push_back({kind, symbol_, address, line_, scrub(text, 200)});
  }

  Census census_;
  std::string symbol_, last_single_ = "\n";
  int line_ = 0;
};

}  // namespace

const char* name_of(Kind kind) {
  for (const Row& row : kNames) {
    if (row.kind == kind) return row.name;
  }
  return "other";
}

Kind kind_of(std::string_view mnemonic, std::string_view operands) {
  if (mnemonic == "int" || mnemonic == "int3" || mnemonic == "into")
    return mnemonic == "int" ? Kind::system_call : Kind::other;
  if (mnemonic.starts_with("prefetch")) return Kind::prefetch;
  if (mnemonic.starts_with("call")) return Kind::call;
  if (mnemonic.starts_with("ret")) return Kind::branch;
  for (const Exact& exact : kExact) {
    if (exact.mnemonic == mnemonic ||
        (mnemonic.starts_with('v') && exact.mnemonic == mnemonic.substr(1)))
      return exact.kind;
  }
  const bool vex = mnemonic.starts_with('v') && mnemonic.size() > 3;
  const std::string_view m = vex ? mnemonic.substr(1) : mnemonic;
  // AVX512-FP16 has no form without v, and legacy words such as "push" and "pusha" end alike.
  if (vex || m.starts_with("tdp")) {
    if (const auto kind = half_precision(m)) return *kind;
  }
  if (const auto kind = single_or_double(m)) return *kind;
  if (mnemonic.starts_with('j') || mnemonic.starts_with("loop")) return Kind::branch;
  if (m.starts_with("mov") || m.starts_with("broadcast") || m.starts_with("pbroadcast") ||
      m.starts_with("lea") || mnemonic.starts_with("cmov"))
    return Kind::move;
  const bool vector = operands.find("mm") != std::string_view::npos;
  if (m.starts_with('p') && vector) return Kind::vector_integer;
  if (mnemonic.starts_with('f') && !vector && mnemonic != "fence") return Kind::x87;
  return Kind::other;
}

std::uint64_t Census::count(Kind kind) const {
  const auto at = counts.find(kind);
  return at == counts.end() ? 0 : at->second;
}

Result<Census> read_census(std::string_view objdump_text) {
  if (objdump_text.size() > kMaxListing) {
    return usage_error(
        fmt::format("a listing of {} bytes is longer than {}", objdump_text.size(), kMaxListing),
        "the code is far larger than a kernel");
  }
  Reader reader;
  while (!objdump_text.empty()) {
    const std::size_t end = objdump_text.find('\n');
    reader.line(objdump_text.substr(0, end));
    objdump_text =
        end == std::string_view::npos ? std::string_view{} : objdump_text.substr(end + 1);
  }
  Census census = reader.take();
  if (census.instructions == 0)
    return environment_error("the listing holds no instruction",
                             "it must be the output of objdump -d");
  return census;
}

std::set<Kind> lower_precision_for(task::Precision precision,
                                   const std::vector<task::DType>& storage) {
  using task::DType;
  using task::Precision;
  const auto stores = [&](DType type) {
    return std::find(storage.begin(), storage.end(), type) != storage.end();
  };
  std::set<Kind> lower;
  switch (precision) {
    case Precision::f64:
      lower = {Kind::f32_arithmetic, Kind::f64_to_f32, Kind::f16_arithmetic, Kind::bf16_arithmetic,
               Kind::int8_dot,       Kind::to_f16,     Kind::to_bf16,        Kind::approximate};
      break;
    case Precision::f32:
    case Precision::tf32:  // multiplicands of 11 bits, yet sums of 24: half arithmetic has neither
                           // range nor sum
      lower = {Kind::f16_arithmetic, Kind::bf16_arithmetic, Kind::int8_dot, Kind::to_f16,
               Kind::to_bf16};
      break;
    case Precision::f16:
      lower = {Kind::bf16_arithmetic, Kind::int8_dot, Kind::to_bf16};
      break;
    case Precision::bf16:
      lower = {Kind::int8_dot};
      break;
    case Precision::fp8:
    case Precision::integer:
      break;
  }
  if (stores(DType::f16)) lower.erase(Kind::to_f16);
  if (stores(DType::bf16)) lower.erase(Kind::to_bf16);
  if (stores(DType::f32)) lower.erase(Kind::f64_to_f32);
  // Without a half type in the task, reading halves means that the candidate made them.
  if (precision == Precision::f64 || precision == Precision::f32 || precision == Precision::tf32) {
    if (!stores(DType::f16)) lower.insert(Kind::from_f16);
  }
  if (precision != Precision::fp8 && precision != Precision::integer &&
      (stores(DType::i8) || stores(DType::u8)))
    lower.erase(Kind::int8_dot);
  return lower;
}

std::vector<Finding> census_findings(const Census& census, const std::set<Kind>& lower_precision) {
  struct Ban {
    Kind kind;
    const char* reason;
    const char* why;
    bool banned;
  };
  static constexpr Ban kBans[] = {
      {Kind::clock, "clock_read", "reads a clock: a kernel must not know how long it takes", true},
      {Kind::system_call, "system_call", "calls the system by itself", true},
      {Kind::random, "random", "draws random numbers: answers must be a function of the inputs",
       true},
      {Kind::float_control, "float_control", "changes rounding or denormals for the thread", false},
      {Kind::cpuid, "cpuid", "asks which processor it runs on; the lane builds for this one", true},
      {Kind::cache_control, "cache_control", "flushes caches", true},
      {Kind::non_temporal, "non_temporal", "goes past the caches", false},
      {Kind::prefetch, "prefetch", "asks for data ahead of use", false},
      {Kind::approximate, "approximate", "gives 12 to 28 bits; the error budget judges the result",
       false},
  };
  std::vector<Finding> findings;
  std::set<std::pair<Kind, std::string>> seen;  // one a kind and function, at its first instruction
  for (const Census::Instruction& instruction : census.notable) {
    const auto where = [&] {
      return fmt::format("{} at 0x{:x} (line {} of the listing)", instruction.symbol,
                         instruction.address, instruction.line);
    };
    const bool is_new = seen.emplace(instruction.kind, instruction.symbol).second;
    if (!is_new) continue;
    if (lower_precision.contains(instruction.kind)) {
      findings.push_back({"lower_precision", instruction.text, where(),
                          fmt::format("{} is below the precision of the task: class C at best",
                                      name_of(instruction.kind)),
                          false});
      continue;
    }
    for (const Ban& ban : kBans) {
      if (ban.kind == instruction.kind)
        findings.push_back({ban.reason, instruction.text, where(), ban.why, ban.banned});
    }
  }
  return findings;
}

}  // namespace hone::code
