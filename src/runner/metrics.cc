#include "runner/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

// The common element (everything finite) goes through loops without branches, a block at a time, so that a
// million elements take a few milliseconds. A block with anything else in it, and the search for an element to
// show, go through look(), which is the definition.

namespace hone::runner {
namespace {

using task::DType;

constexpr std::size_t kBlock = 1024;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What an output's type means for an error, worked out once.
struct Format {
  double scale = 0;       // 2^-p: half an ulp of 1
  double least = 0;       // smallest normal
  double overflow = 0;    // the least magnitude that rounds to infinity
};

Format format_of(DType type) {
  const int p = task::significand_bits(type);
  const int lowest = task::min_exponent(type);
  // The largest exponent mirrors the smallest: 1 - lowest. Half an ulp above the largest finite value lies
  // 2^(e+1) - 2^(e-p), from where rounding to nearest even gives infinity.
  const int highest = 1 - lowest;
  const double above = type == DType::f64 ? kInfinity
                                          : std::ldexp(1.0, highest + 1) - std::ldexp(1.0, highest - p);
  return {std::ldexp(1.0, -p), std::ldexp(1.0, lowest), above};
}

double half_ulp_in(const Format& format, double truth) {
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(truth) & 0x7FF0000000000000u;
  const double binade = std::max(std::bit_cast<double>(exponent), format.least);
  // For f64 the floor, 2^-1075, is no double; the smallest one stands for it.
  return std::max(binade * format.scale, std::numeric_limits<double>::denorm_min());
}

double f16_value(std::uint16_t h) {
  // A half's bits shifted into a float are the value times 2^-112, denormals included.
  const auto bits = static_cast<std::uint32_t>(h & 0x7FFFu) << 13;
  const float scaled = std::bit_cast<float>(bits) * 0x1p112f;
  const float special = std::bit_cast<float>(bits | 0x7F800000u);
  const float magnitude = bits >= 0x0F800000u ? special : scaled;
  return h & 0x8000u ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

template <typename T>
T at(const std::byte* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof value);
  return value;
}

template <typename T, typename F>
void load_as(const std::byte* bytes, std::size_t n, double* out, F convert) {
  for (std::size_t i = 0; i < n; ++i) out[i] = convert(at<T>(bytes, i));
}

void load_block(DType type, const std::byte* bytes, std::size_t n, double* out) {
  const auto plain = [](auto v) { return static_cast<double>(v); };
  switch (type) {
    case DType::f64: return load_as<double>(bytes, n, out, plain);
    case DType::f32: return load_as<float>(bytes, n, out, plain);
    case DType::f16: return load_as<std::uint16_t>(bytes, n, out, f16_value);
    case DType::bf16:
      return load_as<std::uint16_t>(bytes, n, out, [](std::uint16_t v) {
        return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16));
      });
    case DType::i64: return load_as<std::int64_t>(bytes, n, out, plain);
    case DType::i32: return load_as<std::int32_t>(bytes, n, out, plain);
    case DType::i16: return load_as<std::int16_t>(bytes, n, out, plain);
    case DType::i8: return load_as<std::int8_t>(bytes, n, out, plain);
    case DType::u64: return load_as<std::uint64_t>(bytes, n, out, plain);
    case DType::u32: return load_as<std::uint32_t>(bytes, n, out, plain);
    case DType::u16: return load_as<std::uint16_t>(bytes, n, out, plain);
    case DType::u8:
    case DType::boolean: return load_as<std::uint8_t>(bytes, n, out, plain);
  }
}

__int128 load_integer(DType type, const std::byte* bytes, std::size_t i) {
  switch (type) {
    case DType::i64: return at<std::int64_t>(bytes, i);
    case DType::i32: return at<std::int32_t>(bytes, i);
    case DType::i16: return at<std::int16_t>(bytes, i);
    case DType::i8: return at<std::int8_t>(bytes, i);
    case DType::u64: return at<std::uint64_t>(bytes, i);
    case DType::u32: return at<std::uint32_t>(bytes, i);
    case DType::u16: return at<std::uint16_t>(bytes, i);
    default: return at<std::uint8_t>(bytes, i);
  }
}

