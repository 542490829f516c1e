// flotilla/passes/fuse_lookups.h

#pragma once

#include "flotilla/passes/pass.h"

namespace flotilla::passes {

// Lookups in tables, the reshapes behind them and the concat that joins their rows become one op,
// and so do their gradients and the sums of those.
void fuse_lookups(PassContext& context);

}  // namespace flotilla::passes
