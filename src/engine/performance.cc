#include "engine/performance.h"

#include "device/cpu.h"

namespace hone::engine {

std::vector<task::Case> timed_cases(const task::Task& task) {
  std::vector<task::Case> out;
  for (const task::Case& c : task.cases)
    if (c.time) out.push_back(c);
  return out;
}

Status judge_performance(runner::Session& session, const judge::Entry& entry, const PerformanceOptions& options,
                         judge::Verdict& verdict) {
  judge::PerformanceOptions gate;
  gate.compare.margin = options.margin;
  gate.compare.check_linearity = true;
  gate.compare.cancel = options.cancel;
  gate.watch = options.watch;
  gate.most_pairs = options.most_pairs;
  gate.slots_s_all = options.slots_s;
  const device::CpuFacts& facts = device::cpu_facts();
  if (facts.memory_bandwidth) {  // stated by the user: no machine tells it
    gate.physics_bytes_per_s = *facts.memory_bandwidth;
    gate.cache_bytes = static_cast<double>(facts.last_level_cache_bytes());
  }
  return judge::time_cases(session, entry, gate, verdict);
}

}  // namespace hone::engine
