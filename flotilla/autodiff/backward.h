// flotilla/autodiff/backward.h
//
// The gradient of a program, as more of the program: one reverse walk over the global block, in
// which every op's rule (op/op_def.h) says what its gradient is. The ops are appended with role
// backward and carry the forward op's line of the user, so that their errors point to it.
//
// The gradient of v is v@GRAD. Where v is used several times the parts are
// v@GRAD@RENAME@block0@<i>, joined by a `sum`. A second call on the same program adds _<n>.
//
//     y = mul(x, w)        fill_constant(1) -> loss@GRAD
//     loss = mean(y)  ==>  mean_grad(loss@GRAD) -> y@GRAD
//                          mul_grad(x, w, y@GRAD) -> w@GRAD
//
// A variable may be written more than once: the walk follows the order of ops. A value that a
// gradient needs and that is overwritten meanwhile is saved by an `assign` in front of the
// overwriting op.

#pragma once

#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::autodiff {

struct ParamGrad {
  std::string param = {};
  std::string grad = {};
  bool operator==(const ParamGrad&) const = default;
};

struct BackwardOptions {
  // Whose gradients are wanted. By default those of all trainable parameters and of other inputs
  // that are not marked stop_gradient.
  std::vector<std::string> parameter_list = {};

  // Taken for constants, besides the variables marked stop_gradient.
  std::vector<std::string> no_grad_set = {};
};

// Appends the gradient of `loss`, one element of the global block. Returns the parameters that it
// reaches, in the order of the list or else of the program. Ops that write a parameter's gradient
// say so in op_role_var. The program is unchanged where it throws.
std::vector<ParamGrad> append_backward(Var& loss, const BackwardOptions& options = {});

// Appends the gradient of the sum of `targets` with respect to `inputs` and returns its variables,
// "" where an input does not lead to a target. A target's own gradient is taken from
// `target_gradients`, or is all ones where that is null or the list is empty.
std::vector<std::string> gradients(const std::vector<Var*>& targets,
                                   const std::vector<Var*>& inputs,
                                   const std::vector<Var*>& target_gradients = {},
                                   const std::vector<std::string>& no_grad_set = {});

}  // namespace flotilla::autodiff

namespace flotilla {
using autodiff::append_backward;
using autodiff::BackwardOptions;
using autodiff::gradients;
using autodiff::ParamGrad;
}  // namespace flotilla
