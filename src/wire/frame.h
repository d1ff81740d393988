#pragma once
// Frames: how two processes of Hone talk over any byte stream. "HON1", u32 length of the header,
// u64 length of the payload (little endian), a JSON header, raw bytes. docs/frames/ shows golden
// ones.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace hone::wire {

constexpr std::size_t kFramePrefixBytes = 16;
constexpr std::int64_t kNoTimeout = -1;

struct Frame {
  Json header;                ///< always an object
  std::string bytes;          ///< the payload, raw
  std::vector<UniqueFd> fds;  ///< descriptors that came along (unix sockets only), close-on-exec
};

/// What a receiver puts up with; more is a broken frame.
struct FrameLimits {
  std::uint32_t header_bytes = 1U << 20;
  std::uint64_t payload_bytes = 64ULL << 20;
  std::size_t fds = 16;
};

/// The bytes of one frame; what send_frame puts on the stream.
std::string encode_frame(const Json& header, std::span<const std::byte> bytes = {});

/// Sends one frame, with descriptors where `fd` is a unix socket. Blocks at most `timeout_ns`
/// (is_timeout), never raises SIGPIPE on a socket. A closed peer is an error.
Status send_frame(int fd, const Json& header, std::span<const std::byte> bytes = {},
                  std::span<const int> fds = {}, std::int64_t timeout_ns = 10'000'000'000);

/// Waits for one whole frame. nullopt: the peer closed between frames. Errors: is_timeout,
/// is_broken_frame (wrong magic, over a limit, not JSON, cut off); after either, end the
/// connection.
Result<std::optional<Frame>> receive_frame(int fd, const FrameLimits& limits = {},
                                           std::int64_t timeout_ns = kNoTimeout);

/// The error says that time ran out (receive_frame, send_frame, JailedProcess::wait).
bool is_timeout(const Error& error);
/// The error says that the peer broke the protocol.
bool is_broken_frame(const Error& error);

/// Takes bytes in any pieces and gives whole frames, for streams without a descriptor.
class FrameDecoder {
 public:
  explicit FrameDecoder(FrameLimits limits = {}) : limits_(limits) {}
  /// An error (is_broken_frame) as soon as the bytes cannot become a frame; then every later call
  /// fails.
  Status feed(std::span<const std::byte> bytes);
  /// The oldest whole frame, if there is one; a header that is not a JSON object is an error.
  Result<std::optional<Frame>> take();
  /// Bytes held that are not yet a whole frame; not 0 at the end of a stream means it was cut off.
  std::size_t pending_bytes() const { return buffer_.size() - start_; }

 private:
  Status check_prefix();
  FrameLimits limits_;
  std::string buffer_;
  std::size_t start_ = 0;
  bool broken_ = false;
};

enum class FieldType { boolean, integer, number, string, array, object, any };

struct Field {
  std::string_view key;
  FieldType type = FieldType::any;
  bool required = true;
};

/// The keys a header may have. Keys are literals.
struct Schema {
  std::string_view name;
  std::vector<Field> fields;
};

/// Each required key is there, each key is known, each value has its type; an integer is a number,
/// a number written as "nan", "inf" or "-inf" too. The error names schema, key, found and expected.
Status check_schema(const Json& header, const Schema& schema);

}  // namespace hone::wire
