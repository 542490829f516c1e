// flotilla/ops/math/nextafter.cc
//
// nextafter: the number beside x on the way to y.

#include <cmath>

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/map.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_one_dtype(c, "x", "y");
  check_one_shape(c, "x", "y");
  c.out("out") = like(c.in("x"));
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("x").numel(), x = c.in<T>("x"), y = c.in<T>("y"), out = c.out<T>("out")] {
    map(
        n, kGrainOperations, [](T from, T to) { return std::nextafter(from, to); }, out.data(),
        x.data(), y.data());
  };
};

const OpDef& nextafter = define_op({
    .type = "nextafter",
    .doc = "The number beside x on the way to y, element by element.",
    .inputs = {{.name = "x", .doc = "tensor"}, {.name = "y", .doc = "same shape as x"}},
    .outputs = {{.name = "out", .doc = "same shape as x"}},
    .infer = infer,
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
