#pragma once
// The oracle: a process that knows the true values. It owns the shared memory, fills inputs, reads outputs and
// compares; no candidate code ever enters it. This is the coordinator's side; oracle_main.cc is the other.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "runner/metrics.h"
#include "task/draw.h"
#include "task/task.h"

namespace hone::runner {

/// Against which side of its guard pages a tensor lies: upper catches overruns, lower underruns.
enum class Side { upper, lower };

/// Where a set of tensors lies in the two arenas. Offsets in bytes.
struct Place {
  std::uint64_t region = 0, region_bytes = 0;  ///< whole pages
  std::uint64_t data = 0, bytes = 0;           ///< of the tensor itself
};
struct Layout {
  std::vector<Place> inputs, outputs;  ///< task order; an inout input has no place of its own (bytes 0 region 0)
  std::uint64_t input_stride = 0, output_stride = 0;  ///< of one set; 0 when there is one set
  std::int64_t sets = 1;
  bool guarded = true;                 ///< every tensor between guard pages; timing sets are not
};

/// Shared memories, created by the oracle, for one case: one for all inputs and one for all outputs (cpu), or one a tensor.
struct Arenas {
  std::uint64_t id = 0;
  std::vector<UniqueFd> inputs, outputs;
  std::uint64_t input_bytes = 0, output_bytes = 0;
  Layout layout;
  std::uint64_t at = 0;  ///< where a runner should map packed arenas; 0: anywhere
};

/// One set of inputs, by which everything about it can be computed again.
struct DrawKey {
  task::Dims dims;
  task::DrawSpec spec;
};

/// What the oracle says of a prepared draw.
struct Prepared {
  std::uint64_t id = 0;
  std::vector<std::int64_t> elements;      ///< of each output
  std::int64_t skipped = 0, total = 0;     ///< elements where r is not finite and t is
  bool reference_exact = false;            ///< r equals t everywhere
  double truth_ms = 0;                     ///< one float64 evaluation
};

/// What a check found: errors of every output, and what was touched that must not be.
struct DrawCheck {
  std::vector<OutputErrors> outputs;
  bool inputs_changed = false;
  std::string red_zone;                    ///< "" or which output was overrun, and where
};

struct OracleOptions {
  std::string truth_object, rounded_object, lower_object;  ///< shared objects' bytes; lower may be empty
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;     ///< of cached truths
  int gpu = -1;        ///< cuda: on which GPU references run; the objects are cubins
  Json plans;          ///< cuda: launch_plan.h's JSON of each object, in the order above
};

class Oracle {
 public:
  static Result<std::unique_ptr<Oracle>> start(const task::Task& task, const OracleOptions& options);
  virtual ~Oracle() = default;

  /// Arenas for one case: one guarded set a side, or `sets` packed ones for timing.
  virtual Result<Arenas> make_arenas(const task::Dims& dims, Side side) = 0;
  virtual Result<Arenas> make_timing_arenas(const task::Dims& dims, std::int64_t sets) = 0;
  virtual Status drop_arenas(std::uint64_t id) = 0;

  /// Draws the inputs and computes t, s and r. Cached by key.
  virtual Result<Prepared> prepare(const DrawKey& key) = 0;
  virtual Status forget(std::uint64_t prepared) = 0;

  /// Writes inputs, poisons outputs and slack, places the old values of inout outputs.
  virtual Status stage(std::uint64_t prepared, std::uint64_t arenas) = 0;
  /// After the runner was frozen: compares what lies in the arenas.
  virtual Result<DrawCheck> check(std::uint64_t prepared, std::uint64_t arenas) = 0;
  /// Puts outputs made elsewhere to the same check (null kernels of the audit, calibration): one byte string
  /// an output in its storage type.
  virtual Result<DrawCheck> check_bytes(std::uint64_t prepared, const std::vector<std::string>& outputs) = 0;
  /// Inputs, t and r in storage type, of a prepared draw (audit, sanitizers, evidence).
  virtual Result<std::vector<std::string>> inputs_of(std::uint64_t prepared) = 0;
  virtual Result<std::vector<std::string>> truth_of(std::uint64_t prepared, bool rounded) = 0;
  /// Scalars of the draw in task order.
  virtual Result<std::vector<double>> scalars_of(std::uint64_t prepared) = 0;

  /// r's outputs, in storage types, on inputs and scalars made elsewhere (admission moves one at a time).
  virtual Result<std::vector<std::string>> reference_on(const task::Dims& dims, const std::vector<std::string>& inputs,
                                                        const std::vector<double>& scalars);

  /// Timing. fill() gives every one of the first `calls` sets fresh contents derived from `seed`; cold writes past the
  /// caches. collect() keeps the outputs of the calls named (copied out while the runner is frozen); settle()
  /// compares everything kept with the truth and forgets it.
  virtual Status fill(std::uint64_t arenas, std::uint64_t seed, std::int64_t calls, bool cold) = 0;
  virtual Status collect(std::uint64_t arenas, std::uint64_t seed, const std::vector<std::int64_t>& calls,
                         const std::string& tag) = 0;
  struct Settled {
    std::string tag;
    std::uint64_t seed = 0;
    std::int64_t call = 0;
    DrawCheck check;
  };
  /// At most `limit_ms` of evaluation, but at least `at_least` of the kept ones of each tag, chosen at random.
  virtual Result<std::vector<Settled>> settle(double limit_ms, int at_least) = 0;
  /// "fresh" or "rotating n": how new the contents of a fill() are.
  virtual Result<std::string> freshness(std::uint64_t arenas) = 0;

  virtual std::int64_t resident_bytes() const = 0;
};

}  // namespace hone::runner
