// flotilla/ops/loss/label_smooth.cc
//
// label_smooth: Out = (1 - epsilon) * X + epsilon * PriorDist, by default 1 / classes.

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/lower.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 1, "X must have rank 1 or more, but has shape {}", x);
  check_count(c, "PriorDist", x[x.rank() - 1]);
  c.out("Out") = c.in("X");
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  const int64_t n = shape.numel(), classes = shape[shape.rank() - 1];
  c.in_place("X", "Out");
  return [n, classes, epsilon = static_cast<T>(c.attr<float>("epsilon")), x = c.in<T>("X"),
          prior = given<T>(c, "PriorDist"), out = c.out<T>("Out")] {
    const T same = epsilon / static_cast<T>(classes);
    parallel_for(n, 4, [&](int64_t i) {
      const T rest = prior ? epsilon * prior.data()[i % classes] : same;
      out.data()[i] = (1 - epsilon) * x.data()[i] + rest;
    });
  };
};

void lower_grad(LowerContext& c) {
  c.result("X@GRAD", c.scale(c.in("Out@GRAD"), 1 - c.attr<float>("epsilon")));
}

const OpDef& label_smooth = define_op({
    .type = "label_smooth",
    .doc = "Moves labels a little towards a distribution over all classes.",
    .inputs = {{"X", "labels, [..., classes]"}, optional_constant("PriorDist", "[1, classes]")},
    .outputs = {{.name = "Out", .doc = "like X", .like = "X"}},
    .attrs = {{"epsilon", 0.0f, "how much of the labels is given away"}},
    .infer = infer,
    .grad = grad_op({}, {.lower = lower_grad}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
