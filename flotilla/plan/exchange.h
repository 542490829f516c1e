// flotilla/plan/exchange.h
//
// Who waits for an exchange that goes on beside the program.

#pragma once

#include "flotilla/plan/draft.h"

namespace flotilla::plan {

// Lets nodes wait for work that others have left to go on, where they touch the same values.
// REQUIRES: assign_memory was run
void guard_work_that_goes_on(Draft& draft);

}  // namespace flotilla::plan
