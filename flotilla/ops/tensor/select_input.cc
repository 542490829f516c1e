// flotilla/ops/tensor/select_input.cc
//
// select_input: Out = X[Mask]. How Paddle ends a `cond`: each branch is a conditional_block that
// writes one of X, so the others need not hold anything.

#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

void infer_select_input(InferContext& c) {
  require(c.in("Mask").dtype == i32 && c.in("Mask").shape.numel() == 1,
          "Mask of select_input must be one i32, but is {}{}", c.in("Mask").dtype,
          c.in("Mask").shape);
  VarMeta out = c.in("X");
  for (size_t i = 1; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    require(!c.running() || (x.shape == out.shape && x.dtype == out.dtype),
            "the variables to choose from must be alike, but X[0] is {}{} and X[{}] is {}{}",
            out.dtype, out.shape, i, x.dtype, x.shape);
  }
  out.value.reset();
  c.out("Out") = std::move(out);
}

Step prepare_select_input(PrepareContext& c) {
  std::vector<In<char>> inputs;
  for (size_t i = 0; i < c.count("X"); ++i) inputs.push_back(c.in_bytes("X", i));
  const int64_t bytes = c.shape("Out").numel() * size_of(c.dtype("Out"));
  return [inputs, bytes, mask = c.in<int32_t>("Mask"), out = c.out_bytes("Out")] {
    const int32_t chosen = *mask.data();
    require(0 <= chosen && chosen < std::ssize(inputs),
            "Mask must choose one of {} variables, but is {}", inputs.size(), chosen);
    copy_bytes(out.data(), inputs[static_cast<size_t>(chosen)].data(), bytes);
  };
}

const OpDef& select_input = define_op({
    .type = "select_input",
    .doc = "Out = X[Mask]: what the branch that was run wrote.",
    .inputs = {{.name = "X", .doc = "one variable for each branch", .list = true},
               {.name = "Mask", .doc = "one i32: which of X", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "shape and dtype of X"}},
    .infer = infer_select_input,
    .kernels = every_dtype(prepare_select_input),
    .dtype_slot = "Out",
});

}  // namespace
}  // namespace flotilla::ops
