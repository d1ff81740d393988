#include "runner/runner_main.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "runner/codec.h"
#include "runner/layout.h"
#include "runner/shared_object.h"
#include "wire/arena.h"
#include "wire/frame.h"
#include "wire/sandbox.h"

// Everything after load() shares its process with candidate code. So nothing here is trusted: what this side says
// is a claim, and the coordinator treats an answer out of turn as the candidate's failure.

namespace hone::runner {
namespace {

constexpr int kSocket = 3;

struct ScratchBuffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool zero = false;
};

/// Everything a call needs, laid out before the clock starts.
struct Bound {
  std::vector<wire::Mapping> mappings;
  std::vector<ScratchBuffer> scratch;
  std::vector<std::int64_t> dims;
  std::vector<std::array<std::byte, 16>> scalars;
  std::vector<int> threads;
  std::vector<void*> arguments;     // of set 0
  std::vector<std::uint64_t> stride;  // of each argument, bytes a set
  std::int64_t sets = 1;
};

/// Scratch between guards, so that an overrun faults.
Result<ScratchBuffer> make_scratch(std::size_t bytes, bool zero) {
  const std::size_t pages = (bytes + kPage - 1) / kPage * kPage + (bytes == 0 ? kPage : 0);
  void* base = ::mmap(nullptr, pages + 2 * wire::kGuardBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return system_error("scratch memory", errno);
  auto* at = static_cast<std::byte*>(base) + wire::kGuardBytes;
  if (::mprotect(at, pages, PROT_READ | PROT_WRITE) != 0) return system_error("scratch memory", errno);
  std::memset(at, 0xA5, pages);  // touched now, and not zero by luck
  // As near to the upper guard as 64-byte alignment allows.
  return ScratchBuffer{at + pages - (bytes + 63) / 64 * 64, bytes, zero};
}

Result<std::byte*> map_place(Bound& bound, int fd, const Layout& layout, const Place& place, bool writable,
                             std::uint64_t arena_bytes, std::uint64_t wanted_at) {
  if (!layout.guarded) {
    // One mapping for the whole arena, made by the first place of it.
    const std::size_t which = writable ? 1 : 0;
    while (bound.mappings.size() < 2) {
      HONE_TRY(wire::Mapping whole, wire::map_guarded(fd, 0, 0, writable));
      bound.mappings.push_back(std::move(whole));
    }
    if (bound.mappings[which].bytes().empty()) {
      HONE_TRY(bound.mappings[which], wire::map_guarded(fd, 0, arena_bytes, writable, wanted_at));
    }
    return bound.mappings[which].bytes().data() + place.data;
  }
  HONE_TRY(wire::Mapping mapping, wire::map_guarded(fd, place.region, place.region_bytes, writable));
  std::byte* at = mapping.bytes().data() + (place.data - place.region);
  bound.mappings.push_back(std::move(mapping));
  return at;
}

Result<Bound> bind(const wire::Frame& frame) {
  const Json& h = frame.header;
  if (frame.fds.size() != 2) return usage_error("bind: two descriptors expected");
  Bound bound;
  HONE_TRY(const Layout layout, layout_from_json(h.value("layout", Json())));
  bound.sets = layout.sets;
  // Both sides of a pair are given the same address: where tensors lie moves a time by some percent.
  const std::uint64_t inputs_at = h.value("at", std::uint64_t{0});
  const std::uint64_t outputs_at = inputs_at == 0 ? 0 : inputs_at + input_arena_bytes(layout) + 4 * wire::kGuardBytes;
  std::vector<std::byte*> outputs;
  for (const Place& place : layout.outputs) {
    HONE_TRY(std::byte* const at, map_place(bound, frame.fds[1].get(), layout, place, true, output_arena_bytes(layout), outputs_at));
    outputs.push_back(at);
  }
  std::size_t i = 0;
  for (const Json& alias : h.value("inputs", Json::array())) {  // -1, or the output whose buffer it is
    if (i >= layout.inputs.size() || !alias.is_number_integer()) return usage_error("bind: inputs");
    const auto output = alias.get<std::int64_t>();
    if (output >= 0 && static_cast<std::size_t>(output) < outputs.size()) {
      bound.arguments.push_back(outputs[static_cast<std::size_t>(output)]);
      bound.stride.push_back(layout.output_stride);
    } else {
      HONE_TRY(std::byte* const at,
               map_place(bound, frame.fds[0].get(), layout, layout.inputs[i], false, input_arena_bytes(layout), inputs_at));
      bound.arguments.push_back(at);
      bound.stride.push_back(layout.input_stride);
    }
    ++i;
  }
  for (std::byte* at : outputs) {
    bound.arguments.push_back(at);
    bound.stride.push_back(layout.output_stride);
  }
  for (const Json& s : h.value("scratch", Json::array())) {
    HONE_TRY(const ScratchBuffer buffer, make_scratch(s.value("bytes", std::size_t{0}), s.value("zero", false)));
    bound.scratch.push_back(buffer);
    bound.arguments.push_back(buffer.data);
    bound.stride.push_back(0);
  }
  for (const Json& d : h.value("dims", Json::array())) bound.dims.push_back(d.get<std::int64_t>());
  for (std::int64_t& d : bound.dims) bound.arguments.push_back(&d);
  const std::string& bytes = frame.bytes;  // 16 bytes a scalar
  bound.scalars.resize(bytes.size() / 16);
  for (std::size_t k = 0; k < bound.scalars.size(); ++k) {
    std::memcpy(bound.scalars[k].data(), bytes.data() + 16 * k, 16);
    bound.arguments.push_back(bound.scalars[k].data());
  }
  bound.stride.resize(bound.arguments.size(), 0);
  for (const Json& t : h.value("threads", Json::array())) bound.threads.push_back(t.get<int>());
  bound.threads.push_back(1);
  return bound;
}

__attribute__((noinline)) void call_sets(const SharedObject& object, const Bound& bound, std::int64_t calls) {
  std::vector<void*> arguments = bound.arguments;
  for (std::int64_t call = 0; call < calls; ++call) {
    for (std::size_t a = 0; a < arguments.size(); ++a)
      arguments[a] = static_cast<std::byte*>(bound.arguments[a]) +
                     bound.stride[a] * static_cast<std::uint64_t>(call % bound.sets);
    for (const ScratchBuffer& s : bound.scratch)
      if (s.zero) std::memset(s.data, 0, s.bytes);
    object.entry()(arguments.data(), bound.threads.data());
  }
}

/// The stack starts at a random multiple of 16: a kernel's arrays on it would cross cache lines in one process and not in
/// the next, which shifts times by several percent from process to process. From here its low twelve bits are fixed.
__attribute__((noinline)) void call_on_aligned_stack(const SharedObject& object, const Bound& bound, std::int64_t calls) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  auto* pad = static_cast<volatile char*>(__builtin_alloca((here & (kPage - 1)) + 16));
  pad[0] = 0;
  call_sets(object, bound, calls);
}

bool send(const Json& header) { return wire::send_frame(kSocket, header).ok(); }

bool send_error(const Error& error) {
  return send({{"op", "error"}, {"message", error.message}, {"environment", error.code == ErrorCode::environment}});
}

}  // namespace

