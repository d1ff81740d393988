#pragma once
// A reference in one of its builds, ready to run on inputs private to the oracle. Each lane loads its own kind.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "task/draw.h"
#include "task/task.h"

namespace hone::runner {

/// Inputs of one draw, private to the oracle; each buffer has kReferenceSlack bytes more than the tensor.
struct InputSet {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<double> scalars;
};

/// Room after each private buffer, so that a reference that runs over by a little reads zeros rather than another
/// buffer; overruns of references are the audit's business.
inline constexpr std::size_t kReferenceSlack = 64;

class Reference {
 public:
  virtual ~Reference() = default;
  /// Outputs in task order, kReferenceSlack bytes more each: HONE_REAL of `real_bytes` for floating ones, the storage
  /// type for integers. What the reference leaves unwritten is NaN, or a pattern for integers.
  virtual Result<std::vector<std::vector<std::byte>>> run(const task::Dims& dims, const InputSet& set,
                                                          std::size_t real_bytes) const = 0;
  /// The value that each index selects for its element of output number `output`.
  virtual Result<std::vector<double>> select(const task::Dims& dims, const InputSet& set, std::size_t output,
                                             std::span<const long long> indices) const = 0;
};

/// t in the wider type, r in the task's own, r of the next lower class or null.
struct References {
  std::unique_ptr<Reference> truth, rounded, lower;
};

/// A shared object of the cpu lane. `task` must outlive it.
Result<std::unique_ptr<Reference>> load_object_reference(const task::Task& task, const std::string& object);

}  // namespace hone::runner
