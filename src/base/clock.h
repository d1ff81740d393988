#pragma once
// Time is an edge: code that waits or measures takes a Clock, tests give it one that they turn by hand.

#include <cstdint>

namespace hone {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() = 0;  ///< monotonic, nanoseconds, arbitrary origin
};

/// CLOCK_MONOTONIC.
Clock& system_clock();
std::int64_t monotonic_ns();
/// Seconds since 1970, for records.
std::int64_t wall_clock_s();

}  // namespace hone
