// flotilla/ops/loss/pointwise.cc
//
// Losses of a prediction and a label, element by element, as operators: log_loss, bce_loss,
// hinge_loss and teacher_student_sigmoid_loss. Their formulas are in ops/common/loss_formulas.h.

#include "flotilla/ops/common/loss_formulas.h"
#include "flotilla/ops/common/map.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/common/unary_params.h"

namespace flotilla::ops {
namespace {

template <typename F>
void infer(InferContext& c) {
  const Shape &x = c.in(F::kInfo.x).shape, &y = c.in(F::kInfo.y).shape;
  const auto is_column = [](const Shape& shape) { return shape.rank() == 2 && shape[1] == 1; };
  require(!F::kInfo.columns || (is_column(x) && is_column(y)),
          "{} and {} must be columns, but have shapes {} and {}", F::kInfo.x, F::kInfo.y, x, y);
  check_one_shape(c, F::kInfo.x, F::kInfo.y);
  c.out(F::kInfo.out) = c.in(F::kInfo.x);
}

template <typename F, typename T>
Step forward(PrepareContext& c) {
  using Function = loss::LossForward<F, Compute<T>>;
  return [n = c.shape(F::kInfo.x).numel(), f = Function{ParamSource<F, T>(c).get()},
          x = c.in<T>(F::kInfo.x), y = c.in<T>(F::kInfo.y), out = c.out<T>(F::kInfo.out)] {
    map(n, kGrainOperations / 16, f, out.data(), x.data(), y.data());
  };
}

template <typename F, typename T>
Step backward(PrepareContext& c) {
  using Function = loss::LossBackward<F, Compute<T>>;
  return [n = c.shape(F::kInfo.x).numel(), f = Function{ParamSource<F, T>(c).get()},
          x = c.in<T>(F::kInfo.x), y = c.in<T>(F::kInfo.y), dout = c.in<T>(grad_name(F::kInfo.out)),
          dx = c.out<T>(grad_name(F::kInfo.x))] {
    map(n, kGrainOperations / 4, f, dx.data(), x.data(), y.data(), dout.data());
  };
}

template <typename F>
void define() {
  std::vector<AttrSpec> attrs;
  for (const UnaryParam& param : F::kInfo.params) {
    if (param.name != nullptr) attrs.push_back({param.name, param.initial, param.doc});
  }
  define_op(
      {.type = F::kInfo.type,
       .doc = F::kInfo.doc,
       .inputs = {{F::kInfo.x, "predictions"}, constant(F::kInfo.y, "labels")},
       .outputs = {{F::kInfo.out, "a loss for each prediction"}},
       .attrs = std::move(attrs),
       .infer = infer<F>,
       .grad = grad_op({F::kInfo.x, F::kInfo.y},
                       {.kernels = kernels_for<float, double, Half, BFloat16>(
                            []<typename T>(PrepareContext& c) { return backward<F, T>(c); })}),
       .kernels = kernels_for<float, double, Half, BFloat16>(
           []<typename T>(PrepareContext& c) { return forward<F, T>(c); })});
}

const bool kDefined = [] {
  for_each(loss::PointwiseLosses{}, []<typename F>() { define<F>(); });
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
