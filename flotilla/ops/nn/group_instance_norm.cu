// flotilla/ops/nn/group_instance_norm.cu
//
// group_norm and instance_norm on a GPU. Sums are taken in double, as on a CPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slices.cuh"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

bool is_instance(const PrepareContext& c) { return c.op().type().starts_with("instance_norm"); }

// Where the elements of a group lie: group % groups of image group / groups.
struct Groups {
  int64_t batch, channels, spatial, groups;
  bool last;  // channels innermost

  Groups(const PrepareContext& c, const char* slot) {
    const DataFormat format(is_instance(c) ? "NCHW" : c.attr<std::string>("data_layout"));
    const Shape x = format.first(c.shape(slot));
    batch = x[0];
    channels = x[1];
    spatial = x.numel(2, x.rank());
    groups = is_instance(c) ? channels : c.attr<int64_t>("groups");
    last = format.channels_last() && x.rank() > 2;
  }

  FLT_FN int64_t width() const { return channels / groups; }
  // A slice for each group; its elements are numbered as they lie in memory.
  GpuSlices slices() const { return Slices{batch * groups, width() * spatial, 1}; }

  struct Place {
    int64_t at, channel;
  };
  __device__ Place place(int64_t group, int64_t element) const {
    const int64_t image = cuda::quotient(group, groups), first = (group - image * groups) * width();
    if (!last) {
      return {group * width() * spatial + element, first + cuda::quotient(element, spatial)};
    }
    const int64_t row = cuda::quotient(element, width());
    const int64_t channel = first + (element - row * width());
    return {(image * spatial + row) * channels + channel, channel};
  }
};

// A number as double; `otherwise` where there is no tensor.
template <typename T>
__device__ double number(const T* in, int64_t i, double otherwise) {
  return in != nullptr ? static_cast<double>(in[i]) : otherwise;
}

// ---- Forward ------------------------------------------------------------------------------------

// Scale and Bias may be null. `instance`: spreads hold 1 / standard deviation, else the variance.
template <typename T>
struct Forward {
  const T *x, *scale, *bias;
  T *y, *means, *spreads;
  double epsilon;
  bool instance;
};

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    forward_kernel(cuda::GroupShape shape, GpuSlices slices, Groups g, Forward<T> p) {
  const GroupSlice slice(shape, slices);
  const auto place = [&](int64_t at) { return g.place(slice.number(), at - slice.begin()); };
  const double n = static_cast<double>(slices.n);
  const double mean = slice.fold<SumFold, double>([&](int64_t at) {
    return static_cast<double>(p.x[place(at).at]);
  }) / n;
  const double variance = slice.fold<SumFold, double>([&](int64_t at) {
    const double off = static_cast<double>(p.x[place(at).at]) - mean;
    return off * off;
  }) / n;
  const double inverse = 1 / std::sqrt(variance + p.epsilon);
  slice.each([&](int64_t at) {
    const Groups::Place here = place(at);
    const T factor = static_cast<T>(inverse) * (p.scale != nullptr ? p.scale[here.channel] : T{1});
    p.y[here.at] = (p.x[here.at] - static_cast<T>(mean)) * factor +
                   (p.bias != nullptr ? p.bias[here.channel] : T{0});
  });
  if (!slice.leads()) return;
  p.means[slice.number()] = static_cast<T>(mean);
  p.spreads[slice.number()] = static_cast<T>(p.instance ? inverse : variance);
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const bool instance = is_instance(c);
  return [g = Groups(c, "X"), instance, epsilon = static_cast<double>(c.attr<float>("epsilon")),
          stream = c.around().stream, x = c.in<T>("X"), scale = given<T>(c, "Scale"),
          bias = given<T>(c, "Bias"), y = c.out<T>("Y"),
          means = c.out<T>(instance ? "SavedMean" : "Mean"),
          spreads = c.out<T>(instance ? "SavedVariance" : "Variance")] {
    const GpuSlices slices = g.slices();
    const cuda::GroupShape shape = slices.groups();
    const Forward<T> parameters = {x.data(),
                                   data_or_null(scale),
                                   data_or_null(bias),
                                   y.data(),
                                   means.data(),
                                   spreads.data(),
                                   epsilon,
                                   instance};
    cuda::launch_groups(stream, slices.count, shape, forward_kernel<T>, shape, slices, g,
                        parameters);
  };
};

// ---- Backward -----------------------------------------------------------------------------------

// `means` is null in programs of Paddle 1.8, whose gradient op has Y in the place of X.
template <typename T>
struct Backward {
  const T *x, *scale, *bias, *means, *spreads, *dy;
  double epsilon;
  bool instance;

