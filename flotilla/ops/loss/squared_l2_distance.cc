// flotilla/ops/loss/squared_l2_distance.cc
//
// squared_l2_distance: Out = row sums of the squares of X - Y; one row of Y meets all of X

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  require(x.rank() >= 2 && x.rank() == y.rank(),
          "X and Y must have one rank of 2 or more, but have shapes {} and {}", x, y);
  const int64_t width = x.numel(1, x.rank());
  require((y[0] == 1 || fits(x[0], y[0])) && fits(width, y.numel(1, y.rank())),
          "Y must have as many rows of as many elements as X, or one row, but they are {} and {}",
          y, x);
  c.out("sub_result") = VarMeta::tensor(c.dtype("X"), Shape{x[0], width});
  c.out("Out") = like(c.in("X"), Shape{x[0], 1});
}

void lower(LowerContext& c) {
  const auto rows = [&](const char* slot) { return c.reshape(c.in(slot), {0, -1}); };
  const std::string difference = c.sub(rows("X"), rows("Y"));
  c.result("sub_result", difference);
  c.result("Out", c.sum(c.apply("square", difference), {1}, true));
}

const OpDef& squared_l2_distance = define_op({
    .type = "squared_l2_distance",
    .doc = "The squares of the distances between the rows of X and of Y.",
    .inputs = {{.name = "X", .doc = "[rows, ...]"}, {.name = "Y", .doc = "as X, or one row"}},
    .outputs = {constant("sub_result", "X - Y, row by row"), {.name = "Out", .doc = "[rows, 1]"}},
    .infer = infer,
    .grad = grad_of_body({"sub_result", "X", "Y"}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
