// flotilla/ops/nn/fsp.cc
//
// fsp: how the channels of two images go together (Yim et al., 2017):
//
//   Out[n][i][j] = the mean over the places of X[n][i] Y[n][j]

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  require(x.rank() == 4 && y.rank() == 4, "X and Y must have four axes, but have shapes {} and {}",
          x, y);
  for (const int64_t axis : {0, 2, 3}) {
    require(fits(x[axis], y[axis]),
            "X and Y may differ in their channels only, but have shapes {} and {}", x, y);
  }
  c.out("Out") = like(c.in("X"), {x[0], x[1], y[1]});
}

void lower(LowerContext& c) {
  const auto places = [&](const char* slot) { return c.flatten(c.in(slot), 2, 3); };
  const std::string x = places("X");
  const std::string sums = c.apply("matmul_v2", x, places("Y"), {{"trans_y", true}});
  const std::string ones = c.apply("fill_any_like", x, {{"value", 1.0f}});
  const std::string counts = c.sum(ones, {2}, true);
  c.result("Out", c.div(sums, counts));
}

const OpDef& fsp = define_op({
    .type = "fsp",
    .doc = "The mean products of the channels of X with those of Y.",
    .inputs = {{.name = "X", .doc = "[N, C, H, W]"}, {.name = "Y", .doc = "[N, D, H, W]"}},
    .outputs = {{.name = "Out", .doc = "[N, C, D]"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