/// Elements whose bytes equal `other`'s; `stride` 0 compares each with the same element.
template <typename T>
std::int64_t equal_elements(const std::byte* a, const std::byte* b, std::size_t n, bool same_b) {
  std::int64_t equal = 0;
  if (same_b) {
    const T wanted = at<T>(b, 0);
    for (std::size_t i = 0; i < n; ++i) equal += at<T>(a, i) == wanted;
  } else {
    for (std::size_t i = 0; i < n; ++i) equal += at<T>(a, i) == at<T>(b, i);
  }
  return equal;
}

std::int64_t equal_elements(std::size_t size, const std::byte* a, const std::byte* b, std::size_t n,
                            bool same_b) {
  switch (size) {
    case 1: return equal_elements<std::uint8_t>(a, b, n, same_b);
    case 2: return equal_elements<std::uint16_t>(a, b, n, same_b);
    case 4: return equal_elements<std::uint32_t>(a, b, n, same_b);
    default: return equal_elements<std::uint64_t>(a, b, n, same_b);
  }
}

enum class Kind { finite, plus_infinity, minus_infinity, nan };
const char* text_of(Kind kind) {
  switch (kind) {
    case Kind::finite: return "a finite value";
    case Kind::plus_infinity: return "infinity";
    case Kind::minus_infinity: return "-infinity";
    case Kind::nan: return "NaN";
  }
  return "";
}
Kind kind_in(const Format& format, double value) {
  if (std::isnan(value)) return Kind::nan;
  if (std::isinf(value) || std::fabs(value) >= format.overflow)
    return value > 0 ? Kind::plus_infinity : Kind::minus_infinity;
  return Kind::finite;
}

/// One element under the definition.
struct Look {
  enum class State { counted, skipped, wrong } state = State::counted;
  double z_candidate = 0, z_reference = 0, z_lower = 0;
  bool reference_exact = true;
  std::string why;  // of wrong
};

class Measuring {
 public:
  Measuring(const Truth& truth, std::span<const std::byte> output, std::span<const double> values)
      : truth_(truth), output_(output), values_(values), size_(task::size_of(truth.dtype)),
        integers_(!truth.select && !task::is_floating(truth.dtype)),
        format_(integers_ ? Format{} : format_of(truth.select ? truth.value_dtype : truth.dtype)) {}

  OutputErrors run(const std::string& name, std::span<const std::byte> poison);

 private:
  double lo(std::size_t i) const { return truth_.lo.empty() ? 0.0 : truth_.lo[i]; }
  double spread(std::size_t i) const { return truth_.spread.empty() ? 0.0 : truth_.spread[i]; }
  double value(std::size_t i) const {
    if (truth_.select) return values_[i];
    double out;
    load_block(truth_.dtype, output_.data() + i * size_, 1, &out);
    return out;
  }
  bool near_overflow(double value, std::size_t i) const;
  Look look(std::size_t i) const;
  Look look_integer(std::size_t i) const;
  BadElement show(std::size_t i, const Look& look, std::string why) const;
  void take(std::size_t i, const Look& look, OutputErrors* errors) const;
  bool fast_block(std::size_t begin, std::size_t n, OutputErrors* errors) const;
  void count_poison(std::span<const std::byte> poison, OutputErrors* errors) const;
  void find_first_bad(OutputErrors* errors) const;
  void count_inexact(OutputErrors* errors) const;

  const Truth& truth_;
  std::span<const std::byte> output_;
  std::span<const double> values_;
  std::size_t size_;
  bool integers_;
  Format format_;
};

// t may lie so near the largest finite value that rounding alone decides between it and infinity.
bool Measuring::near_overflow(double value, std::size_t i) const {
  const double room = kMaxFloor * (spread(i) + half_ulp_in(format_, std::min(std::fabs(value), format_.overflow)));
  return std::isfinite(value) && std::isfinite(format_.overflow) &&
         std::fabs(std::fabs(value) - format_.overflow) <= room;
}

