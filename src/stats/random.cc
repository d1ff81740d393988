#include "stats/random.h"

#include <bit>

#include "stats/distributions.h"

namespace hone::stats {

Random::Random(std::uint64_t seed) : state_{} {
  // SplitMix64 (Steele, Lea & Flood 2014): neighbouring seeds give unrelated states, never all zero.
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  auto& s = state_;
  const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::uint64_t Random::below(std::uint64_t n) {
  const std::uint64_t unbiased = -n % n;  // 2^64 mod n: draws below it would favour small results
  for (;;) {
    const std::uint64_t draw = next();
    if (draw >= unbiased) return draw % n;
  }
}

double Random::normal() {
  // Half a step up keeps the argument off 0.
  return normal_quantile(uniform() + 0x1p-54);
}

}  // namespace hone::stats
