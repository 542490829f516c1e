// flotilla/plan/exchange.h
//
// Who waits for an asynchronous exchange.

#pragma once

#include "flotilla/plan/draft.h"

namespace flotilla::plan {

// Lets nodes wait for asynchronous work of others that touches the same values.
// REQUIRES: assign_memory was run
void guard_async_work(Draft& draft);

}  // namespace flotilla::plan
