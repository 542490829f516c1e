// flotilla/ops/math/cumsum_logcumsumexp.cu
//
// The operators of cumsum_logcumsumexp.cc on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/scan_formulas.h"
#include "flotilla/ops/math/scan.cuh"

namespace flotilla::ops {
namespace {

// A gradient walks back: `reverse` need not be the attribute.
ScanWalk walk_of(const PrepareContext& c, const Shape& shape, bool reverse) {
  return {slices(shape, c.attr<int64_t>("axis"), c.attr<bool>("flatten")), reverse};
}

// ---- cumsum -------------------------------------------------------------------------------------

template <typename T>
struct Sum {
  T value;
  __device__ static Sum start() { return {T{0}}; }
  __device__ static Sum join(const Sum& a, const Sum& b) { return {T(a.value + b.value)}; }
};

template <typename T>
struct LoadSum {
  const T* x;
  __device__ Sum<T> operator()(int64_t at, int64_t) const { return {x[at]}; }
};

template <typename T>
struct EmitSum {
  T* y;
  bool exclusive;
  __device__ void operator()(int64_t at, int64_t, const Sum<T>& before, const Sum<T>& after) const {
    y[at] = exclusive ? before.value : after.value;
  }
};

template <typename T>
Step running_sum(PrepareContext& c, std::string_view in, std::string_view out, const Shape& shape,
                 bool reverse) {
  return [walk = walk_of(c, shape, reverse), exclusive = c.attr<bool>("exclusive"),
          stream = c.around().stream, x = c.in<T>(in), y = c.out<T>(out)] {
    scan<Sum<T>>(stream, walk, LoadSum<T>{x.data()}, EmitSum<T>{y.data(), exclusive});
  };
}

constexpr auto cumsum_forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return running_sum<T>(c, "X", "Out", c.shape("X"), c.attr<bool>("reverse"));
};

constexpr auto cumsum_backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return running_sum<T>(c, "Out@GRAD", "X@GRAD", c.shape("X@GRAD"), !c.attr<bool>("reverse"));
};

// ---- logcumsumexp -------------------------------------------------------------------------------

template <typename T>
struct LoadLogSum {
  const T* x;
  __device__ LogSum<T> operator()(int64_t at, int64_t) const { return {x[at], T{1}}; }
};

template <typename T>
struct EmitLogSum {
  T* y;
  bool exclusive;
  __device__ void operator()(int64_t at, int64_t, const LogSum<T>& before,
                             const LogSum<T>& after) const {
    y[at] = exclusive ? before.get() : after.get();
  }
};

constexpr auto log_forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [walk = walk_of(c, c.shape("X"), c.attr<bool>("reverse")),
          exclusive = c.attr<bool>("exclusive"), stream = c.around().stream, x = c.in<T>("X"),
          y = c.out<T>("Out")] {
    scan<LogSum<T>>(stream, walk, LoadLogSum<T>{x.data()}, EmitLogSum<T>{y.data(), exclusive});
  };
};

// G of logcumsumexp, from the gradient of an element and what Out falls by from the one before.
template <typename T>
struct LoadGradient {
  const T *y, *dy;
  int64_t step;
  __device__ Recurrence<T> operator()(int64_t at, int64_t i) const {
    return {i == 0 ? T{0} : ratio(y[at], y[at - step]), dy[at]};
  }
};

template <typename T>
struct EmitGradient {
  const T *x, *y;
  T* dx;
  int64_t step;
  bool exclusive;
  __device__ void operator()(int64_t at, int64_t i, const Recurrence<T>& before,
                             const Recurrence<T>& after) const {
    if (!exclusive) {
      dx[at] = std::exp(x[at] - y[at]) * after.sum;
    } else {
      dx[at] = i == 0 ? T{0} : std::exp(x[at] - y[at - step]) * before.sum;
    }
  }
};

constexpr auto log_backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const ScanWalk walk = walk_of(c, c.shape("X"), !c.attr<bool>("reverse"));
  return [walk, step = walk.reverse ? -walk.stride : walk.stride,
          exclusive = c.attr<bool>("exclusive"), stream = c.around().stream, x = c.in<T>("X"),
          y = c.in<T>("Out"), dy = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    scan<Recurrence<T>>(stream, walk, LoadGradient<T>{y.data(), dy.data(), step},
                        EmitGradient<T>{x.data(), y.data(), dx.data(), step, exclusive});
  };
};

[[maybe_unused]] const bool kScans =
    add_kernels("cumsum", cuda_kernels_for<float, double, int32_t, int64_t>(cumsum_forward)) &&
    add_kernels("cumsum_grad", cuda_kernels_for<float, double>(cumsum_backward)) &&
    add_kernels("logcumsumexp", cuda_kernels_for<float, double>(log_forward)) &&
    add_kernels("logcumsumexp_grad", cuda_kernels_for<float, double>(log_backward));

}  // namespace
}  // namespace flotilla::ops
