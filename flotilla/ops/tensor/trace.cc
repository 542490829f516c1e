// trace: the sums of the diagonals of two axes.

#include <utility>

#include "flotilla/op/lower.h"
#include "flotilla/ops/tensor/diagonal.h"

namespace flotilla::ops {
namespace {

// Never without an axis.
void infer_trace(InferContext& c) {
  Ints dims = diagonal_shape(c).dims();
  dims.pop_back();
  c.out("Out") = VarMeta::tensor(c.dtype("Input"), dims.empty() ? Shape{1} : Shape(dims));
}

void lower_trace(LowerContext& c) {
  const std::string diagonal = c.append("diagonal", {{"Input", {c.in("Input")}}},
                                        {{"offset", c.attr<int32_t>("offset")},
                                         {"axis1", c.attr<int32_t>("axis1")},
                                         {"axis2", c.attr<int32_t>("axis2")}});
  c.result("Out", c.sum(diagonal, {-1}));
}

// 1.8 has other names for the axes.
void read_release(Op& op) {
  for (const auto& [old, now] : {std::pair("dim1", "axis1"), std::pair("dim2", "axis2")}) {
    if (const Attr* axis = op.find_attr(old); axis != nullptr && !op.attrs().contains(now)) {
      op.set_attr(now, Attr(*axis));
    }
    op.remove_attr(old);
  }
}

const OpDef& trace = define_op({
    .type = "trace",
    .doc = "The sums of the diagonals of two axes.",
    .inputs = {{.name = "Input", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "the other axes"}},
    .attrs = kDiagonalAxes,
    .infer = infer_trace,
    .grad = grad_of_body(),
    .lower = lower_trace,
    .from_paddle = read_release,
});

}  // namespace
}  // namespace flotilla::ops
