// flotilla/passes/fuse_bn_act.h

#pragma once

#include "flotilla/passes/pass.h"

namespace flotilla::passes {

// A batch norm and the relu behind it become one op, and so do their gradients.
void fuse_bn_act(PassContext& context);

// A batch norm, the sum with a tensor of the same shape and the relu behind it become one op, and
// so do their gradients.
void fuse_bn_add_act(PassContext& context);

}  // namespace flotilla::passes