Look Measuring::look_integer(std::size_t i) const {
  Look out;
  const __int128 c = load_integer(truth_.dtype, output_.data(), i);
  const double hi = truth_.hi[i];
  const bool usable = std::fabs(hi) < 0x1p100;  // a conversion of NaN or more would be undefined
  const __int128 t = usable ? static_cast<__int128>(hi) + static_cast<__int128>(lo(i)) : 0;
  const double rounded = truth_.rounded[i];
  out.reference_exact = usable && rounded == hi;
  const bool is_reference = std::fabs(rounded) < 0x1p53 && c == static_cast<__int128>(rounded);
  if (is_reference || (usable && c == t) || c == load_integer(truth_.dtype, truth_.rounded_bits.data(), i))
    return out;
  out.state = Look::State::wrong;
  out.why = "an integer other than the true one";
  return out;
}

Look Measuring::look(std::size_t i) const {
  if (integers_) return look_integer(i);
  Look out;
  const double t = truth_.hi[i], r = truth_.rounded[i], c = value(i);
  const Kind kt = kind_in(format_, t), kr = kind_in(format_, r), kc = kind_in(format_, c);
  out.reference_exact = (t == r && lo(i) == 0) || (kt == Kind::nan && kr == Kind::nan);
  if (kr != kt) {
    out.state = Look::State::skipped;
    return out;
  }
  if (kc != kt) {
    const bool same_sign = std::signbit(c) == std::signbit(t) && !std::isnan(c);
    if (same_sign && near_overflow(t, i) && (std::isinf(c) || near_overflow(c, i))) return out;
    out.state = Look::State::wrong;
    if (truth_.select)
      out.why = std::isnan(c) ? "an index out of range"
                              : fmt::format("an index that selects {} where the truth is {}", text_of(kc), text_of(kt));
    else
      out.why = fmt::format("{} where the truth is {}", text_of(kc), text_of(kt));
    return out;
  }
  if (kt != Kind::finite) return out;
  const double unit = spread(i) + half_ulp_in(format_, t);
  out.z_candidate = std::fabs((c - t) - lo(i)) / unit;
  out.z_reference = std::fabs((r - t) - lo(i)) / unit;
  if (!truth_.lower.empty()) {
    const double l = truth_.lower[i];
    if (kind_in(format_, l) == Kind::finite) out.z_lower = std::fabs((l - t) - lo(i)) / unit;
  }
  return out;
}

BadElement Measuring::show(std::size_t i, const Look& look, std::string why) const {
  BadElement out;
  out.index = static_cast<std::int64_t>(i);
  out.value = value(i);
  out.truth = truth_.hi[i];
  out.reference = truth_.rounded[i];
  out.z_candidate = look.state == Look::State::wrong ? kInfinity : look.z_candidate;
  out.z_reference = look.z_reference;
  out.why = std::move(why);
  return out;
}

void Measuring::take(std::size_t i, const Look& look, OutputErrors* errors) const {
  errors->reference_exact &= look.reference_exact;
  if (look.state == Look::State::skipped) {
    ++errors->skipped;
    return;
  }
  ++errors->counted;
  if (look.state == Look::State::wrong) {
    if (errors->exact_wrong++ == 0) errors->worst = show(i, look, look.why);
    return;
  }
  errors->sum2_candidate += look.z_candidate * look.z_candidate;
  errors->sum2_reference += look.z_reference * look.z_reference;
  errors->sum2_lower += look.z_lower * look.z_lower;
  errors->max_reference = std::max(errors->max_reference, look.z_reference);
  errors->max_lower = std::max(errors->max_lower, look.z_lower);
  if (errors->exact_wrong == 0 && (errors->worst.index < 0 || look.z_candidate > errors->max_candidate))
    errors->worst = show(i, look, "the largest error");
  errors->max_candidate = std::max(errors->max_candidate, look.z_candidate);
}

