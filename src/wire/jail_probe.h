#pragma once

namespace hone::wire {

/// Tries to break out of the jail and reports what happened; for tests. Refuses to run outside one.
int probe_main(int argc, char** argv);

}  // namespace hone::wire
