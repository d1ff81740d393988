#pragma once
// Two proposers that learn nothing: the yardsticks of the others.

#include "propose/proposer.h"
#include "propose/space.h"

namespace hone::propose {

/// Valid points uniformly at random, none twice.
std::unique_ptr<Proposer> make_random(candidate::Candidate candidate, Space space, const ProposerOptions& options);
/// Every valid point in index order.
std::unique_ptr<Proposer> make_exhaustive(candidate::Candidate candidate, Space space);

}  // namespace hone::propose
