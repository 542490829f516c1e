// flotilla/ops/math/math_functions.cc
//
// The functions of a pocket calculator, and those of analysis, as operators; their formulas are in
// ops/common/math_formulas.h and special_formulas.h.

#include <concepts>

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/math_formulas.h"
#include "flotilla/ops/common/merge_rows.h"
#include "flotilla/ops/common/special_formulas.h"
#include "flotilla/ops/math/unary.h"

namespace flotilla::ops {
namespace {

// clip takes sparse rows too. Rows that repeat add up before they are compared.
struct SparseClip : unary::Clip {
  template <std::floating_point T>
  static Step sparse_forward(PrepareContext& c) {
    const SparseIn<T> x = c.sparse_in<T>("X");
    return [x, params = ParamSource<Clip, T>(c), out = c.sparse_out<T>("Out"),
            order = c.workspace<int64_t>(x.count)] {
      const int64_t sums = merge_rows(x, out, order.data());
      const Params<T> p = params.get();
      T* values = out.value.data();
      for (int64_t i = 0; i < sums * x.width; ++i) values[i] = f(values[i], p);
    };
  }
};

// sign has no gradient op of its own: its gradient is zero times that of the result.
void sign_grad(GradContext& g) {
  hand_back(g, "scale", {{"scale", 0.0f}, {"bias", 0.0f}, {"bias_after_scale", true}});
}

const OpDef& sign = define_op({
    .type = "sign",
    .doc = "Out = -1, 0 or 1, as X is less than, equal to or greater than 0.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .infer = infer_unary,
    .grad = custom_grad(sign_grad),
    .kernels =
        kernels_for<float, double, Half, BFloat16, int32_t, int64_t>(kUnaryForward<unary::Sign>),
});

const bool kDefined = [] {
  for_each(unary::FloatFunctions{}, []<typename F>() { define_unary<F>(); });
  for_each(unary::SpecialFunctions{}, []<typename F>() { define_unary<F>(); });
  for_each(unary::NumberFunctions{}, []<typename F>() {
    using Defined = std::conditional_t<std::is_same_v<F, unary::Clip>, SparseClip, F>;
    define_unary<Defined, int32_t, int64_t>();
  });
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
