// flotilla/ops/loss/pointwise.cc
//
// Losses of a prediction and a label, element by element, as operators: log_loss, bce_loss and
// hinge_loss. Their formulas are in ops/common/loss_formulas.h.

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/loss_formulas.h"
#include "flotilla/ops/common/map.h"

namespace flotilla::ops {
namespace {

template <typename F>
void infer(InferContext& c) {
  const Shape& x = c.in(F::kInfo.x).shape;
  const Shape& y = c.in(F::kInfo.y).shape;
  const bool fits = x == y || ((!x.known() || !y.known()) && x.rank() == y.rank());
  require(fits, "{} and {} must have one shape, but they are {} and {}", F::kInfo.x, F::kInfo.y, x,
          y);
  c.out(F::kInfo.out) = c.in(F::kInfo.x);
}

template <typename F, typename T>
Compute<T> epsilon_of(const PrepareContext& c) {
  return F::kInfo.has_epsilon ? static_cast<Compute<T>>(c.attr<float>("epsilon")) : 0;
}

template <typename F, typename T>
Step forward(PrepareContext& c) {
  return
      [n = c.shape(F::kInfo.x).numel(), f = loss::LossForward<F, Compute<T>>{epsilon_of<F, T>(c)},
       x = c.in<T>(F::kInfo.x), y = c.in<T>(F::kInfo.y), out = c.out<T>(F::kInfo.out)] {
        map(n, kGrainOperations / 16, f, out.data(), x.data(), y.data());
      };
}

template <typename F, typename T>
Step backward(PrepareContext& c) {
  return
      [n = c.shape(F::kInfo.x).numel(), f = loss::LossBackward<F, Compute<T>>{epsilon_of<F, T>(c)},
       x = c.in<T>(F::kInfo.x), y = c.in<T>(F::kInfo.y), dout = c.in<T>(grad_name(F::kInfo.out)),
       dx = c.out<T>(grad_name(F::kInfo.x))] {
        map(n, kGrainOperations / 4, f, dx.data(), x.data(), y.data(), dout.data());
      };
}

template <typename F>
void define() {
  std::vector<AttrSpec> attrs;
  if (F::kInfo.has_epsilon) attrs = {{"epsilon", 1e-4f, "keeps the logarithms finite"}};
  define_op(
      {.type = F::kInfo.type,
       .doc = F::kInfo.doc,
       .inputs = {{F::kInfo.x, "predictions"},
                  {.name = F::kInfo.y, .doc = "labels", .no_grad = true}},
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
