// python/src/bind_comm.h
//
// The other workers of this Python process' job.

#pragma once

#include "flotilla/comm/world.h"

namespace flotilla::python {

// Null before the process has met them.
comm::World* world();

}  // namespace flotilla::python