int runner_main(int, char**) {
  std::optional<SharedObject> object;
  std::optional<Bound> bound;
  UniqueFd object_fd;
  for (;;) {
    auto received = wire::receive_frame(kSocket);
    if (!received.ok()) return 4;
    if (!received->has_value()) return 0;
    wire::Frame frame = std::move(**received);
    const std::string op = frame.header.value("op", "");
    if (op == "go" && bound) {
      const std::int64_t calls = frame.header.value("calls", std::int64_t{0});
      const std::int64_t start = monotonic_ns();
      call_on_aligned_stack(*object, *bound, calls);
      if (!send({{"op", "done"}, {"ns", monotonic_ns() - start}})) return 4;
    } else if (op == "load" && frame.fds.size() == 1) {
      object_fd = std::move(frame.fds[0]);
      if (const Status locked = wire::lock_down(wire::Profile::kernel, frame.bytes); !locked.ok()) {
        send_error(locked.error());
        return 3;
      }
      auto loaded = SharedObject::load_fd(object_fd.get());
      if (!loaded.ok()) {
        send_error(loaded.error());
        return 1;
      }
      object = std::move(loaded).value();
      if (!send({{"op", "loaded"}})) return 4;
    } else if (op == "bind" && object) {
      bound.reset();
      auto made = bind(frame);
      if (!made.ok()) {
        send_error(made.error());
        return 3;
      }
      bound.emplace(std::move(made).value());
      if (!send({{"op", "bound"}})) return 4;
    } else {
      send_error(bug_error("the runner does not expect '" + op + "' now"));
      return 4;
    }
  }
}

}  // namespace hone::runner
