#include "device/cuda/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hone::device {
namespace {

cu::MemProperties properties(cu::Device device) {
  cu::MemProperties p{};
  p.type = cu::kPinned;
  p.handle_types = cu::kPosixFd;
  p.location = {cu::kLocationDevice, device};
  return p;
}

}  // namespace

Result<GpuContext> GpuContext::open(int gpu) {
  GpuContext out;
  HONE_TRY(out.driver_, Driver::get());
  HONE_TRY(out.facts_, gpu_facts(gpu));
  const Driver& d = *out.driver_;
  if (!out.facts_.virtual_memory || !out.facts_.posix_handles)
    return environment_error(fmt::format("{} cannot share mapped memory between processes", out.facts_.name),
                             "The cuda lane needs virtual memory management: Volta or later, and Linux.");
  HONE_CHECK(d.check(d.DeviceGet(&out.device_, gpu), "opening the GPU"));
  HONE_CHECK(d.check(d.DevicePrimaryCtxRetain(&out.context_, out.device_), "making a context"));
  HONE_CHECK(d.check(d.CtxSetCurrent(out.context_), "using the context"));
  constexpr unsigned kNonBlocking = 1;
  HONE_CHECK(d.check(d.StreamCreate(&out.stream_, kNonBlocking), "making a stream"));
  const cu::MemProperties p = properties(out.device_);
  std::size_t granularity = 0;
  HONE_CHECK(d.check(d.MemGetAllocationGranularity(&granularity, &p, 0), "asking for the granularity of memory"));
  out.granularity_ = granularity;
  return out;
}

GpuContext::GpuContext(GpuContext&& other) noexcept { *this = std::move(other); }
GpuContext& GpuContext::operator=(GpuContext&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(facts_, other.facts_);
  std::swap(device_, other.device_);
  std::swap(context_, other.context_);
  std::swap(stream_, other.stream_);
  std::swap(granularity_, other.granularity_);
  return *this;
}
GpuContext::~GpuContext() {
  if (!context_) return;
  if (stream_) driver_->StreamDestroy(stream_);
  driver_->DevicePrimaryCtxRelease(device_);
}
Status GpuContext::use() const { return driver_->check(driver_->CtxSetCurrent(context_), "using the context"); }

Result<GpuMemory> GpuMemory::create(const GpuContext& context, std::uint64_t bytes) {
  GpuMemory out;
  out.driver_ = &context.driver();
  out.bytes_ = context.rounded(std::max<std::uint64_t>(bytes, 1));
  const cu::MemProperties p = properties(context.facts().index);
  const cu::Code code = context.driver().MemCreate(&out.handle_, out.bytes_, &p, 0);
  if (code == cu::kSuccess) return out;
  std::size_t free = 0, total = 0;
  context.driver().MemGetInfo(&free, &total);
  return environment_error(fmt::format("{} of GPU memory could not be had ({} of {} are free): {}",
                                       format_bytes(static_cast<double>(out.bytes_)), format_bytes(static_cast<double>(free)),
                                       format_bytes(static_cast<double>(total)), context.driver().explain(code)),
                           "Use smaller cases, or end other programs that use this GPU.");
}

