// flotilla/ops/nn/batch_norm.cu
//
// batch_norm, fused_bn_act and fused_bn_add_act on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/nn/batch_norm.cuh"

namespace flotilla::ops {
namespace {

// Sums of x - x0 and of its square, where x0 is the first element of the channel: their size is
// that of the deviation, so that nothing is lost where a mean is large.
template <typename T, int N, bool kLast>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    sums_kernel(ChannelsOnGpu channels, const T* x, Compute<T>* parts) {
  using C = Compute<T>;
  const ChannelLoop<N, kLast> loop(channels);
  C first[N] = {}, sum[N] = {}, squares[N] = {};
  if (loop.here()) {
#pragma unroll
    for (int i = 0; i < N; ++i) first[i] = cuda::loaded(x[loop.channel(i) * channels.step()]);
  }
  loop.template each<4>([&](int64_t at) { return cuda::load_pack<N>(x + at); },
                        [&](int64_t, const cuda::Pack<T, N>& pack) {
#pragma unroll
                          for (int i = 0; i < N; ++i) {
                            const C off = cuda::loaded(pack.lane[i]) - first[i];
                            sum[i] += off;
                            squares[i] += off * off;
                          }
                        });
  loop.put_sums(sum, squares, parts);
}

// What a channel needs to be normalized: (x - centre) * factor + shift.
template <typename C>
struct Line {
  C *centre, *factor, *shift;
};

template <typename T>
struct ForwardParameters {
  using C = Compute<T>;

  double epsilon, momentum;
  bool saves;  // else there is nothing to be told of the batch, and what is saved is zero
  const float* momentum_given;                              // instead, where it is not null
  const C *mean, *variance, *scale, *bias;                  // the latter may be null
  C *mean_out, *variance_out, *saved_mean, *saved_inverse;  // may be null
};

// `parts`: null where the running statistics are taken.
template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    statistics_kernel(cuda::GroupShape shape, ChannelsOnGpu channels, int64_t pieces,
                      const Compute<T>* parts, const T* x, ForwardParameters<T> p,
                      Line<Compute<T>> line) {
  using C = Compute<T>;
  const cuda::Group group(shape);
  const int64_t channel = group.number();
  const bool batch = parts != nullptr;
  const ChannelTotals totals(group, parts, batch ? pieces : 0, channels.channels, channel);
  if (channel >= channels.channels || group.lane() != 0) return;
  double mean = static_cast<double>(p.mean[channel]);
  double variance = static_cast<double>(p.variance[channel]);
  C moved_mean = p.mean[channel], moved_variance = p.variance[channel];
  if (batch) {
    const double n = static_cast<double>(channels.count), off = totals.a / n;
    const double kept =
        p.momentum_given != nullptr ? static_cast<double>(*p.momentum_given) : p.momentum;
    const double running_mean = mean, running_variance = variance;
    mean = static_cast<double>(cuda::loaded(x[channel * channels.step()])) + off;
    variance = larger_of(totals.b / n - off * off, 0.0);
    moved_mean = static_cast<C>(running_mean * kept + mean * (1 - kept));
    moved_variance = static_cast<C>(running_variance * kept + variance * (1 - kept));
  }
  const double inverse = 1 / std::sqrt(variance + p.epsilon);
  if (p.saved_mean != nullptr) p.saved_mean[channel] = static_cast<C>(p.saves ? mean : 0);
  if (p.saved_inverse != nullptr) p.saved_inverse[channel] = static_cast<C>(p.saves ? inverse : 0);
  if (p.mean_out != nullptr) p.mean_out[channel] = moved_mean;
  if (p.variance_out != nullptr) p.variance_out[channel] = moved_variance;
  const double scale = p.scale != nullptr ? static_cast<double>(p.scale[channel]) : 1;
  line.centre[channel] = static_cast<C>(mean);
  line.factor[channel] = static_cast<C>(inverse * scale);
  line.shift[channel] = p.bias != nullptr ? p.bias[channel] : C{0};
}

template <typename T, int N, bool kAdd>
struct Elements {
  cuda::Pack<T, N> x, z;
};
template <typename T, int N>
struct Elements<T, N, false> {
  cuda::Pack<T, N> x;
};

template <typename T, int N, bool kLast, bool kAdd, bool kRelu>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    normalize_kernel(ChannelsOnGpu channels, Line<Compute<T>> line, const T* x, const T* z, T* y) {
  using C = Compute<T>;
  const ChannelLoop<N, kLast> loop(channels);
  C centre[N] = {}, factor[N] = {}, shift[N] = {};
  if (loop.here()) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      centre[i] = line.centre[loop.channel(i)];
      factor[i] = line.factor[loop.channel(i)];
      shift[i] = line.shift[loop.channel(i)];
    }
  }
  loop.template each<kAdd ? 2 : 4>(
      [&](int64_t at) {
        Elements<T, N, kAdd> read;
        read.x = cuda::load_pack<N>(x + at);
        if constexpr (kAdd) read.z = cuda::load_pack<N>(z + at);
        return read;
      },
      [&](int64_t at, const Elements<T, N, kAdd>& read) {
        cuda::Pack<T, N> result;
#pragma unroll
        for (int i = 0; i < N; ++i) {
          C value = (cuda::loaded(read.x.lane[i]) - centre[i]) * factor[i] + shift[i];
          if constexpr (kAdd) value += cuda::loaded(read.z.lane[i]);
          if constexpr (kRelu) value = value > 0 ? value : C{0};
          result.lane[i] = cuda::stored<T>(value);
        }
        cuda::store_pack<N>(y + at, result);
      });
}

