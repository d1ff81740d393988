#include "runner/shared_arena.h"

#include "wire/arena.h"

namespace hone::runner {
namespace {

class MemoryArena final : public SharedArena {
 public:
  explicit MemoryArena(wire::Arena arena) : arena_(std::move(arena)) {}
  std::span<std::byte> bytes() override { return arena_.bytes(); }
  std::vector<int> descriptors() const override { return {arena_.fd()}; }

 private:
  wire::Arena arena_;
};

}  // namespace

ArenaMaker memory_arenas() {
  return [](const std::vector<Place>&, std::uint64_t bytes, bool for_readers) -> Result<std::unique_ptr<SharedArena>> {
    HONE_TRY(wire::Arena arena, wire::Arena::create(bytes, for_readers ? "hone-inputs" : "hone-outputs"));
    HONE_CHECK(for_readers ? arena.seal_for_readers() : arena.seal_size());
    return std::unique_ptr<SharedArena>(std::make_unique<MemoryArena>(std::move(arena)));
  };
}

}  // namespace hone::runner
