#pragma once
// descent: from diverse seeds along neighbours to a local optimum, then again from elsewhere.
//
// 1. Seeds: the candidate's own first values and a Latin hypercube over the valid points. The fastest becomes the
//    incumbent.
// 2. A descent asks for points one knob or two knobs away from the incumbent, those first that the surrogate
//    expects most of (mean plus a share of its doubt). A point that looks faster becomes the challenger: where
//    the intervals of the two overlap, a paired test decides, and only low > 1 is a step. After a step along
//    ordered knobs the next point in the same direction is tried, with doubling stride while that pays.
// 3. When every neighbour by one knob has been told and a number of points in a row brought no step, the
//    optimum is taken as local, and the search goes on from the untold point that the surrogate thinks best,
//    with more weight on doubt. Such a start is left at once when it is far slower than the best.
// A failed point counts as much slower than the slowest, so the surrogate learns failing regions; points with a
// knob value that has only failed are tried last. No point is asked twice; an invalid answer is asked once more.

#include "propose/proposer.h"
#include "propose/space.h"

namespace hone::propose {

std::unique_ptr<Proposer> make_descent(candidate::Candidate candidate, Space space, const ProposerOptions& options);

}  // namespace hone::propose