template <typename T, bool kAdd, bool kRelu>
Step forward(PrepareContext& c) {
  using C = Compute<T>;
  const BatchNorm<T, kAdd, kRelu> norm(c);
  const ChannelsOnGpu channels(norm.n.blocks);
  const bool batch = norm.n.batch_statistics && channels.count > 0;
  const bool saves = norm.n.batch_statistics;
  return [=, stream = c.around().stream,
          saved_mean = saves ? norm.statistics.saved_mean : wanted<C>(c, "SavedMean"),
          saved_inverse = saves ? norm.statistics.saved_inverse : wanted<C>(c, "SavedVariance"),
          parts = c.workspace<C>(batch ? sums_workspace(channels) : 0),
          lines = c.workspace<C>(3 * channels.channels)] {
    const int64_t count = channels.channels;
    if (count == 0) return;
    const cudaStream_t queue = cuda::native(stream);
    const T *x = norm.x.data(), *z = data_or_null(norm.z);
    T* const y = norm.y.data();
    C* const line_data = lines.data();
    const Line<C> line = {line_data, line_data + count, line_data + 2 * count};
    const bool vectors =
        cuda::in_vectors(x) && cuda::in_vectors(y) && (!kAdd || cuda::in_vectors(z));
    with_channel_loop<T>(channels, vectors, [&](auto n, auto last) {
      constexpr int kN = decltype(n)::value;
      constexpr bool kLast = decltype(last)::value;
      using Loop = ChannelLoop<kN, kLast>;
      const dim3 grid = Loop::grid(channels, kSumBlocks, 4);
      if (batch) {
        sums_kernel<T, kN, kLast>
            <<<grid, cuda::kGroupThreads, 0, queue>>>(channels, x, parts.data());
      }
      const auto& s = norm.statistics;
      const ForwardParameters<T> parameters = {norm.n.epsilon,
                                               norm.n.momentum,
                                               saves,
                                               data_or_null(s.momentum),
                                               s.mean.data(),
                                               s.variance.data(),
                                               data_or_null(norm.scale),
                                               data_or_null(norm.bias),
                                               data_or_null(s.mean_out),
                                               data_or_null(s.variance_out),
                                               data_or_null(saved_mean),
                                               data_or_null(saved_inverse)};
      const cuda::GroupShape groups = channel_groups(count);
      statistics_kernel<T><<<static_cast<unsigned>(groups.blocks), cuda::kGroupThreads, 0, queue>>>(
          groups, channels, grid.y, batch ? parts.data() : nullptr, x, parameters, line);
      if (channels.count > 0) {
        normalize_kernel<T, kN, kLast, kAdd, kRelu>
            <<<Loop::grid(channels, kElementBlocks, kAdd ? 2 : 4), cuda::kGroupThreads, 0, queue>>>(
                channels, line, x, z, y);
      }
      cuda::check(cudaGetLastError(), "launch batch_norm over {} channels", count);
    });
  };
}

template <bool kAdd, bool kRelu>
struct Forward {
  template <typename T>
  Step operator()(PrepareContext& c, Of<T>) const {
    return forward<T, kAdd, kRelu>(c);
  }
};

[[maybe_unused]] const bool kBatchNorm =
    add_kernels("batch_norm", cuda_floats(Forward<false, false>())) &&
    add_kernels("fused_bn_act", cuda_floats(Forward<false, true>())) &&
    add_kernels("fused_bn_add_act", cuda_floats(Forward<true, true>()));

}  // namespace
}  // namespace flotilla::ops
