// flotilla/passes/fuse_fc.h

#pragma once

#include "flotilla/passes/pass.h"

namespace flotilla::passes {

// A product with a weight, a bias and an activation become one op.
void fuse_fc(PassContext& context);

}  // namespace flotilla::passes
