#include "base/hash.h"

#include <sys/random.h>

#include <cstdlib>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hone {
namespace {

std::string hex(const unsigned char* bytes, std::size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

}  // namespace

std::string identity_hash(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return hex(canonical.digest, sizeof canonical.digest);
}

std::uint64_t fingerprint(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t entropy64() {
  std::uint64_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) std::abort();  // cannot fail for 8 bytes
  return value;
}

}  // namespace hone
