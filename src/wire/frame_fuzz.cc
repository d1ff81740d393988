// Any bytes, in any pieces: the decoder must neither crash nor read more than it may, and every
// frame it gives must encode to something that decodes to the same frame.

#include <cstdint>
#include <cstdlib>

#include "wire/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hone::wire;
  if (size == 0) return 0;
  FrameDecoder decoder({.header_bytes = 4096, .payload_bytes = 4096, .fds = 0});
  const std::size_t step = 1 + data[0] % 61;
  for (std::size_t at = 1; at < size; at += step) {
    const std::size_t count = std::min(step, size - at);
    if (!decoder.feed({reinterpret_cast<const std::byte*>(data + at), count})) return 0;
    while (true) {
      auto frame = decoder.take();
      if (!frame) return 0;
      if (!frame->has_value()) break;
      const auto& body = (*frame)->bytes;
      FrameDecoder again;
      const auto text = encode_frame(
          (*frame)->header, {reinterpret_cast<const std::byte*>(body.data()), body.size()});
      if (!again.feed({reinterpret_cast<const std::byte*>(text.data()), text.size()})) std::abort();
      auto second = again.take();
      if (!second || !second->has_value() || (*second)->bytes != body ||
          (*second)->header != (*frame)->header || again.pending_bytes() != 0)
        std::abort();
    }
  }
  return 0;
}
