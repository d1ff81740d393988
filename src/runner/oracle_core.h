#pragma once
// What the oracle does, without the process around it: oracle_main.cc serves it over frames, tests call it directly.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/oracle.h"
#include "runner/shared_arena.h"
#include "runner/truth.h"
#include "task/draw.h"
#include "task/task.h"

namespace hone::runner {

class OracleCore {
 public:
  /// How a lane's oracle loads references and shares memory. References borrow the task.
  struct Parts {
    std::function<Result<References>(const task::Task& task)> load;
    ArenaMaker arenas = memory_arenas();
    std::uint64_t region = kMemoryRegion;  ///< bytes a guarded tensor's region is rounded up to
  };
  static Result<std::unique_ptr<OracleCore>> make(task::Task task, const Parts& parts, std::uint64_t memory_bytes);

  struct NewArenas {
    std::uint64_t id;
    std::vector<int> inputs, outputs;  ///< descriptors, owned by the core
    const Layout* layout;
  };
  Result<NewArenas> make_arenas(const task::Dims& dims, Side side);
  Result<NewArenas> make_timing_arenas(const task::Dims& dims, std::int64_t sets);
  Status drop_arenas(std::uint64_t id);

  Result<Prepared> prepare(const DrawKey& key);
  Status forget(std::uint64_t prepared);
  Status stage(std::uint64_t prepared, std::uint64_t arenas);
  Result<DrawCheck> check(std::uint64_t prepared, std::uint64_t arenas);
  Result<DrawCheck> check_bytes(std::uint64_t prepared, const std::vector<std::string>& outputs);
  Result<std::vector<std::string>> inputs_of(std::uint64_t prepared);
  Result<std::vector<std::string>> truth_of(std::uint64_t prepared, bool rounded);
  Result<std::vector<double>> scalars_of(std::uint64_t prepared);
  Result<std::vector<std::string>> reference_on(const task::Dims& dims, const std::vector<std::string>& inputs,
                                                const std::vector<double>& scalars);

  Status fill(std::uint64_t arenas, std::uint64_t seed, std::int64_t calls, bool cold);
  Status collect(std::uint64_t arenas, std::uint64_t seed, const std::vector<std::int64_t>& calls,
                 const std::string& tag);
  Result<std::vector<Oracle::Settled>> settle(double limit_ms, int at_least);
  Result<std::string> freshness(std::uint64_t arenas);

  const task::Task& task() const { return task_; }

 private:
  struct Draw {
    std::uint64_t id;
    DrawKey key;
    InputSet set;
    std::vector<Truth> truths;
    std::uint64_t bytes;
    double truth_ms;
  };
  /// Where the contents of one timing input come from.
  struct Source {
    enum class Kind { window, fresh, rotating, constant } kind = Kind::window;
    std::uint64_t seed = 0;                 // of the long draw
    std::vector<std::byte> master;          // window: n + extra elements
    std::uint64_t extra = 0;                // windows start at 0 … extra
    std::vector<std::vector<std::byte>> variants;
  };
  struct ArenaPair {
    std::uint64_t id;
    task::Dims dims;
    Layout layout;
    std::unique_ptr<SharedArena> inputs, outputs;
    std::vector<std::vector<std::byte>> poison;  // guarded: pattern of each output
    std::uint64_t slack_seed = 0;
    std::uint64_t input_hash = 0;
    std::vector<Source> sources;                 // timing
    std::uint64_t filled_seed = 0;               // timing: of the last fill
    std::int64_t filled = 0;                     // timing: sets it filled
    std::uint64_t total_bytes() const;
  };
  struct Kept {
    std::string tag;
    std::uint64_t seed;
    std::int64_t call;
    task::Dims dims;
    std::vector<task::DrawSpec> specs;
    std::vector<std::string> outputs;
  };

  OracleCore() = default;
  Result<Draw*> find_draw(std::uint64_t id);
  Result<ArenaPair*> find_arenas(std::uint64_t id);
  static NewArenas describe(const ArenaPair& pair);
  Result<NewArenas> add_arenas(const task::Dims& dims, Layout layout);
  Status prepare_sources(ArenaPair& arenas);
  /// The draws of set `call` of a fill: which content each input gets.
  std::vector<task::DrawSpec> specs_of(const ArenaPair& arenas, std::uint64_t seed, std::int64_t call) const;
  Status place_input(const ArenaPair& arenas, std::size_t input, const task::DrawSpec& spec, std::byte* to,
                     bool cold) const;
  Result<DrawCheck> compare(const task::Dims& dims, const InputSet& set, const std::vector<Truth>& truths,
                            const std::vector<std::span<const std::byte>>& outputs,
                            const std::vector<std::vector<std::byte>>& poison) const;

  task::Task task_;
  Parts parts_;
  std::optional<Evaluator> evaluator_;
  std::uint64_t memory_bytes_ = 0, used_bytes_ = 0, next_id_ = 1;
  std::list<Draw> draws_;  // most recently used first
  std::map<std::uint64_t, DrawKey> forgotten_;  // dropped for memory: drawn again on use
  std::map<std::uint64_t, std::unique_ptr<ArenaPair>> arenas_;
  std::list<std::unique_ptr<ArenaPair>> idle_;  // timing arenas for the next comparison of the case, latest first
  /// Notes the sets of the last fill in which an output was left as it was: the call did nothing.
  void note_untouched(const ArenaPair& arenas);
  std::vector<Kept> kept_;
  std::vector<Oracle::Settled> untouched_;
};

}  // namespace hone::runner
