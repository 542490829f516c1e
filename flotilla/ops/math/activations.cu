// flotilla/ops/math/activations.cu
//
// The activation functions of layers on a GPU: kernels for operators that activations.cc defines.
// The formulas are those of activations.cc, a NaN included (it becomes 0).

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

struct Relu {
  template <typename T>
  __device__ T operator()(T x) const {
    return x > T{0} ? x : T{0};
  }
};

struct ReluGrad {
  template <typename T>
  __device__ T operator()(T out, T g) const {
    return out > T{0} ? g : T{0};
  }
};

// Out = f(X)
template <typename F, typename T>
Step forward(PrepareContext& c) {
  c.in_place("X", "Out");
  return [n = c.shape("X").numel(), processors = cuda::multiprocessors(), stream = c.stream(),
          x = c.in<T>("X"),
          out = c.out<T>("Out")] { cuda::map(stream, processors, n, F{}, out.data(), x.data()); };
}

// X@GRAD = f(Out, Out@GRAD), for activations whose derivative follows from their result.
template <typename F, typename T>
Step backward(PrepareContext& c) {
  c.in_place("Out@GRAD", "X@GRAD");
  return
      [n = c.shape("Out@GRAD").numel(), processors = cuda::multiprocessors(), stream = c.stream(),
       out = c.in<T>("Out"), g = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
        cuda::map(stream, processors, n, F{}, dx.data(), out.data(), g.data());
      };
}

[[maybe_unused]] const bool relu =
    add_kernels("relu", {{kCuda, f32, forward<Relu, float>}, {kCuda, f64, forward<Relu, double>}});
[[maybe_unused]] const bool relu_grad = add_kernels(
    "relu_grad",
    {{kCuda, f32, backward<ReluGrad, float>}, {kCuda, f64, backward<ReluGrad, double>}});

}  // namespace
}  // namespace flotilla::ops