struct Sums {
  double sum2 = 0, largest = 0;
};
// Eight independent lanes: a plain sum of doubles may not be reordered by the compiler, so it would not vectorise.
Sums reduce(const double* z, std::size_t n) {
  double sum[8] = {}, top[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t k = 0; k < 8; ++k) {
      sum[k] += z[i + k] * z[i + k];
      top[k] = z[i + k] > top[k] ? z[i + k] : top[k];
    }
  for (; i < n; ++i) {
    sum[0] += z[i] * z[i];
    top[0] = std::max(top[0], z[i]);
  }
  Sums out;
  for (std::size_t k = 0; k < 8; ++k) {
    out.sum2 += sum[k];
    out.largest = std::max(out.largest, top[k]);
  }
  return out;
}

// False, and nothing done, when some element is not plainly finite.
bool Measuring::fast_block(std::size_t begin, std::size_t n, OutputErrors* errors) const {
  double c[kBlock], unit[kBlock], z[kBlock];
  const double* t = truth_.hi.data() + begin;
  const double* r = truth_.rounded.data() + begin;
  if (truth_.select) std::copy_n(values_.data() + begin, n, c);
  else load_block(truth_.dtype, output_.data() + begin * size_, n, c);
  int plain = 1, exact = 1;
  for (std::size_t i = 0; i < n; ++i) {
    plain &= static_cast<int>(std::fabs(c[i]) < kInfinity) & static_cast<int>(std::fabs(t[i]) < format_.overflow) &
             static_cast<int>(std::fabs(r[i]) < format_.overflow);
    exact &= static_cast<int>(t[i] == r[i]);
    unit[i] = half_ulp_in(format_, t[i]);
  }
  const double* l = truth_.lower.empty() ? nullptr : truth_.lower.data() + begin;
  for (std::size_t i = 0; l && i < n; ++i) plain &= static_cast<int>(std::fabs(l[i]) < format_.overflow);
  if (!plain) return false;
  if (!truth_.spread.empty())
    for (std::size_t i = 0; i < n; ++i) unit[i] += truth_.spread[begin + i];
  const double zero[kBlock] = {};
  const double* low = truth_.lo.empty() ? zero : truth_.lo.data() + begin;
  for (std::size_t i = 0; i < n; ++i) exact &= static_cast<int>(low[i] == 0);

  const auto errors_of = [&](const double* x) {
    for (std::size_t i = 0; i < n; ++i) z[i] = std::fabs((x[i] - t[i]) - low[i]) / unit[i];
    return reduce(z, n);
  };
  const Sums reference = errors_of(r);
  errors->sum2_reference += reference.sum2;
  errors->max_reference = std::max(errors->max_reference, reference.largest);
  if (l) {
    const Sums lower = errors_of(l);
    errors->sum2_lower += lower.sum2;
    errors->max_lower = std::max(errors->max_lower, lower.largest);
  }
  const Sums candidate = errors_of(c);
  errors->sum2_candidate += candidate.sum2;
  errors->reference_exact &= exact != 0;
  errors->counted += static_cast<std::int64_t>(n);
  if (errors->exact_wrong == 0 && (errors->worst.index < 0 || candidate.largest > errors->max_candidate)) {
    const std::size_t i = begin + static_cast<std::size_t>(std::max_element(z, z + n) - z);
    errors->worst = show(i, look(i), "the largest error");
  }
  errors->max_candidate = std::max(errors->max_candidate, candidate.largest);
  return true;
}

void Measuring::count_poison(std::span<const std::byte> poison, OutputErrors* errors) const {
  if (poison.empty() || size_ % poison.size() != 0) return;
  std::byte pattern[8];
  for (std::size_t i = 0; i < size_; ++i) pattern[i] = poison[i % poison.size()];
  const auto n = static_cast<std::size_t>(errors->elements);
  if (equal_elements(size_, output_.data(), pattern, n, true) == 0) return;
  for (std::size_t i = 0; i < n; ++i)
    errors->poison_left += std::memcmp(output_.data() + i * size_, pattern, size_) == 0 &&
                           std::memcmp(truth_.rounded_bits.data() + i * size_, pattern, size_) != 0;
}

