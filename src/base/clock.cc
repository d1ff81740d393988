#include "base/clock.h"

#include <ctime>

namespace hone {

std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::int64_t wall_clock_s() { return std::int64_t{::time(nullptr)}; }

Clock& system_clock() {
  struct System final : Clock {
    std::int64_t now_ns() override { return monotonic_ns(); }
  };
  static System clock;
  return clock;
}

}  // namespace hone
