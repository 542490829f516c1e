// dot: the inner product of X and Y along the last axis.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

void infer_dot(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.shape.rank() > 0 && x.dtype == y.dtype && fits(x.shape, y.shape),
          "X and Y of dot must be alike, but are {}{} and {}{}", x.dtype, x.shape, y.dtype,
          y.shape);
  c.out("Out") = VarMeta::tensor(x.dtype, without_axis(x.shape, -1, false, false));
}

void lower_dot(LowerContext& c) {
  const std::string products = c.mul(c.in("X"), c.in("Y"));
  c.result("Out", c.apply("reduce_sum", products,
                          {{"dim", std::vector<int32_t>{-1}},
                           {"out_dtype", to_paddle(c.var(c.in("X")).dtype)}}));
}

const OpDef& dot = define_op({
    .type = "dot",
    .doc = "The inner product of X and Y along the last axis.",
    .inputs = {{.name = "X", .doc = "vector or rows"}, {.name = "Y", .doc = "the same"}},
    .outputs = {{.name = "Out", .doc = "X without its last axis"}},
    .infer = infer_dot,
    .grad = grad_of_body(),
    .lower = lower_dot,
});

}  // namespace
}  // namespace flotilla::ops
