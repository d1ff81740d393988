#pragma once
// Reproducible random numbers for resampling, search and simulation: the same on every machine and
// standard library (std::normal_distribution and its like are not). Never for secrets or test data.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hone::stats {

/// xoshiro256++ of Blackman & Vigna (2019), seeded through SplitMix64. The state may be saved and restored.
class Random {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Random(std::uint64_t seed = 1);
  explicit Random(const State& state) : state_(state) {}

  std::uint64_t next();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in 0 … n − 1 without bias; n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Standard normal by inversion: one draw a number, so the state alone says where a sequence stands.
  double normal();

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  const State& state() const { return state_; }

 private:
  State state_;
};

}  // namespace hone::stats
