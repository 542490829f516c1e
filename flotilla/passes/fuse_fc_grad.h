// flotilla/passes/fuse_fc_grad.h

#pragma once

#include "flotilla/passes/pass.h"

namespace flotilla::passes {

// The gradients of an activation, a bias and a product with a weight become one op.
void fuse_fc_grad(PassContext& context);

}  // namespace flotilla::passes
