#include "wire/frame.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"

namespace hone::wire {
namespace {

constexpr std::array<char, 4> kMagic = {'H', 'O', 'N', '1'};
constexpr std::size_t kMostFds = 64;

Error timeout_error(std::string what) {
  return environment_error(std::move(what)).with("reason", "timeout");
}
Error broken_error(std::string what) {
  return environment_error("broken frame: " + what).with("reason", "broken_frame");
}
bool has_reason(const Error& error, std::string_view reason) {
  return std::any_of(error.details.begin(), error.details.end(), [&](const auto& detail) {
    return detail.first == "reason" && detail.second == reason;
  });
}

void put_le(char* out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>((value >> (8 * i)) & 0xff);
}
std::uint64_t get_le(const char* in, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[i])) << (8 * i);
  return value;
}

struct Lengths {
  std::uint32_t header;
  std::uint64_t payload;
};

Result<Lengths> read_prefix(const char* prefix, const FrameLimits& limits) {
  if (std::memcmp(prefix, kMagic.data(), kMagic.size()) != 0)
    return broken_error("it does not start with HON1");
  const Lengths lengths{static_cast<std::uint32_t>(get_le(prefix + 4, 4)), get_le(prefix + 8, 8)};
  if (lengths.header > limits.header_bytes)
    return broken_error(fmt::format("header of {} bytes, at most {} are allowed", lengths.header,
                                    limits.header_bytes));
  if (lengths.payload > limits.payload_bytes)
    return broken_error(fmt::format("payload of {} bytes, at most {} are allowed", lengths.payload,
                                    limits.payload_bytes));
  return lengths;
}

Result<Json> read_header(std::string_view text) {
  auto header = parse_json(text, "header");
  if (!header) return broken_error(header.error().message);
  if (!header->is_object()) return broken_error("the header is not a JSON object");
  return std::move(header).value();
}

std::string encode_head(const Json& header, std::size_t payload) {
  // Text from outside may get into a header: invalid UTF-8 is replaced, not thrown over.
  const std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string head(kFramePrefixBytes, '\0');
  std::copy(kMagic.begin(), kMagic.end(), head.begin());
  put_le(head.data() + 4, text.size(), 4);
  put_le(head.data() + 8, payload, 8);
  return head + text;
}

/// Time that is left, for poll(): rounded up, so that a short rest does not become a busy loop.
class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ns)
      : end_ns_(timeout_ns < 0 ? -1 : monotonic_ns() + timeout_ns) {}
  int rest_ms() const {
    if (end_ns_ < 0) return -1;
    const std::int64_t rest = end_ns_ - monotonic_ns();
    return rest <= 0
               ? 0
               : static_cast<int>(std::min<std::int64_t>((rest + 999'999) / 1'000'000, 1 << 30));
  }

 private:
  std::int64_t end_ns_;
};

/// True when ready, false at the deadline.
Result<bool> wait_for(int fd, short events, const Deadline& deadline) {
  while (true) {
    pollfd item{fd, events, 0};
    const int ready = ::poll(&item, 1, deadline.rest_ms());
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return system_error("waiting on a frame stream failed", errno);
  }
}

enum class Got { all, end, cut };

/// One recvmsg that also takes descriptors; on a pipe, a read.
ssize_t receive_some(int fd, char* out, std::size_t bytes, std::size_t most_fds,
                     std::vector<UniqueFd>* fds, bool* too_many) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  iovec piece{out, bytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (fds != nullptr) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(std::min(most_fds, kMostFds) * sizeof(int));
  }
  const ssize_t got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0) return errno == ENOTSOCK ? ::read(fd, out, bytes) : got;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); fds != nullptr && part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      fds->emplace_back(received);
    }
  }
  if (fds != nullptr) *too_many = (message.msg_flags & MSG_CTRUNC) != 0 || fds->size() > most_fds;
  return got;
}

