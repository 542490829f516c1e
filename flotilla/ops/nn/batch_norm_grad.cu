// flotilla/ops/nn/batch_norm_grad.cu
//
// The gradients of batch_norm, fused_bn_act and fused_bn_add_act on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/nn/batch_norm.cuh"

namespace flotilla::ops {
namespace {

// With relu, dy counts where y is above zero.
template <typename T, int N, bool kRelu>
struct Elements {
  cuda::Pack<T, N> x, dy, y;

  Elements() = default;
  __device__ Elements(int64_t at, const T* from_x, const T* from_dy, const T* from_y)
      : x(cuda::load_pack<N>(from_x + at)),
        dy(cuda::load_pack<N>(from_dy + at)),
        y(cuda::load_pack<N>(from_y + at)) {}
  __device__ Compute<T> gradient(int i) const {
    const Compute<T> g = cuda::loaded(dy.lane[i]);
    return cuda::loaded(y.lane[i]) > 0 ? g : Compute<T>{0};
  }
};

template <typename T, int N>
struct Elements<T, N, false> {
  cuda::Pack<T, N> x, dy;

  Elements() = default;
  __device__ Elements(int64_t at, const T* from_x, const T* from_dy, const T*)
      : x(cuda::load_pack<N>(from_x + at)), dy(cuda::load_pack<N>(from_dy + at)) {}
  __device__ Compute<T> gradient(int i) const { return cuda::loaded(dy.lane[i]); }
};

// Sums of dy and of dy * (x - mean).
template <typename T, int N, bool kLast, bool kRelu>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    sums_kernel(ChannelsOnGpu channels, const Compute<T>* mean, const T* x, const T* y, const T* dy,
                Compute<T>* parts) {
  using C = Compute<T>;
  const ChannelLoop<N, kLast> loop(channels);
  C centre[N] = {}, sum[N] = {}, products[N] = {};
  if (loop.here()) {
#pragma unroll
    for (int i = 0; i < N; ++i) centre[i] = mean[loop.channel(i)];
  }
  loop.template each<2>([&](int64_t at) { return Elements<T, N, kRelu>(at, x, dy, y); },
                        [&](int64_t, const Elements<T, N, kRelu>& read) {
#pragma unroll
                          for (int i = 0; i < N; ++i) {
                            const C g = read.gradient(i);
                            sum[i] += g;
                            products[i] += g * (cuda::loaded(read.x.lane[i]) - centre[i]);
                          }
                        });
  loop.put_sums(sum, products, parts);
}

// dx = dy * a - b - (x - centre) * d
template <typename C>
struct Slope {
  C *a, *b, *d;
};

template <typename C>
struct BackwardParameters {
  double epsilon;
  bool running;  // the statistics: spread is a variance then, else 1 / standard deviation
  const C *spread, *scale;  // scale may be null
  C *dscale, *dbias;        // may be null
};

// `parts`: null where nobody needs the sums.
template <typename C>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    totals_kernel(cuda::GroupShape shape, ChannelsOnGpu channels, int64_t pieces, const C* parts,
                  BackwardParameters<C> p, Slope<C> slope) {
  const cuda::Group group(shape);
  const int64_t channel = group.number();
  const ChannelTotals totals(group, parts, parts != nullptr ? pieces : 0, channels.channels,
                             channel);
  if (channel >= channels.channels || group.lane() != 0) return;
  const double spread = static_cast<double>(p.spread[channel]);
  const double inverse = p.running ? 1 / std::sqrt(spread + p.epsilon) : spread;
  if (p.dscale != nullptr) p.dscale[channel] = static_cast<C>(totals.b * inverse);
  if (p.dbias != nullptr) p.dbias[channel] = static_cast<C>(totals.a);
  const double a = inverse * (p.scale != nullptr ? static_cast<double>(p.scale[channel]) : 1);
  const double n = static_cast<double>(channels.count);
  slope.a[channel] = static_cast<C>(a);
  slope.b[channel] = p.running ? C{0} : static_cast<C>(a * totals.a / n);
  slope.d[channel] = p.running ? C{0} : static_cast<C>(a * inverse * inverse * totals.b / n);
}

// dx, or dz (the gradient that relu lets through), may be null.
template <typename T, int N, bool kLast, bool kRelu>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    gradient_kernel(ChannelsOnGpu channels, Slope<Compute<T>> slope, const Compute<T>* mean,
                    const T* x, const T* y, const T* dy, T* dx, T* dz) {
  using C = Compute<T>;
  const ChannelLoop<N, kLast> loop(channels);
  C centre[N] = {}, a[N] = {}, b[N] = {}, d[N] = {};
  if (loop.here()) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int64_t channel = loop.channel(i);
      centre[i] = mean[channel];
      a[i] = slope.a[channel];
      b[i] = slope.b[channel];
      d[i] = slope.d[channel];
    }
  }
  loop.template each<2>([&](int64_t at) { return Elements<T, N, kRelu>(at, x, dy, y); },
                        [&](int64_t at, const Elements<T, N, kRelu>& read) {
                          cuda::Pack<T, N> cut, result;
#pragma unroll
                          for (int i = 0; i < N; ++i) {
                            const C g = read.gradient(i);
                            const C off = cuda::loaded(read.x.lane[i]) - centre[i];
                            cut.lane[i] = cuda::stored<T>(g);
                            result.lane[i] = cuda::stored<T>(g * a[i] - b[i] - off * d[i]);
                          }
                          if (dx != nullptr) cuda::store_pack<N>(dx + at, result);
                          if (dz != nullptr) cuda::store_pack<N>(dz + at, cut);
                        });
}

