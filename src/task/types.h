#pragma once
// The words of a task: element types, precision classes, dims, declared tensors, cases.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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
/// Largest finite value as a double (i64 and u64: one above it).
double max_finite(DType type);
std::vector<std::string> dtype_names();

/// Arithmetic a candidate may use.
enum class Precision { f64, f32, tf32, f16, bf16, fp8, integer };
const char* name_of(Precision precision);  ///< integer is "int"
Result<Precision> precision_from(std::string_view name);
/// Significand bits of a multiplicand of the class: 53 24 11 11 8 4; 0 for integer.
int significand_bits(Precision precision);
std::vector<std::string> precision_names();

using Dims = std::map<std::string, std::int64_t>;

/// One element, read as double (exact but for i64/u64 beyond 2^53) and written from double (rounded to
/// nearest even; integers truncate and saturate).
double load_element(DType type, const std::byte* at);
void store_element(DType type, std::byte* at, double value);
/// The same for `count` neighbours; `at` need not be aligned.
void load_elements(DType type, const std::byte* at, double* out, std::size_t count);
void store_elements(DType type, std::byte* at, const double* in, std::size_t count);

}  // namespace hone::task
