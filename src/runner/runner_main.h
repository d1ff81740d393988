#pragma once

namespace hone::runner {

/// Role `runner` of hone-worker, inside a jail: loads one shared object and calls it when told, on descriptor 3.
int runner_main(int argc, char** argv);

}  // namespace hone::runner
