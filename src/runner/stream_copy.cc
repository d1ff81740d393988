#include "runner/stream_copy.h"

#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hone::runner {

void stream_copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
#if defined(__x86_64__)
  std::uint64_t i = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    for (; i + 64 <= bytes; i += 64)
      for (int k = 0; k < 4; ++k)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i) + k,
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i) + k));
  }
  std::memcpy(to + i, from + i, bytes - i);
  if (i < bytes) flush_lines(to + i, bytes - i);
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

void stream_fill(std::byte* to, std::uint64_t bytes, std::span<const std::byte> pattern) {
  alignas(64) std::byte line[64];
  for (std::size_t i = 0; i < sizeof line; ++i) line[i] = pattern[i % pattern.size()];
  std::uint64_t i = 0;
#if defined(__x86_64__)
  if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0)
    for (; i + 64 <= bytes; i += 64)
      for (int k = 0; k < 4; ++k)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i) + k, _mm_load_si128(reinterpret_cast<__m128i*>(line) + k));
#endif
  for (; i < bytes; i += 64) std::memcpy(to + i, line, bytes - i < 64 ? bytes - i : 64);
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void flush_lines(const std::byte* at, std::uint64_t bytes) {
#if defined(__x86_64__)
  for (std::uint64_t i = 0; i < bytes; i += 64) _mm_clflush(at + i);
  if (bytes > 0) _mm_clflush(at + bytes - 1);
  _mm_mfence();
#else
  (void)at;
  (void)bytes;
#endif
}

}  // namespace hone::runner
