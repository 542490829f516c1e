// flotilla/ops/math/increment.cc
//
// increment: adds `step` to a counter.

#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.numel() == 1 || x.numel() == -1,
          "increment counts with one element, but X has shape {}", x);
  c.out("Out") = like(c.in("X"));
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  c.in_place("X", "Out");
  return [step = static_cast<T>(c.attr<float>("step")), x = c.in<T>("X"), out = c.out<T>("Out")] {
    *out.data() = static_cast<T>(*x.data() + step);
  };
};

const OpDef& increment = define_op({
    .type = "increment",
    .doc = "Out = X + step.",
    .inputs = {{.name = "X", .doc = "one element"}},
    .outputs = {{.name = "Out", .doc = "same as X; mostly the same variable"}},
    .attrs = {{"step", 1.0f, "how much is added"}},
    .infer = infer,
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
