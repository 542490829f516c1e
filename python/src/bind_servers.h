// python/src/bind_servers.h
//
// The parameter servers of this Python process' job.

#pragma once

#include "flotilla/ps/worker.h"

namespace flotilla::python {

// Null where no program of this process needs servers.
ps::Worker* servers();

}  // namespace flotilla::python
