// flotilla/op/kernel_dtype.h
//
// Which of an operator's kernels a plan takes: the one for the dtype that this finds.

#pragma once

#include "flotilla/op/infer.h"

namespace flotilla {

// Of def.dtype_slot, or of the first input that is there, or of the first output.
DType kernel_dtype(const Op& op, const OpDef& def, const InferContext::Metas& inputs,
                   const InferContext::Metas& outputs);

}  // namespace flotilla
