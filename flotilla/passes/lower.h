// flotilla/passes/lower.h
//
// Ops without a kernel for the device and their dtype are followed by what they are made of
// (op/lower.h), a gradient op without one by the gradient of its forward op's body: autodiff of the
// ops that `lower` appends, the body included where its values are needed.

#pragma once

namespace flotilla::passes {

struct PassContext;

void lower(PassContext& context);

}  // namespace flotilla::passes
