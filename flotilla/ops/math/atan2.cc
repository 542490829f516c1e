// flotilla/ops/math/atan2.cc
//
// atan2: the angle of the point (X2, X1), in (-pi, pi]. Whole numbers give f64.
//
//   dX1 = dOut X2 / (X1^2 + X2^2);  dX2 = -dOut X1 / (X1^2 + X2^2)

#include <cmath>
#include <type_traits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_one_dtype(c, "X1", "X2");
  check_one_shape(c, "X1", "X2");
  c.out("Out") = like(c.in("X1"));
  if (!is_floating(c.dtype("X1"))) c.out("Out").dtype = f64;
}

constexpr int64_t kCost = 32;  // simple operations for an angle, roughly

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  using Angle = std::conditional_t<std::is_floating_point_v<T>, T, double>;
  return [n = c.shape("X1").numel(), x1 = c.in<T>("X1"), x2 = c.in<T>("X2"),
          out = c.out<Angle>("Out")] {
    parallel_for(n, kCost, [&](int64_t i) {
      out.data()[i] =
          std::atan2(static_cast<Angle>(x1.data()[i]), static_cast<Angle>(x2.data()[i]));
    });
  };
};

void lower_grad(LowerContext& c) {
  const std::string squares = c.add(c.apply("square", c.in("X1")), c.apply("square", c.in("X2")));
  const std::string slope = c.div(c.in("Out@GRAD"), squares);
  c.result("X1@GRAD", c.mul(slope, c.in("X2")));
  c.result("X2@GRAD", c.mul(c.scale(slope, -1), c.in("X1")));
}

const OpDef& atan2 = define_op({
    .type = "atan2",
    .doc = "The angle of the point (X2, X1), element by element.",
    .inputs = {{.name = "X1", .doc = "tensor"}, {.name = "X2", .doc = "same shape as X1"}},
    .outputs = {{.name = "Out", .doc = "same shape as X1"}},
    .infer = infer,
    .grad = grad_op({"X1", "X2"}, {.lower = lower_grad}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
