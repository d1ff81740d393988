#include "runner/cuda/gpu_reference.h"

#include <fmt/format.h>

#include <cstring>

namespace hone::runner {
namespace {

using device::cu::Pointer;

/// Device memory of the oracle alone, freed with it.
class Buffer {
 public:
  static Result<Buffer> make(const device::GpuContext& context, std::size_t bytes) {
    Buffer out;
    out.driver_ = &context.driver();
    HONE_CHECK(out.driver_->check(out.driver_->MemAlloc(&out.at_, std::max<std::size_t>(bytes, 256)),
                                  fmt::format("{} bytes for a reference on the GPU", bytes)));
    return out;
  }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~Buffer() {
    if (at_) driver_->MemFree(at_);
  }
  Pointer at() const { return at_; }

 private:
  Buffer() = default;
  const device::Driver* driver_ = nullptr;
  Pointer at_ = 0;
};

class GpuReference final : public Reference {
 public:
  GpuReference(const device::GpuContext& context, const task::Task& task, GpuProgram program, device::GpuModule module,
               std::size_t real_bytes)
      : context_(context), task_(task), program_(std::move(program)), module_(std::move(module)), real_bytes_(real_bytes) {}

  Result<std::vector<std::vector<std::byte>>> run(const task::Dims& dims, const InputSet& set,
                                                  std::size_t real_bytes) const override {
    const device::Driver& d = context_.driver();
    std::vector<Buffer> buffers;
    std::vector<GpuValue> values;
    HONE_CHECK(upload(set, buffers, values));
    std::vector<std::vector<std::byte>> out;
    const std::size_t first_output = buffers.size();
    for (const task::Tensor& tensor : task_.outputs) {
      const bool floating = task::is_floating(tensor.dtype);
      const std::size_t width = floating ? real_bytes : task::size_of(tensor.dtype);
      HONE_TRY(const std::int64_t elements, task::elements_of(tensor, dims));
      out.emplace_back(static_cast<std::size_t>(elements) * width + kReferenceSlack);
      HONE_TRY(Buffer buffer, Buffer::make(context_, out.back().size()));
      HONE_CHECK(d.check(d.MemsetD8Async(buffer.at(), floating ? 0xFF : 0xA5, out.back().size(), context_.stream()), "filling"));
      values.push_back({buffer.at(), 0, 0});
      buffers.push_back(std::move(buffer));
    }
    add_dims_and_scalars(dims, set, values);
    HONE_TRY(const auto launches, prepare_launches(module_, program_.plan, task_, dims, values, real_bytes_));
    for (const auto& ready : launches)
      if (!ready->empty) HONE_CHECK(ran(device::launch(context_, ready->kernel, ready->how, ready->parameters.data()), *ready));
    for (std::size_t o = 0; o < out.size(); ++o)
      HONE_CHECK(d.check(d.MemcpyDtoHAsync(out[o].data(), buffers[first_output + o].at(), out[o].size(), context_.stream()),
                         "reading a reference's output"));
    if (const auto code = context_.synchronize(); code != device::cu::kSuccess)
      return usage_error(fmt::format("the reference failed on the GPU: {}", d.explain(code)));
    return out;
  }

  Result<std::vector<double>> select(const task::Dims& dims, const InputSet& set, std::size_t output,
                                     std::span<const long long> indices) const override {
    constexpr std::uint32_t kThreads = 128;
    const device::Driver& d = context_.driver();
    std::vector<double> out(indices.size());
    if (indices.empty()) return out;
    if (output >= program_.plan.selects.size() || program_.plan.selects[output].kernel.empty())
      return bug_error("the reference build selects nothing for that output");
    const candidate::Launch& launch = program_.plan.selects[output];
    std::vector<Buffer> buffers;
    std::vector<GpuValue> values;
    HONE_CHECK(upload(set, buffers, values));
    for (std::size_t o = 0; o < task_.outputs.size(); ++o) values.emplace_back();
    add_dims_and_scalars(dims, set, values);
    HONE_TRY(const Buffer chosen, Buffer::make(context_, indices.size_bytes()));
    HONE_TRY(const Buffer found, Buffer::make(context_, out.size() * sizeof(double)));
    HONE_CHECK(d.check(d.MemcpyHtoDAsync(chosen.at(), indices.data(), indices.size_bytes(), context_.stream()), "copying indices"));
    HONE_TRY(const device::GpuKernel kernel, module_.kernel(launch.kernel));
    HONE_TRY(auto slots, pack_arguments(launch, values, program_.plan, task_, real_bytes_));
    for (const std::uint64_t last : {std::uint64_t{chosen.at()}, std::uint64_t{found.at()}, std::uint64_t{indices.size()}}) {
      slots.emplace_back();
      std::memcpy(slots.back().data(), &last, sizeof last);
    }
    std::vector<void*> parameters;
    for (auto& slot : slots) parameters.push_back(slot.data());
    device::GpuLaunch how;
    how.block[0] = kThreads;
    how.grid[0] = static_cast<std::uint32_t>((indices.size() + kThreads - 1) / kThreads);
    HONE_CHECK(d.check(device::launch(context_, kernel, how, parameters.data()), "asking for selected values"));
    HONE_CHECK(d.check(d.MemcpyDtoHAsync(out.data(), found.at(), out.size() * sizeof(double), context_.stream()), "reading values"));
    if (const auto code = context_.synchronize(); code != device::cu::kSuccess)
      return usage_error(fmt::format("the reference's selection failed on the GPU: {}", d.explain(code)));
    return out;
  }

 private:
  Status upload(const InputSet& set, std::vector<Buffer>& buffers, std::vector<GpuValue>& values) const {
    const device::Driver& d = context_.driver();
    for (const auto& input : set.inputs) {
      HONE_TRY(Buffer buffer, Buffer::make(context_, input.size()));
      HONE_CHECK(d.check(d.MemcpyHtoDAsync(buffer.at(), input.data(), input.size(), context_.stream()), "copying an input"));
      values.push_back({buffer.at(), 0, 0});
      buffers.push_back(std::move(buffer));
    }
    return {};
  }

  void add_dims_and_scalars(const task::Dims& dims, const InputSet& set, std::vector<GpuValue>& values) const {
    for (const auto& [name, value] : dims)
      if (task_.dims.contains(name)) values.push_back({0, value, 0});
    for (const double scalar : set.scalars) values.push_back({0, 0, scalar});
  }

  Status ran(device::cu::Code code, const ReadyLaunch& ready) const {
    if (code == device::cu::kSuccess) return {};
    return usage_error(fmt::format("the reference's kernel '{}' cannot be launched: {}", ready.kernel.name,
                                   context_.driver().explain(code)));
  }

  const device::GpuContext& context_;
  const task::Task& task_;
  GpuProgram program_;
  device::GpuModule module_;
  std::size_t real_bytes_;
};

}  // namespace

Result<std::unique_ptr<Reference>> load_gpu_reference(const device::GpuContext& context, const task::Task& task,
                                                      GpuProgram program, std::size_t real_bytes) {
  HONE_TRY(device::GpuModule module, device::GpuModule::load(context, program.cubin));
  return std::unique_ptr<Reference>(
      std::make_unique<GpuReference>(context, task, std::move(program), std::move(module), real_bytes));
}

}  // namespace hone::runner
