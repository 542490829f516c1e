// flotilla/passes/fully_connected.h
//
// What fuse_fc and fuse_fc_grad agree on: which products and sums make a fully connected layer.

#pragma once

#include <string_view>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

// mul or matmul_v2, or its gradient op, of rows with a matrix that is kept from run to run. Says
// nothing of the left side.
bool multiplies_by_weight(const Block& block, const Op& product);

// elementwise_add, or its gradient op, of a bias for each column of `weight` at the last axis of
// rows that lie in a tensor of `rank` axes.
bool adds_bias(const Block& block, const Op& sum, const Var& weight, int64_t rank);

// How many axes of Input become rows. `rank`: of the product.
int32_t row_axes(const Op& product, int64_t rank);

// relu, tanh, sigmoid: what a fused op applies, and whose gradient needs only its result.
bool is_fusable_activation(std::string_view type);

// Whether the op is defined and has a kernel for the variable's dtype.
bool has_kernel_for(std::string_view type, const Var& var);

}  // namespace flotilla::passes