void Measuring::find_first_bad(OutputErrors* errors) const {
  const double limit = kMaxFactor * errors->max_reference + kMaxFloor;
  if (errors->exact_wrong == 0 && errors->max_candidate <= limit) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(errors->elements); ++i) {
    Look one = look(i);
    if (one.state == Look::State::wrong) errors->first_bad = show(i, one, one.why);
    else if (one.z_candidate > limit) errors->first_bad = show(i, one, "beyond the budget");
    else continue;
    return;
  }
}

// Where r equals t, r cast to the storage type is t rounded to it.
void Measuring::count_inexact(OutputErrors* errors) const {
  if (!errors->reference_exact || errors->bits_differ == 0) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(errors->elements); ++i) {
    double wanted;
    load_block(truth_.dtype, truth_.rounded_bits.data() + i * size_, 1, &wanted);
    const double c = value(i);
    // Integers beyond 2^53 share doubles, so their bits decide.
    const bool equal = integers_ ? std::memcmp(output_.data() + i * size_, truth_.rounded_bits.data() + i * size_,
                                               size_) == 0
                                 : c == wanted || (std::isnan(c) && std::isnan(wanted));
    if (equal) continue;
    if (errors->inexact++ == 0) errors->first_inexact = show(i, look(i), "not exact, where the reference is");
  }
}

OutputErrors Measuring::run(const std::string& name, std::span<const std::byte> poison) {
  OutputErrors errors;
  errors.name = name;
  const std::size_t n = truth_.hi.size();
  errors.elements = static_cast<std::int64_t>(n);
  errors.has_lower = !truth_.lower.empty() && !integers_;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t count = std::min(kBlock, n - begin);
    if (!integers_ && fast_block(begin, count, &errors)) continue;
    const std::byte* c = output_.data() + begin * size_;
    const std::byte* r = truth_.rounded_bits.data() + begin * size_;
    if (integers_ && errors.reference_exact && std::memcmp(c, r, count * size_) == 0) {
      // Still asks whether r is t, which the bits do not tell.
      for (std::size_t i = begin; i < begin + count; ++i) errors.reference_exact &= look(i).reference_exact;
      errors.counted += static_cast<std::int64_t>(count);
      continue;
    }
    for (std::size_t i = begin; i < begin + count; ++i) take(i, look(i), &errors);
  }
  errors.bits_differ =
      errors.elements - equal_elements(size_, output_.data(), truth_.rounded_bits.data(), n, false);
  if (truth_.select) errors.reference_exact = false;
  count_poison(poison, &errors);
  find_first_bad(&errors);
  count_inexact(&errors);
  return errors;
}

Json to_json(const BadElement& bad) {
  if (bad.index < 0) return nullptr;
  return {{"index", bad.index},         {"value", number(bad.value)},
          {"truth", number(bad.truth)}, {"reference", number(bad.reference)},
          {"z_candidate", number(bad.z_candidate)}, {"z_reference", number(bad.z_reference)},
          {"why", bad.why}};
}

Result<BadElement> bad_element_from_json(const Json& json, const char* key) {
  BadElement out;
  if (!json.contains(key) || json[key].is_null()) return out;
  const Json& bad = json[key];
  HONE_TRY(out.index, get_int(bad, "index", key));
  HONE_TRY(out.why, get_string(bad, "why", key));
  const std::pair<const char*, double*> numbers[] = {{"value", &out.value},
                                                     {"truth", &out.truth},
                                                     {"reference", &out.reference},
                                                     {"z_candidate", &out.z_candidate},
                                                     {"z_reference", &out.z_reference}};
  for (auto [name, to] : numbers) {
    if (!bad.contains(name)) return usage_error(fmt::format("{}: key '{}' is missing", key, name));
    *to = as_double(bad[name]);
  }
  return out;
}

