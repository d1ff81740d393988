#include "lane/definitions.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"

namespace hone::lane {
namespace {

using candidate::Build;
using task::DType;
using task::Precision;

const char* c_type(DType type) {
  switch (type) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::f16: return "hone_f16";
    case DType::bf16: return "hone_bf16";
    case DType::i64: return "int64_t";
    case DType::i32: return "int32_t";
    case DType::i16: return "int16_t";
    case DType::i8: return "int8_t";
    case DType::u64: return "uint64_t";
    case DType::u32: return "uint32_t";
    case DType::u16: return "uint16_t";
    case DType::u8: return "uint8_t";
    case DType::boolean: return "bool";
  }
  return "float";
}

/// DESIGN.md §5: t in the next wider type, r and the baseline in the class's own.
const char* real_type(Build build, Precision precision) {
  const bool oracle = build == Build::oracle;
  if (precision == Precision::f64) return oracle ? "__float128" : "double";
  if (precision == Precision::integer) return "double";
  return oracle ? "double" : "float";
}

const char* rounding(Build build, Precision precision) {
  if (build != Build::rounded) return "hone::real";
  switch (precision) {
    case Precision::tf32: return "hone::round_tf32";
    case Precision::bf16: return "hone::round_bf16";
    case Precision::f16: return "hone::round_f16";
    case Precision::fp8: return "hone::round_fp8";
    case Precision::f64:
    case Precision::f32:
    case Precision::integer: return "hone::real";
  }
  return "hone::real";
}

}  // namespace

std::string definitions(const candidate::Resolved& resolved) {
  const bool exact = resolved.build == Build::oracle || resolved.build == Build::rounded;
  std::string text = fmt::format("#define HONE_REAL {}\n#define HONE_ROUND {}\n", real_type(resolved.build, resolved.precision),
                                 rounding(resolved.build, resolved.precision));
  std::set<std::string> stored;
  for (const auto& [name, dtype] : resolved.outputs) {
    const std::string type = exact && task::is_floating(dtype) ? "HONE_REAL" : c_type(dtype);
    if (task::is_floating(dtype)) stored.insert(type);
    if (is_identifier(name)) text += fmt::format("#define HONE_OUT_{} {}\n", name, type);
  }
  // With outputs of several types HONE_OUT alone means nothing; the compiler's complaint then says what to write.
  text += fmt::format("#define HONE_OUT {}\n", stored.size() == 1  ? *stored.begin()
                                               : stored.empty()    ? "HONE_REAL"
                                                                   : "outputs_differ_in_type_so_write_HONE_OUT_name");
  return text;
}

bool speaks_hone(const candidate::Resolved& resolved) {
  return resolved.build != Build::candidate || resolved.source.find("HONE_") != std::string::npos ||
         resolved.source.find("hone::") != std::string::npos;
}

}  // namespace hone::lane
