#pragma once
// The list of proposers: a new one is a file and a line in registry.cc.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "propose/proposer.h"

namespace hone::propose {

struct Entry {
  std::string name;
  std::string about;  ///< one line, for --help
  Result<std::unique_ptr<Proposer>> (*make)(const candidate::Candidate& candidate, const task::Task& task,
                                            const ProposerOptions& options);
};

const std::vector<Entry>& registry();
/// Unknown names are usage errors with the nearest spelling.
Result<std::unique_ptr<Proposer>> make(std::string_view name, const candidate::Candidate& candidate,
                                       const task::Task& task, const ProposerOptions& options);

}  // namespace hone::propose
