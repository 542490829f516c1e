// flotilla/ops/math/unary.cuh
//
// Kernels on a GPU for operators of one tensor that a .cc file defines, from the same formulas
// (ops/common/unary_formula.h). Parameters that come from tensors are read on the GPU.

#pragma once

#include <string>

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/dense_order.h"
#include "flotilla/ops/common/types.h"
#include "flotilla/ops/common/unary_formula.h"
#include "flotilla/ops/common/unary_params.h"

namespace flotilla::ops {

// A function of elements whose parameters come from tensors, where those are given.
template <typename Function, typename T>
struct FromTensors {
  Function f;
  const T *a, *b, *c;  // null: as f.p has it

  __device__ auto operator()(auto... elements) const {
    Function g = f;
    if (a != nullptr) g.p.a = widen(*a);
    if (b != nullptr) g.p.b = widen(*b);
    if (c != nullptr) g.p.c = widen(*c);
    return g(elements...);
  }
};

// UnaryForward or UnaryBackward with the parameters of this run.
template <template <typename, typename> typename Function, typename F, typename T>
auto with_params(const ParamSource<F, T>& params) {
  const Function<F, Compute<T>> f{params.attributes()};
  constexpr const UnaryParam* kParams = F::kInfo.params;
  constexpr bool kFromTensors =
      kParams[0].tensor != nullptr || kParams[1].tensor != nullptr || kParams[2].tensor != nullptr;
  if constexpr (kFromTensors) {
    return FromTensors<Function<F, Compute<T>>, T>{f, params.tensor(0), params.tensor(1),
                                                   params.tensor(2)};
  } else {
    return f;
  }
}

template <typename F, typename T>
Step cuda_unary_forward(PrepareContext& c) {
  constexpr const char *kX = F::kInfo.x, *kOut = F::kInfo.out;
  const Layout layout = dense_order(c.layout(kX));
  c.in_place(kX, kOut);
  return [n = c.shape(kX).numel(), processors = c.around().gpu->info().processors,
          stream = c.around().stream, params = ParamSource<F, T>(c), x = c.in<T>(kX, 0, layout),
          out = c.out<T>(kOut, 0, layout)] {
    cuda::map(stream, processors, n, with_params<UnaryForward>(params), out.data(), x.data());
  };
}

template <typename F, typename T>
Step cuda_unary_backward(PrepareContext& c) {
  constexpr const char *kX = F::kInfo.x, *kOut = F::kInfo.out;
  const std::string dout = grad_name(kOut), dx = grad_name(kX);
  const UnaryGradReads reads(c, F::kInfo);
  const Shape& shape = c.shape(dout);
  Layout layout = dense_order(c.layout(dout));
  const auto follow = [&](const char* slot) {
    if (layout.plain() && c.shape(slot) == shape) layout = dense_order(c.layout(slot));
  };
  if (reads.x) follow(kX);
  if (reads.out) follow(kOut);
  c.in_place(dout, dx);
  return [n = shape.numel(), processors = c.around().gpu->info().processors,
          stream = c.around().stream, reads, params = ParamSource<F, T>(c),
          in = reads.x ? c.in<T>(kX, 0, layout) : In<T>(),
          result = reads.out ? c.in<T>(kOut, 0, layout) : In<T>(),
          gradient = c.in<T>(dout, 0, layout), din = c.out<T>(dx, 0, layout)] {
    const T* g = gradient.data();
    const T* o = reads.out ? result.data() : g;
    const T* x = reads.x ? in.data() : o;
    cuda::map(stream, processors, n, with_params<UnaryBackward>(params), din.data(), x, o, g);
  };
}

// A row of the kernel table for each float type; `Make` has a function make<T>.
template <typename Make>
std::vector<Kernel> cuda_float_kernels() {
  return {{kCuda, f32, Make::template make<float>},
          {kCuda, f64, Make::template make<double>},
          {kCuda, f16, Make::template make<Half>},
          {kCuda, bf16, Make::template make<BFloat16>}};
}

template <typename F>
struct CudaUnaryForward {
  template <typename T>
  static Step make(PrepareContext& c) {
    return cuda_unary_forward<F, T>(c);
  }
};

template <typename F>
struct CudaUnaryBackward {
  template <typename T>
  static Step make(PrepareContext& c) {
    return cuda_unary_backward<F, T>(c);
  }
};

// Adds the kernels of all operators of a list, and of their gradients.
template <typename... F>
bool add_cuda_unary(Types<F...>) {
  ((add_kernels(F::kInfo.type, cuda_float_kernels<CudaUnaryForward<F>>()),
    add_kernels(std::string(F::kInfo.type) + "_grad", cuda_float_kernels<CudaUnaryBackward<F>>())),
   ...);
  return true;
}

// Those of whole numbers; they have no gradient.
template <typename... F>
bool add_cuda_unary_integers(Types<F...>) {
  return (add_kernels(F::kInfo.type, {{kCuda, i32, cuda_unary_forward<F, int32_t>},
                                      {kCuda, i64, cuda_unary_forward<F, int64_t>}}) &&
          ...);
}

}  // namespace flotilla::ops
