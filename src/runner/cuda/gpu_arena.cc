#include "runner/cuda/gpu_arena.h"

namespace hone::runner {
namespace {

struct Region {
  std::uint64_t offset = 0;
  device::GpuMemory memory;
  device::GpuMapping mapping;
  UniqueFd descriptor;
};

class GpuArena final : public SharedArena {
 public:
  GpuArena(const device::GpuContext& context, std::uint64_t bytes) : context_(context), mirror_(bytes) {}

  Status add(const Place& place) {
    Region region;
    region.offset = place.region;
    HONE_TRY(region.memory, device::GpuMemory::create(context_, place.region_bytes));
    HONE_TRY(region.mapping, device::GpuMapping::map(context_, region.memory, true));
    HONE_TRY(region.descriptor, region.memory.share());
    regions_.push_back(std::move(region));
    return {};
  }

  std::span<std::byte> bytes() override { return mirror_; }
  std::vector<int> descriptors() const override {
    std::vector<int> out;
    for (const Region& region : regions_) out.push_back(region.descriptor.get());
    return out;
  }
  Status push() override {
    return each("copying to the GPU", [&](const Region& r, std::byte* at) {
      return context_.driver().MemcpyHtoDAsync(r.mapping.begin(), at, r.mapping.bytes(), context_.stream());
    });
  }
  Status pull() override {
    return each("copying from the GPU", [&](const Region& r, std::byte* at) {
      return context_.driver().MemcpyDtoHAsync(at, r.mapping.begin(), r.mapping.bytes(), context_.stream());
    });
  }

 private:
  template <typename F>
  Status each(const char* what, F copy) {
    for (const Region& region : regions_)
      HONE_CHECK(context_.driver().check(copy(region, mirror_.data() + region.offset), what));
    return context_.driver().check(context_.synchronize(), what);
  }

  const device::GpuContext& context_;
  std::vector<std::byte> mirror_;
  std::vector<Region> regions_;
};

}  // namespace

ArenaMaker gpu_arenas(const device::GpuContext& context) {
  return [&context](const std::vector<Place>& places, std::uint64_t bytes, bool) -> Result<std::unique_ptr<SharedArena>> {
    auto arena = std::make_unique<GpuArena>(context, bytes);
    for (const Place& place : places) {
      if (place.region % context.granularity() != 0 || place.region_bytes % context.granularity() != 0)
        return bug_error("a tensor's region is not whole granules");
      HONE_CHECK(arena->add(place));
    }
    return std::unique_ptr<SharedArena>(std::move(arena));
  };
}

}  // namespace hone::runner
