// flotilla/ops/nn/layer_norm.cu
//
// layer_norm on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slices.cuh"

namespace flotilla::ops {
namespace {

// A slice for each sample.
GpuSlices samples_of(const PrepareContext& c) {
  const Shape& x = c.shape("X");
  const int64_t begin = c.attr<int64_t>("begin_norm_axis");
  return Slices{x.numel(0, begin), x.numel(begin, x.rank()), 1};
}

// Scale and Bias may be null.
template <typename T>
struct Forward {
  const T *x, *scale, *bias;
  T *y, *mean, *variance;
  T epsilon;
};

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    forward_kernel(cuda::GroupShape shape, GpuSlices samples, Forward<T> p) {
  const GroupSlice sample(shape, samples);
  const T n = static_cast<T>(samples.n);
  const T m = sample.fold<SumFold, T>([&](int64_t at) { return p.x[at]; }) / n;
  const T v = sample.fold<SumFold, T>([&](int64_t at) {
    const T off = p.x[at] - m;
    return off * off;
  }) / n;
  const T unit = 1 / std::sqrt(v + p.epsilon);
  sample.each([&](int64_t at) {
    const int64_t i = at - sample.begin();
    const T scaled = (p.x[at] - m) * unit * (p.scale != nullptr ? p.scale[i] : T{1});
    p.y[at] = scaled + (p.bias != nullptr ? p.bias[i] : T{0});
  });
  if (!sample.leads()) return;
  p.mean[sample.number()] = m;
  p.variance[sample.number()] = v;
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return [samples = samples_of(c), epsilon = static_cast<T>(c.attr<float>("epsilon")),
          stream = c.around().stream, x = c.in<T>("X"), scale = given<T>(c, "Scale"),
          bias = given<T>(c, "Bias"), y = c.out<T>("Y"), mean = c.out<T>("Mean"),
          variance = c.out<T>("Variance")] {
    const Forward<T> parameters = {x.data(), data_or_null(scale), data_or_null(bias),
                                   y.data(), mean.data(),         variance.data(),
                                   epsilon};
    const cuda::GroupShape groups = samples.groups();
    cuda::launch_groups(stream, samples.count, groups, forward_kernel<T>, groups, samples,
                        parameters);
  };
};

// What the gradients read; Scale may be null.
template <typename T>
struct Backward {
  const T *x, *scale, *mean, *variance, *dy;
  T epsilon;

  __device__ T unit(int64_t sample) const { return 1 / std::sqrt(variance[sample] + epsilon); }
};

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    input_grad_kernel(cuda::GroupShape shape, GpuSlices samples, Backward<T> p, T* dx) {
  const GroupSlice sample(shape, samples);
  const T m = sample.here() ? p.mean[sample.number()] : T{0};
  const T unit = sample.here() ? p.unit(sample.number()) : T{0};
  const auto gradient = [&](int64_t at) {
    return p.dy[at] * (p.scale != nullptr ? p.scale[at - sample.begin()] : T{1});
  };
  const T n = static_cast<T>(samples.n);
  const T mean_g = sample.fold<SumFold, T>(gradient) / n;
  const T mean_gh =
      sample.fold<SumFold, T>([&](int64_t at) { return gradient(at) * (p.x[at] - m) * unit; }) / n;
  sample.each([&](int64_t at) {
    dx[at] = (gradient(at) - mean_g - (p.x[at] - m) * unit * mean_gh) * unit;
  });
}

// Of Scale, or of Bias where x is not wanted: a sum over the samples.
template <typename T>
struct LoadShare {
  Backward<T> p;
  bool of_scale;
  __device__ T operator()(int64_t from, int64_t, int64_t sample) const {
    const T g = p.dy[from];
    return of_scale ? g * (p.x[from] - p.mean[sample]) * p.unit(sample) : g;
  }
};

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const GpuSlices samples = samples_of(c);
  const GpuFold fold({samples.count, samples.n}, {1, samples.n});
  return [samples, fold, epsilon = static_cast<T>(c.attr<float>("epsilon")),
          stream = c.around().stream, x = c.in<T>("X"), scale = given<T>(c, "Scale"),
          mean = c.in<T>("Mean"), variance = c.in<T>("Variance"), dy = c.in<T>("Y@GRAD"),
          dx = wanted<T>(c, "X@GRAD"), dscale = wanted<T>(c, "Scale@GRAD"),
          dbias = wanted<T>(c, "Bias@GRAD"), work = c.workspace<T>(fold.workspace())] {
    const Backward<T> parameters = {x.data(),        data_or_null(scale), mean.data(),
                                    variance.data(), dy.data(),           epsilon};
    if (dx) {
      const cuda::GroupShape groups = samples.groups();
      cuda::launch_groups(stream, samples.count, groups, input_grad_kernel<T>, groups, samples,
                          parameters, dx.data());
    }
    for (const bool of_scale : {true, false}) {
      const Out<T>& to = of_scale ? dscale : dbias;
      if (!to) continue;
      fold.run<SumFold, T>(stream, LoadShare<T>{parameters, of_scale},
                           StoreFinished<T, AsItIs>{to.data(), {}}, work.data());
    }
  };
};

[[maybe_unused]] const bool kLayerNorm =
    add_kernels("layer_norm", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("layer_norm_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
