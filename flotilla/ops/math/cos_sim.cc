// flotilla/ops/math/cos_sim.cc
//
// cos_sim: Out[n] = X[n] . Y[n] / (|X[n]| |Y[n]|), the cosine of the angle between two rows; one
// row of Y meets all of X. XNorm and YNorm are the lengths, at least 1e-4.

#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.shape.rank() >= 2 && x.shape.rank() == y.shape.rank(),
          "X and Y must have one rank of 2 or more, but have shapes {} and {}", x.shape, y.shape);
  for (int64_t a = 0; a < x.shape.rank(); ++a) {
    const int64_t of_x = x.shape[a], of_y = y.shape[a];
    require(of_x < 0 || of_y < 0 || of_x == of_y || (a == 0 && of_y == 1),
            "Y must have the shape of X, or one row of it, but they are {} and {}", y.shape,
            x.shape);
  }
  c.out("Out") = like(x, {x.shape[0], 1});
  c.out("XNorm") = VarMeta::tensor(x.dtype, {x.shape[0], 1});
  c.out("YNorm") = VarMeta::tensor(x.dtype, {y.shape[0], 1});
}

// Of the products of two rows each.
std::string row_sums(LowerContext& c, const std::string& x, const std::string& y) {
  std::vector<int32_t> axes;
  for (int64_t a = 1; a < c.shape("X").rank(); ++a) axes.push_back(static_cast<int32_t>(a));
  return c.reshape(c.sum(c.mul(x, y), axes), {-1, 1});
}

void lower(LowerContext& c) {
  const auto length_of = [&](const std::string& x) {
    return c.apply("sqrt", c.clip(row_sums(c, x, x), 1e-8f, 3e38f));
  };
  const std::string x = length_of(c.in("X")), y = length_of(c.in("Y"));
  c.result("XNorm", x);
  c.result("YNorm", y);
  c.result("Out", c.div(row_sums(c, c.in("X"), c.in("Y")), c.mul(x, y)));
}

const OpDef& cos_sim = define_op({
    .type = "cos_sim",
    .doc = "The cosines of the angles between the rows of X and of Y.",
    .inputs = {{.name = "X", .doc = "[rows, ...]"}, {.name = "Y", .doc = "as X, or one row"}},
    .outputs = {{.name = "Out", .doc = "[rows, 1]"},
                {.name = "XNorm", .doc = "lengths of the rows of X", .no_grad = true},
                {.name = "YNorm", .doc = "lengths of the rows of Y", .no_grad = true}},
    .attrs = {{"@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true, "of programs of 1.8; ignored"}},
    .infer = infer,
    .grad = grad_of_body({"X", "Y", "XNorm", "YNorm", "Out"}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
