#include "propose/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "propose/descent/descent.h"
#include "propose/simple.h"
#include "propose/space.h"

namespace hone::propose {
namespace {

using Made = Result<std::unique_ptr<Proposer>>;

Made descent(const candidate::Candidate& candidate, const task::Task& task, const ProposerOptions& options) {
  HONE_TRY(Space space, Space::of(candidate, task));
  return make_descent(candidate, std::move(space), options);
}

Made random(const candidate::Candidate& candidate, const task::Task& task, const ProposerOptions& options) {
  HONE_TRY(Space space, Space::of(candidate, task));
  return make_random(candidate, std::move(space), options);
}

Made exhaustive(const candidate::Candidate& candidate, const task::Task& task, const ProposerOptions&) {
  HONE_TRY(Space space, Space::of(candidate, task));
  return make_exhaustive(candidate, std::move(space));
}

}  // namespace

const std::vector<Entry>& registry() {
  static const std::vector<Entry> entries = {
      {"descent", "tunables: neighbours of the best from diverse seeds, a paired test for each step", descent},
      {"random", "tunables: valid points at random, none twice", random},
      {"exhaustive", "tunables: every valid point in order", exhaustive},
  };
  return entries;
}

Result<std::unique_ptr<Proposer>> make(std::string_view name, const candidate::Candidate& candidate,
                                       const task::Task& task, const ProposerOptions& options) {
  std::vector<std::string> known;
  for (const Entry& entry : registry()) {
    if (entry.name == name) return entry.make(candidate, task, options);
    known.push_back(entry.name);
  }
  return usage_error(fmt::format("unknown proposer '{}'{}", name, did_you_mean(name, known)),
                     fmt::format("Known: {}.", fmt::join(known, ", ")));
}

}  // namespace hone::propose
