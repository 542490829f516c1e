// flotilla/ops/math/isclose_allclose.cc
//
// isclose: |Input - Other| <= atol + rtol |Other|, element by element; allclose: whether all are.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/math/tolerance.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_one_shape(c, "Input", "Other");
  const bool each = c.def().type == "isclose";
  c.out("Out") = each ? like(c.in("Input")) : VarMeta::tensor(boolean, {1});
  c.out("Out").dtype = boolean;
}

constexpr auto isclose = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Input").numel(), rtol = Tolerance(c, "Rtol", "rtol", 1e-5),
          atol = Tolerance(c, "Atol", "atol", 1e-8), equal_nan = c.attr<bool>("equal_nan"),
          x = c.in<T>("Input"), y = c.in<T>("Other"), out = c.out<bool>("Out")] {
    const Close close = {rtol.get(), atol.get(), equal_nan};
    for (int64_t i = 0; i < n; ++i) out.data()[i] = close(x.data()[i], y.data()[i]);
  };
};

void lower_allclose(LowerContext& c) {
  Slots inputs;
  for (const char* slot : {"Input", "Other", "Rtol", "Atol"}) {
    if (c.has(slot)) inputs[slot] = {c.in(slot)};
  }
  c.result("Out", c.apply("reduce_all", c.append("isclose", std::move(inputs), c.given_attrs()),
                          {{"reduce_all", true}}));
}

const OpDef& define(std::string type, std::string doc, std::vector<Kernel> kernels,
                    void (*lower)(LowerContext&) = nullptr) {
  return define_op(
      {.type = std::move(type),
       .doc = std::move(doc),
       .inputs = {constant("Input", "tensor"), constant("Other", "same shape as Input"),
                  single(optional_constant("Rtol", "one f64")),
                  single(optional_constant("Atol", "one f64"))},
       .outputs = {constant("Out", "bool")},
       .attrs = {{"rtol", {}, "what may differ for each 1 of Other; 1e-5"},
                 {"atol", {}, "what may differ anyway; 1e-8"},
                 {"equal_nan", false, "two that are no numbers are close"}},
       .infer = infer,
       .kernels = std::move(kernels),
       .lower = lower,
       .dtype_slot = "Input"});
}

const OpDef& isclose_op = define("isclose", "Whether elements are close.",
                                 kernels_for<float, double, int32_t, int64_t>(isclose));
const OpDef& allclose_op =
    define("allclose", "Whether all elements are close.", {}, lower_allclose);

}  // namespace
}  // namespace flotilla::ops
