// flotilla/op/check.h
//
// What must hold before a kernel sees an op that was read from a file: append_op never saw it.

#pragma once

#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"

namespace flotilla {

// Refuses an op without an input that it needs, and several variables in a slot that holds one.
// Slots and attributes of other releases are let through.
void check_counts(const Op& op, const OpDef& def);

// Refuses extents below -1 and tensors of more than kMaxElements, which attributes can ask for.
void check_outputs(const Op& op, const InferContext::Metas& outputs);

// Refuses a gradient that is not as large as what the forward op makes of these inputs, or made,
// as far as the op has them: the kernels of gradients take its size as given.
void check_gradient(const Op& op, const InferContext::Metas& inputs);

}  // namespace flotilla
