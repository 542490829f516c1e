// flotilla/ops/math/unary.h
//
// Kernels and definitions of operators of one tensor, element by element; their formulas are types
// (ops/common/unary_formula.h).

#pragma once

#include <string>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/map.h"
#include "flotilla/ops/common/unary_formula.h"
#include "flotilla/ops/common/unary_params.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {

// `layout` where f leaves padding zero, else plain.
inline Layout layout_for(const Layout& layout, const Shape& shape, bool keeps_zero) {
  const bool padded = layout.physical_numel(shape) != shape.numel();
  return padded && !keeps_zero ? Layout() : layout;
}

template <typename F, typename T>
Step unary_forward(PrepareContext& c) {
  using C = Compute<T>;
  const ParamSource<F, T> params(c);
  const bool keeps_zero = params.fixed() && F::f(C{0}, params.get()) == C{0};
  const Layout layout = layout_for(c.layout("X"), c.shape("X"), keeps_zero);
  c.in_place("X", "Out");
  return [n = layout.physical_numel(c.shape("X")), params, in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out", 0, layout)] {
    map(n, kGrainOperations, UnaryForward<F, C>{params.get()}, out.data(), in.data());
  };
}

template <typename F, typename T>
Step unary_backward(PrepareContext& c) {
  using C = Compute<T>;
  const ParamSource<F, T> params(c);
  const Shape& shape = c.shape("Out@GRAD");
  const auto of_zero = [&](const Params<C>& p) {
    return F::df(C{0}, static_cast<C>(F::f(C{0}, p)), C{0}, p);
  };
  const bool keeps_zero = params.fixed() && of_zero(params.get()) == C{0};
  Layout layout = c.layout("Out@GRAD");
  const UnaryGradReads reads(c, F::kInfo.reads);
  if (layout.plain() && reads.x && c.shape("X") == shape) layout = c.layout("X");
  if (layout.plain() && reads.out && c.shape("Out") == shape) layout = c.layout("Out");
  layout = layout_for(layout, shape, keeps_zero);
  c.in_place("Out@GRAD", "X@GRAD");
  return [n = layout.physical_numel(shape), params, reads,
          in = reads.x ? c.in<T>("X", 0, layout) : In<T>(),
          out = reads.out ? c.in<T>("Out", 0, layout) : In<T>(),
          dout = c.in<T>("Out@GRAD", 0, layout), din = c.out<T>("X@GRAD", 0, layout)] {
    const T* g = dout.data();
    const T* o = reads.out ? out.data() : g;
    const T* x = reads.x ? in.data() : o;
    map(n, kGrainOperations, UnaryBackward<F, C>{params.get()}, din.data(), x, o, g);
  };
}

inline void infer_unary(InferContext& c) { c.out("Out") = like(c.in("X")); }
inline void infer_unary_grad(InferContext& c) { c.out("X@GRAD") = like(c.in("Out@GRAD")); }

inline OpDef unary_definition(const UnaryInfo& info) {
  OpDef def{.type = info.type,
            .doc = fmt::format("Out = {}, element by element.", info.formula),
            .inputs = {{.name = "X", .doc = "tensor"}},
            .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
            .infer = infer_unary,
            .dtype_slot = "X"};
  for (const UnaryParam& param : info.params) {
    if (param.name != nullptr) def.attrs.push_back({param.name, param.initial, param.doc});
    if (param.tensor == nullptr) continue;
    def.inputs.push_back({.name = param.tensor,
                          .doc = "one element, instead of the attribute",
                          .optional = true,
                          .no_grad = true,
                          .one = true});
  }
  return def;
}

inline GradRule unary_gradient(const UnaryInfo& info, std::vector<Kernel> kernels) {
  const int given = info.reads | info.also_given;
  std::vector<Use> uses;
  if (given & kReadsX) uses.push_back("X");
  if (given & kReadsOut) uses.push_back("Out");
  for (const UnaryParam& param : info.params) {
    if (param.tensor != nullptr) uses.push_back(param.tensor);
  }
  return grad_op(std::move(uses), {.kernels = std::move(kernels),
                                   .infer = infer_unary_grad,
                                   // Releases differ in which of both they write.
                                   .inputs = {{.name = "X",
                                               .doc = "input of the op",
                                               .optional = true,
                                               .shape_only = !(info.reads & kReadsX)},
                                              {.name = "Out",
                                               .doc = "result of the op",
                                               .optional = true,
                                               .shape_only = info.reads == kReadsNothing}}});
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

// Defines the operator F, with forward kernels for floats and the dtypes T and gradients for
// floats. `spell_out_grad`: GradOp::spell_out.
template <typename F, typename... T>
void define_unary(void (*spell_out_grad)(Block& block, size_t position) = nullptr) {
  OpDef def = unary_definition(F::kInfo);
  def.kernels = kernels_for<float, double, Half, BFloat16, T...>(kUnaryForward<F>);
  def.grad =
      unary_gradient(F::kInfo, kernels_for<float, double, Half, BFloat16>(kUnaryBackward<F>));
  def.grad.op.spell_out = spell_out_grad;
  define_op(std::move(def));
}

}  // namespace flotilla::ops
