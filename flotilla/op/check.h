// flotilla/op/check.h
//
// What must hold before a kernel sees an op. A program may come from a file, and a variable from a
// user: append_op never saw them.

#pragma once

#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"

namespace flotilla {

// Refuses an op without an input that it needs, and several variables in a slot that holds one.
// Slots and attributes of other releases are let through.
void check_counts(const Op& op, const OpDef& def);

// An output before `infer` has said what it is: of no shape. One that is still so afterwards is not
// written.
VarMeta unset(VarMeta declared);
bool is_unset(const VarMeta& meta);

// Refuses an input that is not as its slot says: `like` another, or of `one` element; and sparse
// rows without the extents of a dense tensor. Extents that are not known yet fit. Adds the
// inputs that a rule has looked at to `looked_at`. To be called before `infer`, which may rely on
// it.
void check_inputs(const Op& op, const OpDef& def, const InferContext::Metas& inputs,
                  SlotVars& looked_at);

// Refuses outputs that are not as their slots say, that `infer` left out though they are not
// optional, extents below -1 and tensors of more than kMaxElements, which attributes can ask for.
void check_outputs(const Op& op, const OpDef& def, const InferContext::Metas& inputs,
                   const InferContext::Metas& outputs);

// Of a gradient op: refuses it unless the op whose gradient it is takes its inputs, what that op
// makes of them, and the gradient of that, have the extents which its own `infer` says, and the
// gradient it writes is as large as the variable. Kernels of gradients take all that for granted.
void check_gradient(const Op& op, const InferContext::Metas& inputs,
                    const InferContext::Metas& outputs, SlotVars& looked_at);

}  // namespace flotilla
