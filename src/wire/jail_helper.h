#pragma once

namespace hone::wire {

/// The helper of a jail: serves spawn requests on descriptor 3 until it closes. Role `jail`.
int jail_main(int argc, char** argv);

}  // namespace hone::wire
