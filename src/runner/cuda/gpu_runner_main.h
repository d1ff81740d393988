#pragma once

namespace hone::runner {

/// Role "runner-cuda" of hone-worker: our own code around a candidate's kernels. Serves on descriptor 3 until it closes;
/// a device fault ends it, after it was told.
int gpu_runner_main(int argc, char** argv);

}  // namespace hone::runner
