#include "runner/cuda/gpu_runner_main.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <optional>

#include "base/clock.h"
#include "runner/codec.h"
#include "runner/cuda/launch_plan.h"
#include "runner/layout.h"
#include "runner/truth.h"
#include "task/task_file.h"
#include "wire/frame.h"

namespace hone::runner {
namespace {

constexpr int kSocket = 3;
const wire::FrameLimits kLimits{.header_bytes = 4U << 20, .payload_bytes = 1ULL << 30, .fds = 128};

struct Tensor {
  device::GpuMemory memory;
  device::GpuMapping mapping;
};

/// What a call needs, laid out before it.
struct Bound {
  std::vector<Tensor> tensors;
  struct Scratch {
    Tensor tensor;
    std::uint64_t bytes = 0, offset = 0;
    bool zero = false;
  };
  std::vector<Scratch> scratch;
  std::vector<std::unique_ptr<ReadyLaunch>> launches;
};

bool send(const Json& header) { return wire::send_frame(kSocket, header).ok(); }
bool send_error(const Error& error) {
  Json header = to_json(error);
  header["op"] = "error";
  return send(header);
}

class GpuRunner {
 public:
  Status open(const wire::Frame& frame) {
    const Json& h = frame.header;
    HONE_TRY(const std::string text, get_string(h, "task", "runner start"));
    HONE_TRY(const std::string file, get_string(h, "file", "runner start"));
    HONE_TRY(task_, task::parse_task(text, file, false));
    HONE_TRY(const std::int64_t gpu, get_int(h, "gpu", "runner start"));
    HONE_TRY(context_, device::GpuContext::open(static_cast<int>(gpu)));
    return {};
  }

  Status load(const wire::Frame& frame) {
    bound_.reset();
    HONE_TRY(plan_, plan_from_json(frame.header.value("plan", Json())));
    HONE_TRY(const std::int64_t real, get_int(frame.header, "real_bytes", "runner load"));
    real_bytes_ = static_cast<std::size_t>(real);
    HONE_TRY(module_, device::GpuModule::load(*context_, frame.bytes));
    return {};
  }

  Status bind(wire::Frame frame) {
    bound_.reset();
    Bound bound;
    HONE_TRY(const Layout layout, layout_from_json(frame.header.value("layout", Json())));
    HONE_TRY(const task::Dims dims, dims_from_json(frame.header.value("dims", Json())));
    if (frame.fds.size() != layout.inputs.size() + layout.outputs.size())
      return usage_error("bind: a descriptor a tensor expected");
    std::vector<GpuValue> values;
    HONE_TRY(const std::vector<GpuValue> outputs, map_outputs(frame, layout, bound));
    const Json aliases = frame.header.value("inputs", Json::array());
    for (std::size_t i = 0; i < layout.inputs.size(); ++i) {
      const bool is_output = i < aliases.size() && aliases[i].is_number_integer() && aliases[i].get<std::int64_t>() >= 0;
      if (is_output) {
        values.push_back(outputs.at(aliases[i].get<std::size_t>()));
        continue;
      }
      HONE_TRY(const GpuValue value, map_tensor(frame.fds[i].get(), layout.inputs[i], false, bound));
      values.push_back(value);
    }
    values.insert(values.end(), outputs.begin(), outputs.end());
    for (const candidate::Scratch& s : plan_.scratch) {
      HONE_TRY(const GpuValue value, make_scratch(s, dims, bound));
      values.push_back(value);
    }
    for (const auto& [name, value] : dims)
      if (task_.dims.contains(name)) values.push_back({0, value, 0});
    for (const Json& s : frame.header.value("scalars", Json::array())) values.push_back({0, 0, as_double(s)});
    HONE_TRY(bound.launches, prepare_launches(*module_, plan_, task_, dims, values, real_bytes_));
    bound_.emplace(std::move(bound));
    return {};
  }

  /// Runs `calls` calls one after the other. Empty when they ended well; else the header of a fault.
  std::optional<Json> run(std::int64_t calls) {
    const device::Driver& d = context_->driver();
    for (std::int64_t call = 0; call < calls; ++call) {
      for (const Bound::Scratch& s : bound_->scratch)
        if (s.zero) d.MemsetD8Async(s.tensor.mapping.begin() + s.offset, 0, s.bytes, context_->stream());
      for (const auto& ready : bound_->launches) {
        if (ready->empty) continue;
        if (const auto code = device::launch(*context_, ready->kernel, ready->how, ready->parameters.data());
            code != device::cu::kSuccess)
          return fault(code, "launch", ready->kernel.name);
      }
    }
    if (const auto code = context_->synchronize(); code != device::cu::kSuccess) return fault(code, "run", "");
    return std::nullopt;
  }

