#pragma once
// Memory that the oracle owns and a runner maps. On the CPU both see the same bytes; on a GPU the oracle works on a
// mirror, and what it writes reaches the device by push(), what a kernel wrote the mirror by pull().

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "runner/oracle.h"

namespace hone::runner {

class SharedArena {
 public:
  virtual ~SharedArena() = default;
  virtual std::span<std::byte> bytes() = 0;
  std::span<const std::byte> bytes() const { return const_cast<SharedArena*>(this)->bytes(); }
  /// What a runner imports; borrowed.
  virtual std::vector<int> descriptors() const = 0;
  virtual Status push() { return {}; }
  virtual Status pull() { return {}; }
};

/// Makes the memory of a set of places, `bytes` in all. `for_readers`: a runner may not write it.
using ArenaMaker = std::function<Result<std::unique_ptr<SharedArena>>(const std::vector<Place>& places,
                                                                      std::uint64_t bytes, bool for_readers)>;
/// Sealed memory files.
ArenaMaker memory_arenas();
/// Bytes each guarded tensor's region is rounded up to there.
constexpr std::uint64_t kMemoryRegion = 4096;

}  // namespace hone::runner
