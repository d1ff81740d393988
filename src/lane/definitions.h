#pragma once
// What HONE_REAL, HONE_ROUND, HONE_OUT and HONE_OUT_NAME mean in a build: the same in every lane.

#include <string>

#include "candidate/candidate.h"

namespace hone::lane {

/// The #define lines of this build.
std::string definitions(const candidate::Resolved& resolved);
/// The source is a reference's, or uses what references are written with.
bool speaks_hone(const candidate::Resolved& resolved);

}  // namespace hone::lane
