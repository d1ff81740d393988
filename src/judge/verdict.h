#pragma once
// A verdict: correct or not, class, speed with interval, evidence. Data, never a thrown error.

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "candidate/candidate.h"

namespace hone::judge {

/// A: bitwise r. B: within budget. C: right but less precise. X: work removed. DESIGN.md §7. undecided: time ran out
/// before anything could be said, which counts as not correct.
enum class Class { A, B, C, X, wrong, undecided };
const char* name_of(Class c);

enum class Depth { screen, verify };
const char* name_of(Depth depth);

struct GateResult {
  enum class State { pass, fail, skipped };
  std::string gate;     // admission, static, correctness, memory, performance
  State state = State::pass;
  std::string note;     // why skipped, or one line on what was seen
  double ms = 0;
};

enum class Answer { faster, slower, same, undecided, invalid };
const char* name_of(Answer answer);

/// Speed-up over the baseline on one case: ratio > 1 is faster.
struct Speed {
  std::string case_label;
  Answer answer = Answer::undecided;
  double ratio = 1, low = 1, high = 1;   // interval at `confidence`
  double confidence = 0.95;
  double candidate_ns = 0, baseline_ns = 0;  // one call, median
  int pairs = 0, rounds = 0;
  std::string cache;                     // cold or warm
  std::string inputs;                    // of each call: fresh, rotating N (sets in turn), constant; empty: not told
  std::string reason;                    // why invalid, or what the ratio rests on
  Json samples = Json::object();         // raw slots, as measured
};

struct Verdict {
  bool correct = false;
  Class cls = Class::wrong;
  std::string flops_note = "not assessed";   // class X
  Depth depth = Depth::screen;
  std::vector<GateResult> gates;
  std::optional<candidate::Failure> failure;  // of the first gate that failed
  std::vector<Speed> speeds;                  // one per timed case
  double geomean = 1, geomean_low = 1, geomean_high = 1;
  Answer answer = Answer::undecided;
  std::string identity, source_hash, machine_code_hash, task_identity, device;
  candidate::Assignment assignment;
  std::vector<std::uint64_t> seeds;           // written afterwards, so that it can be replayed
  Json errors = Json::object();               // per output: rms z, max z, budgets, per distribution
  Json sandbox = Json::array();               // layers that held
  double total_ms = 0, compile_ms = 0, timing_ms = 0;
};

Json to_json(const Verdict& verdict, bool with_samples = false);
Result<Verdict> verdict_from_json(const Json& json);

}  // namespace hone::judge
