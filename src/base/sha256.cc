// In a file of its own: programs that need no SHA-256 then load no libcrypto, which takes a millisecond to start.

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

#include "base/hash.h"

namespace hone {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace hone
