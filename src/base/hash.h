#pragma once
// Two hashes: xxh3 for identity (fast), SHA-256 where an adversary might look for a collision.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hone {

/// XXH3 of 128 bits as 32 lower-case hex digits. Identity of sources, objects, plans.
std::string identity_hash(std::string_view bytes);
/// XXH3 of 64 bits: fingerprints of tensors within one process.
std::uint64_t fingerprint(std::span<const std::byte> bytes, std::uint64_t seed = 0);
/// SHA-256 as 64 hex digits: evidence manifests.
std::string sha256(std::string_view bytes);
/// 64 bits from the system's entropy (getrandom).
std::uint64_t entropy64();

}  // namespace hone