  __device__ double inverse(int64_t group) const {
    const double spread = static_cast<double>(spreads[group]);
    return instance ? spread : 1 / std::sqrt(spread + epsilon);
  }
  // Element `at` before Scale and Bias.
  __device__ double normal(int64_t group, int64_t channel, int64_t at, double inverse) const {
    const double value = static_cast<double>(x[at]);
    if (means != nullptr) return (value - static_cast<double>(means[group])) * inverse;
    const double by = number(scale, channel, 1);
    return by == 0 ? 0.0 : (value - number(bias, channel, 0)) / by;
  }
};

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    input_grad_kernel(cuda::GroupShape shape, GpuSlices slices, Groups g, Backward<T> p, T* dx) {
  const GroupSlice slice(shape, slices);
  const int64_t group = slice.number();
  const double n = static_cast<double>(slices.n), inverse = slice.here() ? p.inverse(group) : 0;
  const auto place = [&](int64_t at) { return g.place(group, at - slice.begin()); };
  const auto gradient = [&](const Groups::Place& here) {
    return static_cast<double>(p.dy[here.at]) * number(p.scale, here.channel, 1);
  };
  const double sum = slice.fold<SumFold, double>([&](int64_t at) { return gradient(place(at)); });
  const double dot = slice.fold<SumFold, double>([&](int64_t at) {
    const Groups::Place here = place(at);
    return gradient(here) * p.normal(group, here.channel, here.at, inverse);
  });
  slice.each([&](int64_t at) {
    const Groups::Place here = place(at);
    const double along = p.normal(group, here.channel, here.at, inverse) * dot / n;
    dx[here.at] = static_cast<T>(inverse * (gradient(here) - sum / n - along));
  });
}

// Of Scale, or of Bias: a sum over images and places, which `i` counts.
template <typename T>
struct LoadShare {
  Groups g;
  Backward<T> p;
  bool of_scale;
  __device__ double operator()(int64_t from, int64_t channel, int64_t i) const {
    const double dy = static_cast<double>(p.dy[from]);
    if (!of_scale) return dy;
    const int64_t group =
        cuda::quotient(i, g.spatial) * g.groups + cuda::quotient(channel, g.width());
    return dy * p.normal(group, channel, from, p.inverse(group));
  }
};

GpuFold channel_fold(const Groups& g) {
  if (g.last) return {{g.batch * g.spatial, g.channels}, {1, g.channels}};
  return {{g.batch, g.channels, g.spatial}, {1, g.channels, 1}};
}

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const bool instance = is_instance(c), from_x = c.has("X");
  require(from_x || (!instance && c.has("Y")), "{} needs the input \"X\" (as before)",
          c.op().type());
  const Groups g(c, "Y@GRAD");
  const GpuFold fold = channel_fold(g);
  return [g, fold, instance, epsilon = static_cast<double>(c.attr<float>("epsilon")),
          stream = c.around().stream, spreads = c.in<T>(instance ? "SavedVariance" : "Variance"),
          means = from_x ? c.in<T>(instance ? "SavedMean" : "Mean") : In<T>(),
          x = c.in<T>(from_x ? "X" : "Y"), scale = given<T>(c, "Scale"),
          bias = from_x ? In<T>() : given<T>(c, "Bias"), dy = c.in<T>("Y@GRAD"),
          dx = wanted<T>(c, "X@GRAD"), dscale = wanted<T>(c, "Scale@GRAD"),
          dbias = wanted<T>(c, "Bias@GRAD"), work = c.workspace<double>(fold.workspace())] {
    const Backward<T> parameters = {x.data(),
                                    data_or_null(scale),
                                    data_or_null(bias),
                                    data_or_null(means),
                                    spreads.data(),
                                    dy.data(),
                                    epsilon,
                                    instance};
    if (dx) {
      const GpuSlices slices = g.slices();
      const cuda::GroupShape shape = slices.groups();
      cuda::launch_groups(stream, slices.count, shape, input_grad_kernel<T>, shape, slices, g,
                          parameters, dx.data());
    }
    for (const bool of_scale : {true, false}) {
      const Out<T>& to = of_scale ? dscale : dbias;
      if (!to) continue;
      fold.run<SumFold, double>(stream, LoadShare<T>{g, parameters, of_scale},
                                StoreFinished<T, AsItIs>{to.data(), {}}, work.data());
    }
  };
};

[[maybe_unused]] const bool kNorms =
    add_kernels("group_norm", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("group_norm_grad", cuda_kernels_for<float, double>(backward)) &&
    add_kernels("instance_norm", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("instance_norm_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