  bool is_loaded() const { return module_.has_value(); }
  bool is_bound() const { return bound_.has_value(); }

 private:
  Json fault(device::cu::Code code, const char* when, const std::string& kernel) const {
    return {{"op", "fault"},
            {"when", when},
            {"fault", device::fault_of(code)},
            {"kernel", kernel},
            {"text", context_->driver().explain(code)}};
  }

  Result<GpuValue> map_tensor(int fd, const Place& place, bool writable, Bound& bound) {
    Tensor tensor;
    HONE_TRY(tensor.memory, device::GpuMemory::import(*context_, fd, place.region_bytes));
    HONE_TRY(tensor.mapping, device::GpuMapping::map(*context_, tensor.memory, writable));
    const GpuValue value{tensor.mapping.begin() + (place.data - place.region), 0, 0};
    bound.tensors.push_back(std::move(tensor));
    return value;
  }

  Result<std::vector<GpuValue>> map_outputs(const wire::Frame& frame, const Layout& layout, Bound& bound) {
    std::vector<GpuValue> out;
    for (std::size_t o = 0; o < layout.outputs.size(); ++o) {
      HONE_TRY(const GpuValue value, map_tensor(frame.fds[layout.inputs.size() + o].get(), layout.outputs[o], true, bound));
      out.push_back(value);
    }
    return out;
  }

  /// Between gaps, ending as near to the upper one as 256-byte alignment allows; not zero by luck.
  Result<GpuValue> make_scratch(const candidate::Scratch& scratch, const task::Dims& dims, Bound& bound) {
    HONE_TRY(const std::int64_t bytes, candidate::scratch_bytes(scratch, plan_, dims));
    Bound::Scratch out;
    out.bytes = static_cast<std::uint64_t>(bytes);
    out.zero = scratch.zero;
    HONE_TRY(out.tensor.memory, device::GpuMemory::create(*context_, out.bytes));
    HONE_TRY(out.tensor.mapping, device::GpuMapping::map(*context_, out.tensor.memory, true));
    out.offset = out.tensor.mapping.bytes() - (out.bytes + 255) / 256 * 256;
    context_->driver().MemsetD8Async(out.tensor.mapping.begin(), 0xA5, out.tensor.mapping.bytes(), context_->stream());
    const GpuValue value{out.tensor.mapping.begin() + out.offset, 0, 0};
    bound.scratch.push_back(std::move(out));
    return value;
  }

  task::Task task_;
  std::optional<device::GpuContext> context_;
  candidate::Resolved plan_;
  std::size_t real_bytes_ = 4;
  std::optional<device::GpuModule> module_;
  std::optional<Bound> bound_;
};

}  // namespace

int gpu_runner_main(int, char**) {
  // The driver names its threads through /proc/self, which is root's while a process may not be looked into. No code of
  // a candidate's runs here, and the jail's user is nobody else's.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  GpuRunner runner;
  for (;;) {
    auto received = wire::receive_frame(kSocket, kLimits);
    if (!received.ok()) return 4;
    if (!received->has_value()) ::_exit(0);  // a context with a dead stream may not end by itself
    wire::Frame frame = std::move(**received);
    const std::string op = frame.header.value("op", "");
    Status done = bug_error("the runner does not expect '" + op + "' now");
    std::string answer;
    if (op == "start") {
      done = runner.open(frame);
      answer = "started";
    } else if (op == "load") {
      done = runner.load(frame);
      answer = "loaded";
    } else if (op == "bind" && runner.is_loaded()) {
      done = runner.bind(std::move(frame));
      answer = "bound";
    } else if (op == "go" && runner.is_bound()) {
      const std::int64_t start = monotonic_ns();
      if (const auto fault = runner.run(frame.header.value("calls", std::int64_t{0}))) {
        send(*fault);
        ::_exit(1);  // the context is dead: a new process takes over
      }
      if (!send({{"op", "done"}, {"ns", monotonic_ns() - start}})) return 4;
      continue;
    }
    if (!done.ok()) {
      if (!send_error(done.error())) return 4;
      continue;
    }
    if (!send({{"op", answer}})) return 4;
  }
}

}  // namespace hone::runner
