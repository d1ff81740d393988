#pragma once
// The words of a task: element types, precision classes, dims, declared tensors, cases.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone::task {

/// Storage type of an element.
enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };
std::size_t size_of(DType type);
const char* name_of(DType type);  ///< "f32", "bool", …: as the task file writes it
Result<DType> dtype_from(std::string_view name);
bool is_floating(DType type);
/// Significand bits including the hidden one: 53, 24, 11, 8; 0 for integers.
int significand_bits(DType type);
/// Smallest normal's exponent e of 2^e: -1022, -126, -14, -126.
int min_exponent(DType type);

/// Arithmetic a candidate may use.
enum class Precision { f64, f32, tf32, f16, bf16, fp8, integer };
const char* name_of(Precision precision);  ///< integer is "int"
Result<Precision> precision_from(std::string_view name);
/// Significand bits of a multiplicand of the class: 53 24 11 11 8 4; 0 for integer.
int significand_bits(Precision precision);

using Dims = std::map<std::string, std::int64_t>;

/// One element, read as double (exact but for i64/u64 beyond 2^53) and written from double (rounded to
/// nearest even; integers truncate and saturate).
double load_element(DType type, const std::byte* at);
void store_element(DType type, std::byte* at, double value);

}  // namespace hone::task
