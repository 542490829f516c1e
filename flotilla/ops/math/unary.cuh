// flotilla/ops/math/unary.cuh
//
// Kernels on a GPU for operators of one tensor that a .cc file defines, from the same formulas
// (ops/common/unary_formula.h). Those whose parameters may come from tensors have none yet.

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

template <typename F, typename T>
Step cuda_unary_forward(PrepareContext& c) {
  const Layout order = dense_order(c.layout("X"));
  c.in_place("X", "Out");
  return [n = c.shape("X").numel(), processors = c.around().gpu->info().processors,
          stream = c.around().stream, f = UnaryForward<F, Compute<T>>{ParamSource<F, T>(c).get()},
          x = c.in<T>("X", 0, order), out = c.out<T>("Out", 0, order)] {
    cuda::map(stream, processors, n, f, out.data(), x.data());
  };
}

template <typename F, typename T>
Step cuda_unary_backward(PrepareContext& c) {
  const UnaryGradReads reads(c, F::kInfo);
  const Layout order = dense_order(c.layout("Out@GRAD"));
  c.in_place("Out@GRAD", "X@GRAD");
  return [n = c.shape("Out@GRAD").numel(), processors = c.around().gpu->info().processors,
          stream = c.around().stream, reads,
          f = UnaryBackward<F, Compute<T>>{ParamSource<F, T>(c).get()},
          in = reads.x ? c.in<T>("X", 0, order) : In<T>(),
          result = reads.out ? c.in<T>("Out", 0, order) : In<T>(),
          dout = c.in<T>("Out@GRAD", 0, order), dx = c.out<T>("X@GRAD", 0, order)] {
    const T* g = dout.data();
    const T* o = reads.out ? result.data() : g;
    const T* x = reads.x ? in.data() : o;
    cuda::map(stream, processors, n, f, dx.data(), x, o, g);
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
  static_assert(((F::kInfo.params[0].tensor == nullptr) && ...));
  ((add_kernels(F::kInfo.type, cuda_float_kernels<CudaUnaryForward<F>>()),
    add_kernels(std::string(F::kInfo.type) + "_grad", cuda_float_kernels<CudaUnaryBackward<F>>())),
   ...);
  return true;
}

}  // namespace flotilla::ops
