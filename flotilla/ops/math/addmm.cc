// flotilla/ops/math/addmm.cc
//
// addmm: Out = Beta Input + Alpha X Y for matrices X and Y; Input is repeated where it is smaller.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  require(x.rank() == 2 && y.rank() == 2 && (x[1] == y[0] || x[1] == -1 || y[0] == -1),
          "addmm multiplies an m x k with a k x n matrix, but X is {} and Y is {}", x, y);
  const Shape out = {x[0], y[1]};
  const Shape& input = c.in("Input").shape;
  require(input.rank() <= 2 && broadcast(out, input, -1).rank() == 2 &&
              (!out.known() || broadcast(out, input, -1) == out),
          "Input must repeat to the shape {} of the product, but has shape {}", out, input);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), out);
}

void lower(LowerContext& c) {
  const auto times = [&](const std::string& x, const char* factor) {
    return c.attr<float>(factor) == 1 ? x : c.scale(x, c.attr<float>(factor));
  };
  const std::string product = times(c.apply("matmul_v2", c.in("X"), c.in("Y")), "Alpha");
  c.result("Out", c.add(product, times(c.in("Input"), "Beta")));
}

const OpDef& addmm = define_op({
    .type = "addmm",
    .doc = "Out = Beta * Input + Alpha * X Y.",
    .inputs = {{.name = "Input", .doc = "repeats to the shape of the product"},
               {.name = "X", .doc = "m x k"},
               {.name = "Y", .doc = "k x n"}},
    .outputs = {{.name = "Out", .doc = "m x n"}},
    .attrs = {{"Alpha", 1.0f, "factor of the product"}, {"Beta", 1.0f, "factor of Input"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
