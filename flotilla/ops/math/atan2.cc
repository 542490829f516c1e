// flotilla/ops/math/atan2.cc
//
// atan2: the angle of the point (X2, X1), in (-pi, pi]. Whole numbers give f64.
//
//   dX1 = dOut X2 / (X1^2 + X2^2);  dX2 = -dOut X1 / (X1^2 + X2^2)

#include <cmath>
#include <type_traits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta &x1 = c.in("X1"), &x2 = c.in("X2");
  require(x1.dtype == x2.dtype, "X1 and X2 must have one dtype, but hold {} and {}", x1.dtype,
          x2.dtype);
  const bool known = x1.shape.known() && x2.shape.known();
  require(x1.shape == x2.shape || (!known && x1.shape.rank() == x2.shape.rank()),
          "X1 and X2 must have one shape, but they are {} and {}", x1.shape, x2.shape);
  c.out("Out") = like(x1);
  if (!is_floating(x1.dtype)) c.out("Out").dtype = f64;
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

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return
      [n = c.shape("X1").numel(), x1 = c.in<T>("X1"), x2 = c.in<T>("X2"),
       dout = c.in<T>("Out@GRAD"), dx1 = wanted<T>(c, "X1@GRAD"), dx2 = wanted<T>(c, "X2@GRAD")] {
        parallel_for(n, kCost, [&](int64_t i) {
          const T a = x1.data()[i], b = x2.data()[i], g = dout.data()[i] / (a * a + b * b);
          if (dx1) dx1.data()[i] = g * b;
          if (dx2) dx2.data()[i] = -g * a;
        });
      };
};

const OpDef& atan2 = define_op({
    .type = "atan2",
    .doc = "The angle of the point (X2, X1), element by element.",
    .inputs = {{.name = "X1", .doc = "tensor"}, {.name = "X2", .doc = "same shape as X1"}},
    .outputs = {{.name = "Out", .doc = "same shape as X1"}},
    .infer = infer,
    .grad = grad_op({"X1", "X2"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