Result<Got> receive_exactly(int fd, char* out, std::size_t bytes, const Deadline& deadline,
                            std::size_t most_fds = 0, std::vector<UniqueFd>* fds = nullptr) {
  std::size_t done = 0;
  while (done < bytes) {
    HONE_TRY(const bool ready, wait_for(fd, POLLIN, deadline));
    if (!ready) return timeout_error("no whole frame came in time");
    bool too_many = false;
    const ssize_t got = receive_some(fd, out + done, bytes - done, most_fds, fds, &too_many);
    if (too_many) return broken_error(fmt::format("more than {} descriptors came along", most_fds));
    if (got > 0)
      done += static_cast<std::size_t>(got);
    else if (got == 0 || errno == ECONNRESET)
      return done == 0 ? Got::end : Got::cut;
    else if (errno != EINTR && errno != EAGAIN)
      return system_error("reading a frame failed", errno);
  }
  return Got::all;
}

/// Large blocks are read in steps, so that a lying length costs no memory before the bytes are
/// there.
Status receive_block(int fd, std::string* out, std::uint64_t bytes, const Deadline& deadline) {
  constexpr std::uint64_t kStep = 4ULL << 20;
  while (out->size() < bytes) {
    const std::size_t old = out->size();
    out->resize(old + static_cast<std::size_t>(std::min<std::uint64_t>(kStep, bytes - old)));
    HONE_TRY(const Got got, receive_exactly(fd, out->data() + old, out->size() - old, deadline));
    if (got != Got::all) return broken_error("the stream ended inside it");
  }
  return {};
}

}  // namespace

bool is_timeout(const Error& error) { return has_reason(error, "timeout"); }
bool is_broken_frame(const Error& error) { return has_reason(error, "broken_frame"); }

std::string encode_frame(const Json& header, std::span<const std::byte> bytes) {
  std::string frame = encode_head(header, bytes.size());
  frame.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return frame;
}

Status send_frame(int fd, const Json& header, std::span<const std::byte> bytes,
                  std::span<const int> fds, std::int64_t timeout_ns) {
  if (fds.size() > kMostFds) return bug_error("too many descriptors for one frame");
  const std::string head = encode_head(header, bytes.size());
  const std::size_t total = head.size() + bytes.size();
  const Deadline deadline(timeout_ns);
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))] = {};
  bool is_socket = true;
  for (std::size_t done = 0; done < total;) {
    iovec pieces[2];
    std::size_t count = 0;
    if (done < head.size())
      pieces[count++] = {const_cast<char*>(head.data()) + done, head.size() - done};
    const std::size_t skip = done < head.size() ? 0 : done - head.size();
    if (skip < bytes.size())
      pieces[count++] = {const_cast<std::byte*>(bytes.data()) + skip, bytes.size() - skip};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    if (done == 0 && !fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
    }
    ssize_t sent = -1;
    if (is_socket) {
      sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == ENOTSOCK) {
        if (!fds.empty()) return bug_error("descriptors can only be sent over a unix socket");
        is_socket = false;
        continue;
      }
    } else {
      HONE_TRY(const bool ready, wait_for(fd, POLLOUT, deadline));
      if (!ready) return timeout_error("the peer did not take a frame in time");
      sent = ::writev(fd, pieces, static_cast<int>(count));
    }
    if (sent >= 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      HONE_TRY(const bool ready, wait_for(fd, POLLOUT, deadline));
      if (!ready) return timeout_error("the peer did not take a frame in time");
    } else if (errno != EINTR) {
      return system_error("sending a frame failed", errno, "The other process may have ended.");
    }
  }
  return {};
}

Result<std::optional<Frame>> receive_frame(int fd, const FrameLimits& limits,
                                           std::int64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  Frame frame;
  char prefix[kFramePrefixBytes];
  HONE_TRY(const Got got,
           receive_exactly(fd, prefix, sizeof prefix, deadline, limits.fds, &frame.fds));
  if (got == Got::end) return std::optional<Frame>();
  if (got == Got::cut) return broken_error("the stream ended inside it");
  HONE_TRY(const Lengths lengths, read_prefix(prefix, limits));
  std::string text;
  HONE_CHECK(receive_block(fd, &text, lengths.header, deadline));
  HONE_TRY(frame.header, read_header(text));
  HONE_CHECK(receive_block(fd, &frame.bytes, lengths.payload, deadline));
  return std::optional<Frame>(std::move(frame));
}

