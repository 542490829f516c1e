// flotilla/layers/linalg.h
//
// Products of matrices and vectors, and norms.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

// The product of the matrices in the last two axes; in the words of 1.8 where those are written.
Variable matrix_product(Variable x, Variable y, bool transpose_x = false, bool transpose_y = false,
                        const std::string& name = {});
// The products of each element of x with each of y.
Variable outer(Variable x, Variable y, const std::string& name = {});
// The inner products of the last axis of x with that of y.
Variable inner(Variable x, Variable y, const std::string& name = {});

struct NormOptions {
  std::optional<double> p = {};    // may be infinite; none: the Frobenius norm
  std::vector<int64_t> axes = {};  // none: all elements; two: those of matrices
  bool keep_dim = false;
  std::string name = {};
};
// The p-norm of slices along an axis, or of all elements. Matrices have the Frobenius norm only.
Variable norm(Variable x, const NormOptions& options = {});

// The sum over all labels that the result lacks: "ij,jk->ik" is a product of matrices. "..." stands
// for axes without a label. Without an arrow the result has the labels that occur once, in the
// order of the alphabet. Of several operands the first two are contracted until two are left.
Variable einsum(const std::string& equation, Variables operands);

}  // namespace flotilla::layers
