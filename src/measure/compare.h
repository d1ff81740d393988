#pragma once
// measure: is one program faster than another, and by how much? Fresh pairs of processes are the unit; in each pair
// rounds of A B B A (or B A A B, at random) on the same shared pages; every release gets fresh inputs; the coordinator's
// clock decides, an empty release measured in the same rounds is subtracted. facts: DESIGN.md §3, §8.

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "runner/session.h"
#include "stats/interval.h"
#include "task/task.h"

namespace hone::measure {

struct CompareOptions {
  double slots_s = 1.0;        ///< timed slots of both sides over all pairs together
  int pairs = 8;
  bool cold = true;            ///< inputs written past the caches; false: ordinary writes
  double margin = 0.01;        ///< faster: the interval lies wholly above 1 + margin
  double confidence = 0.95;
  double slot_ms = 1.0;        ///< calls go to one release until it lasts this long
  double warm_up_ms = 10;      ///< of each process
  double check_ms = 200;       ///< evaluation of the reference for timed outputs; check_least of b are checked in any case
  int check_least = 2;
  bool check_linearity = false;///< time must be linear over k/16, k/4, k where k ≥ 16
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;  ///< of all sets of inputs and outputs
  /// Asked after each pair with the log-ratios so far; true stops (racing).
  std::function<bool(const std::vector<double>&)> stop;
  const std::atomic<bool>* cancel = nullptr;
  /// About how long a call of each program takes, filled and used by the comparisons that share it: the pilot runs of a
  /// program that is compared again and again are made once.
  std::map<std::string, double>* pilots = nullptr;
};

/// One timed release. side 0 is a (the baseline), 1 is b (the candidate).
struct Slot {
  int pair = 0, round = 0, side = 0;
  std::int64_t calls = 0;
  double outside_ns = 0, inside_ns = 0;
};

struct PairSample {
  double log_ratio = 0;        ///< ln(time of a / time of b), Hodges-Lehmann estimate of its rounds
  double fast_log_ratio = 0;   ///< the same of the 10 % quantiles of both sides' slots
  int rounds = 0;
  double a_ns = 0, b_ns = 0;   ///< one call, median, empty release subtracted
  double empty_ns = 0;         ///< an empty release of a's process, subtracted from both
};

enum class Answer { faster, slower, same, undecided, invalid };
const char* name_of(Answer answer);

/// Of b over a.
struct Comparison {
  Answer answer = Answer::undecided;
  stats::Interval ratio;               ///< time of a / time of b: above 1, b is faster
  double a_ns = 0, b_ns = 0;           ///< one call, median over pairs
  std::int64_t a_calls = 1, b_calls = 1;
  int rounds = 0;
  std::vector<PairSample> pairs;
  std::vector<Slot> slots;
  std::string freshness;               ///< of inputs: "fresh", "rotating 8"
  std::string reason;                  ///< why invalid, or what the ratio rests on
  std::optional<candidate::Failure> failure;  ///< b failed while timed: crash, wrong output of a timed call…
  int checked = 0;                     ///< timed calls of b whose outputs were compared with the truth
  double slots_s = 0, wall_s = 0;
  bool cold = true;
  bool disturbed = false;              ///< the machine lengthened many slots: ratio is that of the undisturbed ones
};

/// Both programs must have passed the correctness gate. An Error is the machine's or the baseline's fault.
Result<Comparison> compare(runner::Session& session, const runner::Program& a, const runner::Program& b,
                           const task::Case& on, const CompareOptions& options);

/// Looks at 8, 16, 32 pairs with the error probability split over them until the answer is clear; then a fresh
/// set of as many pairs, fixed beforehand, gives the reported interval and the answer (DESIGN.md §8).
Result<Comparison> compare_sequential(runner::Session& session, const runner::Program& a, const runner::Program& b,
                                      const task::Case& on, const CompareOptions& options, int most_pairs = 32);

/// The raw slots, compact: {"columns": […], "rows": […]}.
Json samples_to_json(const Comparison& comparison);

/// Within the loose budget for timed outputs: they must be right, not precise; precision was judged before.
bool plausible(const runner::DrawCheck& check, std::string* why);

/// Pins the calling thread for a scope to the usable processors outside `cpus`, where there are any.
class KeepOff {
 public:
  explicit KeepOff(const std::vector<int>& cpus);
  ~KeepOff();
  KeepOff(const KeepOff&) = delete;
  KeepOff& operator=(const KeepOff&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace hone::measure
