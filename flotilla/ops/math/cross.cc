// flotilla/ops/math/cross.cc
//
// cross: the cross product of X and Y along an axis of extent 3; `dim` 9 stands for the first such.
//
//   Out[i] = X[i + 1] Y[i + 2] - X[i + 2] Y[i + 1], counted round

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kFirstOfThree = 9;

template <typename Context>
int64_t axis_of(const Context& c, const Shape& x) {
  const int64_t dim = c.template attr<int64_t>("dim");
  if (dim != kFirstOfThree) {
    check_axis("X", x, dim);
    const int64_t axis = x.axis(dim);
    require(x[axis] == 3 || x[axis] < 0, "axis {} of X, which has shape {}, must have extent 3",
            dim, x);
    return axis;
  }
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] == 3) return axis;
  }
  refuse("cross needs an axis of extent 3, but X has shape {}", x);
}

void infer(InferContext& c) {
  check_one_shape(c, "X", "Y");
  axis_of(c, c.in("X").shape);
  c.out("Out") = like(c.in("X"));
}

// X and Y are moved so that the factors of each element stand at its place.
void lower(LowerContext& c) {
  const int64_t axis = axis_of(c, c.shape("X"));
  const auto moved = [&](std::string_view slot, int64_t by) {
    return c.apply("roll", c.in(slot), {{"shifts", Ints{-by}}, {"axis", Ints{axis}}});
  };
  const auto products = [&](int64_t of_x, int64_t of_y) {
    return c.mul(moved("X", of_x), moved("Y", of_y));
  };
  c.result("Out", c.sub(products(1, 2), products(2, 1)));
}

const OpDef& cross = define_op({
    .type = "cross",
    .doc = "The cross product along an axis of extent 3.",
    .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "same shape as X"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"dim", static_cast<int32_t>(kFirstOfThree),
               "the axis of extent 3; 9: the first there is"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
