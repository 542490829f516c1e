// flotilla/ops/math/cumprod.cu
//
// cumprod on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/math/scan.cuh"

namespace flotilla::ops {
namespace {

template <typename T>
struct Product {
  T value;
  __device__ static Product start() { return {T{1}}; }
  __device__ static Product join(const Product& a, const Product& b) {
    return {T(a.value * b.value)};
  }
};

template <typename T>
struct LoadProduct {
  const T* x;
  __device__ Product<T> operator()(int64_t at, int64_t) const { return {x[at]}; }
};

template <typename T>
struct EmitProduct {
  T* y;
  __device__ void operator()(int64_t at, int64_t, const Product<T>&,
                             const Product<T>& after) const {
    y[at] = after.value;
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [walk = ScanWalk(slices(c.shape("X"), c.attr<int64_t>("dim")), false),
          stream = c.around().stream, x = c.in<T>("X"), y = c.out<T>("Out")] {
    scan<Product<T>>(stream, walk, LoadProduct<T>{x.data()}, EmitProduct<T>{y.data()});
  };
};

// S of cumprod.cc, from the end on.
template <typename T>
struct LoadGradient {
  const T *x, *dy;
  int64_t stride;
  __device__ Recurrence<T> operator()(int64_t at, int64_t i) const {
    return {i == 0 ? T{0} : x[at + stride], dy[at]};
  }
};

template <typename T>
struct EmitGradient {
  const T* y;
  T* dx;
  int64_t n, stride;
  __device__ void operator()(int64_t at, int64_t i, const Recurrence<T>&,
                             const Recurrence<T>& after) const {
    dx[at] = i == n - 1 ? after.sum : y[at - stride] * after.sum;
  }
};

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [walk = ScanWalk(slices(c.shape("X"), c.attr<int64_t>("dim")), true),
          stream = c.around().stream, x = c.in<T>("X"), y = c.in<T>("Out"),
          dy = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    scan<Recurrence<T>>(stream, walk, LoadGradient<T>{x.data(), dy.data(), walk.stride},
                        EmitGradient<T>{y.data(), dx.data(), walk.n, walk.stride});
  };
};

[[maybe_unused]] const bool kCumprod =
    add_kernels("cumprod", cuda_kernels_for<float, double, int32_t, int64_t>(forward)) &&
    add_kernels("cumprod_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
