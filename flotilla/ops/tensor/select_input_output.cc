// flotilla/ops/tensor/select_input_output.cc
//
// select_input: Out = X[Mask]. How Paddle ends a `cond`: each branch is a conditional_block that
// writes one of X, so the others need not hold anything. Its gradient is select_output, which
// writes X to Out[Mask] and zeros to the others.

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void check_mask(const InferContext& c) {
  require(c.dtype("Mask") == i32 && fits(c.in("Mask").shape.numel(), 1),
          "Mask of {} must be one i32, but is {}{}", c.op().type(), c.dtype("Mask"),
          c.in("Mask").shape);
}

size_t chosen(const In<int32_t>& mask, size_t count) {
  const int32_t given = *mask.data();
  require(0 <= given && static_cast<size_t>(given) < count,
          "Mask must choose one of {} variables, but is {}", count, given);
  return static_cast<size_t>(given);
}

void infer_select_input(InferContext& c) {
  check_mask(c);
  VarMeta out = c.in("X");
  for (size_t i = 1; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    for (int64_t a = 0; x.shape.rank() == out.shape.rank() && a < out.shape.rank(); ++a) {
      if (!c.running() && x.shape[a] != out.shape[a]) out.shape[a] = -1;
    }
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
    copy_bytes(out.data(), inputs[chosen(mask, inputs.size())].data(), bytes);
  };
}

void infer_select_output(InferContext& c) {
  check_mask(c);
  for (size_t i = 0; i < c.out_count("Out"); ++i) {
    c.out("Out", i) = c.in("X");
    c.out("Out", i).value.reset();
  }
}

Step prepare_select_output(PrepareContext& c) {
  std::vector<Out<char>> outputs(c.count("Out"));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (c.has("Out", i)) outputs[i] = c.out_bytes("Out", i);
  }
  const int64_t bytes = c.shape("X").numel() * size_of(c.dtype("X"));
  return [outputs, bytes, mask = c.in<int32_t>("Mask"), x = c.in_bytes("X")] {
    const size_t one = chosen(mask, outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i]) continue;
      if (i == one) {
        copy_bytes(outputs[i].data(), x.data(), bytes);
      } else {
        zero_bytes(outputs[i].data(), bytes);
      }
    }
  };
}

void select_input_grad(GradContext& g) {
  std::vector<std::string> outputs;
  for (size_t i = 0; i < g.op().input_list("X").size(); ++i) {
    const std::string gradient = g.input_grad("X", i);
    outputs.push_back(gradient.empty() ? std::string(kEmptyVar) : gradient);
  }
  g.emit("select_output", {{"X", {g.output_grad("Out")}}, {"Mask", {g.op().input("Mask")}}},
         {{"Out", std::move(outputs)}}, {});
}

const OpDef& select_input = define_op({
    .type = "select_input",
    .doc = "Out = X[Mask]: what the branch that was run wrote.",
    .inputs = {{.name = "X", .doc = "one variable for each branch", .list = true},
               {.name = "Mask", .doc = "one i32: which of X", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "shape and dtype of X"}},
    .infer = infer_select_input,
    .grad = custom_grad(select_input_grad),
    .kernels = every_dtype(prepare_select_input),
    .dtype_slot = "Out",
});

const OpDef& select_output = define_op({
    .type = "select_output",
    .doc = "Out[Mask] = X, and zeros to the others.",
    .inputs = {{"X", "what goes to the branch that was run"}, {"Mask", "one i32: which of Out"}},
    .outputs = {{.name = "Out", .doc = "one variable for each branch", .list = true}},
    .infer = infer_select_output,
    .kernels = every_dtype(prepare_select_output),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
