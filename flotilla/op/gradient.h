// flotilla/op/gradient.h
//
// The definition of a gradient op follows from that of its forward op:
//
//   inputs      the slots that the rule names, optional where they are in the forward op; the
//               gradients of all outputs but those marked no_grad, optional where there are
//               several; then what the rule adds
//   outputs     the gradients of all inputs but those marked no_grad; optional where there are
//               several
//   attributes  the same
//   infer       a gradient is as its variable, or as the output that the variable is `like`
//   dtype       that of the first gradient
//
// The rule states what differs.

#pragma once

#include "flotilla/op/op_def.h"

namespace flotilla {

// REQUIRES: the rule of `forward` is a grad_op.
OpDef gradient_of(const OpDef& forward);

}  // namespace flotilla
