#pragma once
// What a coordinator and the helper of a jail say to each other: frames with these headers on a
// socket pair, and one ExitRecord a process on a pipe of its own, so that nobody has to sort
// answers.

#include <cstdint>

#include "wire/frame.h"

namespace hone::wire {

/// Written once by the helper when it has reaped the process; the pipe then closes.
struct ExitRecord {
  std::int32_t code, signal;
  std::uint64_t max_rss_bytes;
  std::int64_t cpu_ns;
  std::uint64_t out_of_memory;
};

constexpr FrameLimits kJailFrames{.header_bytes = 1U << 20, .payload_bytes = 0, .fds = 60};
constexpr std::int64_t kJailAnswer_ns = 10'000'000'000;

/// Descriptors that come along: the pipe for the ExitRecord, the output if `has_output`, those to
/// pass on.
inline const Schema& spawn_request_schema() {
  static const Schema schema{"spawn request",
                             {{"argv", FieldType::array},
                              {"env", FieldType::array},
                              {"limits", FieldType::array},
                              {"memory_bytes", FieldType::integer},
                              {"cpus", FieldType::array},
                              {"filter", FieldType::string},
                              {"has_output", FieldType::boolean}}};
  return schema;
}

/// A pidfd comes along when there is no error.
inline const Schema& spawn_answer_schema() {
  static const Schema schema{"spawn answer", {{"error", FieldType::string, false}}};
  return schema;
}

}  // namespace hone::wire
