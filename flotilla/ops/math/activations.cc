// flotilla/ops/math/activations.cc
//
// The activation functions of layers as operators; their formulas are in
// ops/common/activation_formulas.h.

#include "flotilla/op/export_to_paddle.h"
#include "flotilla/ops/common/activation_formulas.h"
#include "flotilla/ops/math/unary.h"

namespace flotilla::ops {
namespace {

// gelu is one operator in two forms.
constexpr auto gelu_forward = []<typename T>(PrepareContext& c) -> Step {
  return c.attr<bool>("approximate") ? unary_forward<unary::GeluTanh, T>(c)
                                     : unary_forward<unary::Gelu, T>(c);
};
constexpr auto gelu_backward = []<typename T>(PrepareContext& c) -> Step {
  return c.attr<bool>("approximate") ? unary_backward<unary::GeluTanh, T>(c)
                                     : unary_backward<unary::Gelu, T>(c);
};

const OpDef& gelu = define_op({
    .type = "gelu",
    .doc = "Out = X times the share of a normal distribution below X.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .attrs = {{"approximate", false, "by tanh instead of the error function"}},
    .infer = infer_unary,
    .grad = grad_op({"X"}, {.kernels = kernels_for<float, double, Half, BFloat16>(gelu_backward)}),
    .kernels = kernels_for<float, double, Half, BFloat16>(gelu_forward),
});

// Real Paddle's gradient of leaky_relu has Out besides.
void give_out(Block& block, size_t i) { add_output_of_forward(block, i, "X", "Out"); }

const bool kDefined = [] {
  for_each(unary::Activations{}, []<typename F>() {
    define_unary<F>(std::is_same_v<F, unary::LeakyRelu> ? give_out : nullptr);
  });
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
