// flotilla/passes/fuse_optimizer.h

#pragma once

#include "flotilla/passes/pass.h"

namespace flotilla::passes {

// Updates all parameters of an optimizer in one op.
void fuse_optimizer(PassContext& context);

}  // namespace flotilla::passes