template <typename T, bool kAdd, bool kRelu>
Step backward(PrepareContext& c) {
  using C = Compute<T>;
  const BatchNormGrad<T, kAdd, kRelu> norm(c);
  const ChannelsOnGpu channels(norm.n.blocks);
  const bool sums = norm.dscale || norm.dbias || (norm.dx && !norm.running);
  return [=, stream = c.around().stream,
          parts = c.workspace<C>(sums ? sums_workspace(channels) : 0),
          slopes = c.workspace<C>(3 * channels.channels)] {
    const int64_t count = channels.channels;
    if (count == 0) return;
    const cudaStream_t queue = cuda::native(stream);
    const T *x = norm.x.data(), *dy = norm.dy.data(), *y = data_or_null(norm.y);
    T *const dx = data_or_null(norm.dx), *const dz = data_or_null(norm.dz);
    const C* const mean = norm.mean.data();
    C* const slope_data = slopes.data();
    const Slope<C> slope = {slope_data, slope_data + count, slope_data + 2 * count};
    // Null is a multiple of 16, too.
    const bool vectors = cuda::in_vectors(x) && cuda::in_vectors(dy) && cuda::in_vectors(y) &&
                         cuda::in_vectors(dx) && cuda::in_vectors(dz);
    with_channel_loop<T>(channels, vectors, [&](auto n, auto last) {
      constexpr int kN = decltype(n)::value;
      constexpr bool kLast = decltype(last)::value;
      using Loop = ChannelLoop<kN, kLast>;
      const dim3 grid = Loop::grid(channels, kSumBlocks, 2);
      if (sums) {
        sums_kernel<T, kN, kLast, kRelu>
            <<<grid, cuda::kGroupThreads, 0, queue>>>(channels, mean, x, y, dy, parts.data());
      }
      const BackwardParameters<C> parameters = {norm.n.epsilon,
                                                norm.running,
                                                norm.spread_of.data(),
                                                data_or_null(norm.scale),
                                                data_or_null(norm.dscale),
                                                data_or_null(norm.dbias)};
      const cuda::GroupShape groups = channel_groups(count);
      totals_kernel<C><<<static_cast<unsigned>(groups.blocks), cuda::kGroupThreads, 0, queue>>>(
          groups, channels, grid.y, sums ? parts.data() : nullptr, parameters, slope);
      if (channels.count > 0 && (dx != nullptr || dz != nullptr)) {
        gradient_kernel<T, kN, kLast, kRelu>
            <<<Loop::grid(channels, kElementBlocks, 2), cuda::kGroupThreads, 0, queue>>>(
                channels, slope, mean, x, y, dy, dx, dz);
      }
      cuda::check(cudaGetLastError(), "launch the gradient of batch_norm over {} channels", count);
    });
  };
}

template <bool kAdd, bool kRelu>
struct Backward {
  template <typename T>
  Step operator()(PrepareContext& c, Of<T>) const {
    return backward<T, kAdd, kRelu>(c);
  }
};

[[maybe_unused]] const bool kBatchNorm =
    add_kernels("batch_norm_grad", cuda_floats(Backward<false, false>())) &&
    add_kernels("fused_bn_act_grad", cuda_floats(Backward<false, true>())) &&
    add_kernels("fused_bn_add_act_grad", cuda_floats(Backward<true, true>()));

}  // namespace
}  // namespace flotilla::ops
