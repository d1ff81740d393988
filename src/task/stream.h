#pragma once
// Streams of random numbers under the draws: Philox words, uniforms and normals by position.
// Everything is a pure function of (key, index), built from integer operations and + - * / sqrt of
// doubles, each exactly rounded, never contracted: the same bits from every compiler and device
// (docs/draws.md has the formulas).

#include <cstdint>
#include <string_view>

namespace hone::task {

/// Key of a named tensor (or CSR group) for a seed: splitmix64 finaliser over seed and FNV-1a of
/// the name.
std::uint64_t stream_key(std::uint64_t seed, std::string_view name);
std::uint64_t mix64(std::uint64_t x);

/// Which of a tensor's independent streams: the high half of the Philox counter.
enum class Lane : std::uint64_t { values = 0, tail = 1, special = 2, jitter = 3, split = 4 };

/// Word i of a stream is x[i % 4] of block i / 4. Fills out[k] with word first + k.
void random_words(std::uint64_t key, Lane lane, std::uint64_t first, std::uint32_t* out,
                  std::size_t count);
/// Word `index` alone.
std::uint32_t random_word(std::uint64_t key, Lane lane, std::uint64_t index);
/// 64 bits from words 2i (low) and 2i + 1 (high).
std::uint64_t random_word64(std::uint64_t key, Lane lane, std::uint64_t index);

/// Uniform on (0, 1): (w + 0.5) * 2^-32 of word i; wide: (w64 >> 12 + 0.5) * 2^-52 of words 2i, 2i
/// + 1. Exact.
void uniforms(std::uint64_t key, Lane lane, std::uint64_t first, bool wide, double* out,
              std::size_t count);

/// Standard normal quantiles of uniforms on (0, 1), in place: Wichura, AS 241 (PPND16), with its
/// logarithm replaced by exactly rounded steps. Absolute error below 1e-14.
void normal_quantiles(double* values, std::size_t count);

}  // namespace hone::task
