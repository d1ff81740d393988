#pragma once

namespace hone::lane {

/// The role "compile-cuda" of hone-worker: answers compile requests on descriptor 3 until it closes. argv[1] is the NVRTC
/// library, or empty.
int compile_cuda_main(int argc, char** argv);

}  // namespace hone::lane
