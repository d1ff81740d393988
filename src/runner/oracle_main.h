#pragma once

namespace hone::runner {

/// Role `oracle` of hone-worker: serves the coordinator on descriptor 3 until it closes.
int oracle_main(int argc, char** argv);

}  // namespace hone::runner
