// flotilla/ops/math/unary.h
//
// Kernels and definitions of operators of one tensor, element by element; their formulas are types
// (ops/common/unary_formula.h).

#pragma once

#include <string>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/map.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/common/unary_formula.h"
#include "flotilla/ops/common/unary_params.h"

namespace flotilla::ops {

// `layout` where f leaves padding zero, else plain.
inline Layout layout_for(const Layout& layout, const Shape& shape, bool keeps_zero) {
  const bool padded = layout.physical_numel(shape) != shape.numel();
  return padded && !keeps_zero ? Layout() : layout;
}

template <typename F, typename T>
Step unary_forward(PrepareContext& c) {
  using C = Compute<T>;
  constexpr const char *kX = F::kInfo.x, *kOut = F::kInfo.out;
  const ParamSource<F, T> params(c);
  const bool keeps_zero = params.fixed() && F::f(C{0}, params.get()) == C{0};
  const Layout layout = layout_for(c.layout(kX), c.shape(kX), keeps_zero);
  c.in_place(kX, kOut);
  return [n = layout.physical_numel(c.shape(kX)), params, in = c.in<T>(kX, 0, layout),
          out = c.out<T>(kOut, 0, layout)] {
    map(n, kGrainOperations, UnaryForward<F, C>{params.get()}, out.data(), in.data());
  };
}

template <typename F, typename T>
Step unary_backward(PrepareContext& c) {
  using C = Compute<T>;
  constexpr const char *kX = F::kInfo.x, *kOut = F::kInfo.out;
  const std::string dx = grad_name(kX), dout = grad_name(kOut);
  const ParamSource<F, T> params(c);
  const Shape& shape = c.shape(dout);
  const auto of_zero = [&](const Params<C>& p) {
    return F::df(C{0}, static_cast<C>(F::f(C{0}, p)), C{0}, p);
  };
  const bool keeps_zero = params.fixed() && of_zero(params.get()) == C{0};
  Layout layout = c.layout(dout);
  const UnaryGradReads reads(c, F::kInfo);
  if (layout.plain() && reads.x && c.shape(kX) == shape) layout = c.layout(kX);
  if (layout.plain() && reads.out && c.shape(kOut) == shape) layout = c.layout(kOut);
  layout = layout_for(layout, shape, keeps_zero);
  c.in_place(dout, dx);
  return [n = layout.physical_numel(shape), params, reads,
          in = reads.x ? c.in<T>(kX, 0, layout) : In<T>(),
          out = reads.out ? c.in<T>(kOut, 0, layout) : In<T>(), gradient = c.in<T>(dout, 0, layout),
          din = c.out<T>(dx, 0, layout)] {
    const T* g = gradient.data();
    const T* o = reads.out ? out.data() : g;
    const T* x = reads.x ? in.data() : o;
    map(n, kGrainOperations, UnaryBackward<F, C>{params.get()}, din.data(), x, o, g);
  };
}

inline void infer_unary(InferContext& c) {
  c.out(c.def().outputs[0].name) = like(c.in(c.def().inputs[0].name));
}
template <typename F>
void infer_unary_grad(InferContext& c) {
  c.out(grad_name(F::kInfo.x)) = like(c.in(grad_name(F::kInfo.out)));
}

inline OpDef unary_definition(const UnaryInfo& info) {
  OpDef def{.type = info.type,
            .doc = fmt::format("Out = {}, element by element.", info.formula),
            .inputs = {{.name = info.x, .doc = "tensor"}},
            .outputs = {{.name = info.out, .doc = "same shape and dtype as X"}},
            .infer = infer_unary,
            .dtype_slot = info.x};
  for (const UnaryParam& param : info.params) {
    if (param.name != nullptr) def.attrs.push_back({param.name, param.initial, param.doc});
    if (param.tensor == nullptr) continue;
    def.inputs.push_back(
        single(optional_constant(param.tensor, "one element, instead of the attribute")));
  }
  return def;
}

template <typename F>
inline constexpr auto kUnaryForward = []<typename T>(PrepareContext& c) -> Step {
  if constexpr (requires { F::template sparse_forward<T>(c); }) {
    if (c.is_sparse("X")) return F::template sparse_forward<T>(c);
  }
  return unary_forward<F, T>(c);
};
template <typename F>
inline constexpr auto kUnaryBackward =
    []<typename T>(PrepareContext& c) -> Step { return unary_backward<F, T>(c); };

template <typename F>
GradRule unary_gradient() {
  constexpr UnaryInfo kInfo = F::kInfo;
  constexpr int kGiven = kInfo.reads | kInfo.also_given;
  std::vector<Use> uses;
  if (kGiven & kReadsX) uses.push_back(kInfo.x);
  if (kGiven & kReadsOut) uses.push_back(kInfo.out);
  for (const UnaryParam& param : kInfo.params) {
    if (param.tensor != nullptr) uses.push_back(param.tensor);
  }
  return grad_op(std::move(uses),
                 {.kernels = kernels_for<float, double, Half, BFloat16>(kUnaryBackward<F>),
                  .infer = infer_unary_grad<F>,
                  // Releases differ in which of both they write.
                  .inputs = {maybe(kInfo.x, "input of the op", kInfo.reads & kReadsX),
                             maybe(kInfo.out, "result of the op", kInfo.reads != kReadsNothing)}});
}

// Defines the operator F, with forward kernels for floats and the dtypes T and gradients for
// floats. `grad_to_paddle`: GradOp::to_paddle.
template <typename F, typename... T>
void define_unary(void (*grad_to_paddle)(Block& block, size_t position) = nullptr) {
  OpDef def = unary_definition(F::kInfo);
  def.kernels = kernels_for<float, double, Half, BFloat16, T...>(kUnaryForward<F>);
  def.grad = unary_gradient<F>();
  def.grad.op.to_paddle = grad_to_paddle;
  define_op(std::move(def));
}

}  // namespace flotilla::ops