Status FrameDecoder::check_prefix() {
  if (pending_bytes() < kFramePrefixBytes) {
    const std::size_t seen = std::min(pending_bytes(), kMagic.size());
    if (std::memcmp(buffer_.data() + start_, kMagic.data(), seen) == 0) return {};
    broken_ = true;
    return broken_error("it does not start with HON1");
  }
  auto lengths = read_prefix(buffer_.data() + start_, limits_);
  if (lengths) return {};
  broken_ = true;
  return std::move(lengths).error();
}

Status FrameDecoder::feed(std::span<const std::byte> bytes) {
  if (broken_) return broken_error("an earlier frame on this stream was broken");
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return check_prefix();
}

Result<std::optional<Frame>> FrameDecoder::take() {
  if (broken_) return broken_error("an earlier frame on this stream was broken");
  HONE_CHECK(check_prefix());
  if (pending_bytes() < kFramePrefixBytes) return std::optional<Frame>();
  HONE_TRY(const Lengths lengths, read_prefix(buffer_.data() + start_, limits_));
  const std::uint64_t whole = kFramePrefixBytes + lengths.header + lengths.payload;
  if (pending_bytes() < whole) return std::optional<Frame>();
  const std::string_view rest = std::string_view(buffer_).substr(start_ + kFramePrefixBytes);
  Frame frame;
  auto header = read_header(rest.substr(0, lengths.header));
  if (!header) {
    broken_ = true;
    return std::move(header).error();
  }
  frame.header = std::move(header).value();
  frame.bytes = std::string(rest.substr(lengths.header, static_cast<std::size_t>(lengths.payload)));
  start_ += static_cast<std::size_t>(whole);
  // Moving the rest down only when half is used keeps the cost linear in what was fed.
  if (start_ * 2 >= buffer_.size()) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

namespace {

const char* name_of_type(FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return "boolean";
    case FieldType::integer:
      return "integer";
    case FieldType::number:
      return "number";
    case FieldType::string:
      return "string";
    case FieldType::array:
      return "array";
    case FieldType::object:
      return "object";
    case FieldType::any:
      return "any";
  }
  return "?";
}

bool is_of_type(const Json& value, FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return value.is_boolean();
    case FieldType::integer:
      return value.is_number_integer();
    case FieldType::number:
      return value.is_number() ||
             (value.is_string() && (value == "nan" || value == "inf" || value == "-inf"));
    case FieldType::string:
      return value.is_string();
    case FieldType::array:
      return value.is_array();
    case FieldType::object:
      return value.is_object();
    case FieldType::any:
      return true;
  }
  return false;
}

}  // namespace

Status check_schema(const Json& header, const Schema& schema) {
  if (!header.is_object()) return broken_error(fmt::format("{}: not a JSON object", schema.name));
  for (const Field& field : schema.fields) {
    const auto found = header.find(std::string(field.key));
    if (found == header.end()) {
      if (!field.required) continue;
      return broken_error(fmt::format("{}: key '{}' is missing", schema.name, field.key));
    }
    if (!is_of_type(*found, field.type))
      return broken_error(fmt::format("{}: key '{}' is of type {}, expected {}", schema.name,
                                      field.key, found->type_name(), name_of_type(field.type)));
  }
  for (const auto& [key, value] : header.items()) {
    const bool known = std::any_of(schema.fields.begin(), schema.fields.end(),
                                   [&k = key](const Field& field) { return field.key == k; });
    if (!known)
      return broken_error(fmt::format("{}: unknown key '{}'", schema.name, scrub(key, 64)));
  }
  return {};
}

}  // namespace hone::wire