Result<GpuMemory> GpuMemory::import(const GpuContext& context, int fd, std::uint64_t bytes) {
  GpuMemory out;
  out.driver_ = &context.driver();
  out.bytes_ = bytes;
  void* handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  HONE_CHECK(context.driver().check(context.driver().MemImportFromShareableHandle(&out.handle_, handle, cu::kPosixFd),
                                    "importing shared GPU memory"));
  return out;
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
GpuMemory::~GpuMemory() {
  if (handle_) driver_->MemRelease(handle_);
}

Result<UniqueFd> GpuMemory::share() const {
  int fd = -1;
  HONE_CHECK(driver_->check(driver_->MemExportToShareableHandle(&fd, handle_, cu::kPosixFd, 0), "sharing GPU memory"));
  return UniqueFd(fd);
}

Result<GpuMapping> GpuMapping::map(const GpuContext& context, const GpuMemory& memory, bool writable) {
  const Driver& d = context.driver();
  GpuMapping out;
  out.driver_ = &d;
  out.bytes_ = memory.bytes();
  out.reserved_bytes_ = memory.bytes() + 2 * context.granularity();
  HONE_CHECK(d.check(d.MemAddressReserve(&out.reserved_, out.reserved_bytes_, 0, 0, 0), "reserving GPU addresses"));
  out.begin_ = out.reserved_ + context.granularity();
  HONE_CHECK(d.check(d.MemMap(out.begin_, out.bytes_, 0, memory.handle(), 0), "mapping GPU memory"));
  out.mapped_ = true;
  const cu::MemAccess access{{cu::kLocationDevice, context.facts().index}, writable ? cu::kAccessReadWrite : cu::kAccessRead};
  HONE_CHECK(d.check(d.MemSetAccess(out.begin_, out.bytes_, &access, 1), "protecting GPU memory"));
  return out;
}

GpuMapping& GpuMapping::operator=(GpuMapping&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(reserved_, other.reserved_);
  std::swap(begin_, other.begin_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}
GpuMapping::~GpuMapping() {
  if (mapped_) driver_->MemUnmap(begin_, bytes_);
  if (reserved_) driver_->MemAddressFree(reserved_, reserved_bytes_);
}

Result<GpuModule> GpuModule::load(const GpuContext& context, const std::string& cubin) {
  GpuModule out;
  out.driver_ = &context.driver();
  HONE_CHECK(context.driver().check(context.driver().ModuleLoadData(&out.module_, cubin.data()), "loading a cubin"));
  return out;
}

GpuModule& GpuModule::operator=(GpuModule&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(module_, other.module_);
  return *this;
}
GpuModule::~GpuModule() {
  if (module_) driver_->ModuleUnload(module_);
}

Result<GpuKernel> GpuModule::kernel(const std::string& name) const {
  GpuKernel out;
  out.name = name;
  HONE_CHECK(driver_->check(driver_->ModuleGetFunction(&out.function, module_, name.c_str()), "finding kernel " + name));
  const auto ask = [&](int attribute) {
    int value = 0;
    driver_->FuncGetAttribute(&value, attribute, out.function);
    return value;
  };
  out.registers = ask(cu::kFuncRegisters);
  out.max_threads = ask(cu::kFuncMaxThreads);
  out.static_shared_bytes = ask(cu::kFuncSharedBytes);
  out.local_bytes = ask(cu::kFuncLocalBytes);
  out.constant_bytes = ask(cu::kFuncConstBytes);
  std::size_t offset = 0, size = 0;
  while (driver_->FuncGetParamInfo(out.function, out.parameters.size(), &offset, &size) == cu::kSuccess)
    out.parameters.emplace_back(offset, size);
  return out;
}

cu::Code launch(const GpuContext& context, const GpuKernel& kernel, const GpuLaunch& how, void** parameters) {
  constexpr std::uint32_t kWithoutAsking = 48 << 10;
  const Driver& d = context.driver();
  if (how.shared_bytes + kernel.static_shared_bytes > kWithoutAsking)
    if (const cu::Code code = d.FuncSetAttribute(kernel.function, cu::kFuncMaxDynamicShared, static_cast<int>(how.shared_bytes));
        code != cu::kSuccess)
      return code;
  cu::LaunchAttribute attributes[2] = {};
  cu::LaunchConfig config{how.grid[0],  how.grid[1],  how.grid[2],        how.block[0], how.block[1],
                          how.block[2], how.shared_bytes, context.stream(), attributes,   0};
  if (how.cluster[0] != 0) {
    cu::LaunchAttribute& a = attributes[config.attribute_count++];
    a.id = cu::kAttributeCluster;
    a.value.dim = {how.cluster[0], std::max(how.cluster[1], 1u), std::max(how.cluster[2], 1u)};
  }
  if (how.cooperative) {
    cu::LaunchAttribute& a = attributes[config.attribute_count++];
    a.id = cu::kAttributeCooperative;
    a.value.number = 1;
  }
  return d.LaunchKernelEx(&config, kernel.function, parameters, nullptr);
}

std::string fault_of(cu::Code code) {
  switch (code) {
    case cu::kIllegalAddress: return "illegal_address";
    case cu::kMisalignedAddress: return "misaligned_address";
    case cu::kInvalidAddressSpace: return "invalid_address_space";
    case cu::kIllegalInstruction: return "illegal_instruction";
    case cu::kInvalidPc: return "invalid_pc";
    case cu::kHardwareStackError: return "stack_overflow";
    case cu::kLaunchTimeout: return "timeout";
    case cu::kAssert: return "assertion";
    case cu::kLaunchFailed: return "launch_failure";
    default: return "";
  }
}

}  // namespace hone::device