template <typename Errors>
auto integer_fields(Errors& e) {
  return std::to_array<std::pair<const char*, decltype(&e.elements)>>(
      {{"elements", &e.elements}, {"counted", &e.counted}, {"skipped", &e.skipped},
       {"bits_differ", &e.bits_differ}, {"exact_wrong", &e.exact_wrong}, {"inexact", &e.inexact},
       {"poison_left", &e.poison_left}});
}
template <typename Errors>
auto real_fields(Errors& e) {
  return std::to_array<std::pair<const char*, decltype(&e.sum2_candidate)>>(
      {{"sum2_candidate", &e.sum2_candidate}, {"max_candidate", &e.max_candidate},
       {"sum2_reference", &e.sum2_reference}, {"max_reference", &e.max_reference},
       {"sum2_lower", &e.sum2_lower}, {"max_lower", &e.max_lower}});
}

}  // namespace

double half_ulp(DType type, double truth) {
  if (!task::is_floating(type)) return 0.5;
  return half_ulp_in(format_of(type), truth);
}

OutputErrors measure_errors(const std::string& name, const Truth& truth, std::span<const std::byte> output,
                            std::span<const double> values, std::span<const std::byte> poison_pattern) {
  return Measuring(truth, output, values).run(name, poison_pattern);
}

void OutputErrors::add(const OutputErrors& other) {
  const bool empty = elements == 0;
  // The first exact mismatch wins, then the larger error.
  if (worst.index < 0 || (exact_wrong == 0 && (other.exact_wrong > 0 || other.max_candidate > max_candidate)))
    worst = other.worst.index < 0 ? worst : other.worst;
  if (first_bad.index < 0) first_bad = other.first_bad;
  if (first_inexact.index < 0) first_inexact = other.first_inexact;
  auto into = integer_fields(*this);
  auto from = integer_fields(other);
  for (std::size_t i = 0; i < into.size(); ++i) *into[i].second += *from[i].second;
  sum2_candidate += other.sum2_candidate;
  sum2_reference += other.sum2_reference;
  sum2_lower += other.sum2_lower;
  max_candidate = std::max(max_candidate, other.max_candidate);
  max_reference = std::max(max_reference, other.max_reference);
  max_lower = std::max(max_lower, other.max_lower);
  has_lower = empty ? other.has_lower : has_lower && (other.has_lower || other.elements == 0);
  reference_exact = reference_exact && other.reference_exact;
}

Json to_json(const OutputErrors& errors) {
  Json out = {{"name", errors.name}};
  for (auto [key, value] : integer_fields(errors)) out[key] = *value;
  for (auto [key, value] : real_fields(errors)) out[key] = number(*value);
  out["has_lower"] = errors.has_lower;
  out["reference_exact"] = errors.reference_exact;
  out["worst"] = to_json(errors.worst);
  out["first_bad"] = to_json(errors.first_bad);
  out["first_inexact"] = to_json(errors.first_inexact);
  return out;
}

Result<OutputErrors> output_errors_from_json(const Json& json) {
  constexpr const char* kWhat = "errors of an output";
  OutputErrors out;
  HONE_TRY(out.name, get_string(json, "name", kWhat));
  for (auto [key, value] : integer_fields(out)) {
    HONE_TRY(*value, get_int(json, key, kWhat));
  }
  for (auto [key, value] : real_fields(out)) {
    if (!json.contains(key)) return usage_error(fmt::format("{}: key '{}' is missing", kWhat, key));
    *value = as_double(json[key]);
  }
  HONE_TRY(out.has_lower, get_bool(json, "has_lower", kWhat));
  HONE_TRY(out.reference_exact, get_bool(json, "reference_exact", kWhat));
  HONE_TRY(out.worst, bad_element_from_json(json, "worst"));
  HONE_TRY(out.first_bad, bad_element_from_json(json, "first_bad"));
  HONE_TRY(out.first_inexact, bad_element_from_json(json, "first_inexact"));
  return out;
}

}  // namespace hone::runner
