// flotilla/ops/nn/batch_norm.cuh
//
// The loops of batch norm on a GPU, over channels that lie last, as rows of 16 bytes at a time, or
// first, each by itself. In both, a block works on one piece of some channels, and a thread on the
// same channels all the time, so that it holds what it needs of them in registers:
//
//   1. sums of a piece, in Compute<T>          [pieces][2][channels]
//   2. their totals, in double, and what follows from them for each channel
//   3. the elements
//
// Pieces depend on shapes alone, so that sums have the same bits on any GPU.

#pragma once

#include <algorithm>

#include "flotilla/device/cuda/convert.cuh"
#include "flotilla/device/cuda/reduce.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/nn/batch_norm.h"

namespace flotilla::ops {

struct ChannelsOnGpu {
  int64_t channels = 0;
  int64_t spatial = 1;  // elements of a channel that lie side by side; 1: channels lie last
  int64_t count = 0;    // elements of a channel
  bool last = false;

  explicit ChannelsOnGpu(const ChannelBlocks& b)
      : channels(b.channels), count(b.batch * b.spatial), last(b.blocks == 1) {
    invariant(b.blocks == 1 || b.lanes == 1, "batch_norm on a GPU takes no blocks of channels");
    if (!last) spatial = b.spatial;
  }

  // How far the first elements of neighbouring channels lie apart.
  FLT_FN int64_t step() const { return spatial; }
  // Whether vectors of `n` elements never end within a row.
  bool fits(int n) const { return (last ? channels : spatial) % n == 0; }
};

// How a block walks: a thread's vectors of N elements, row by row of kRows.
template <int N, bool kLast>
class ChannelLoop {
 public:
  static constexpr int kColumns = !kLast ? 1 : N == 1 ? 32 : 8;  // vectors of a row
  static constexpr int kRows = cuda::kGroupThreads / kColumns;
  static constexpr int kChannels = kLast ? kColumns * N : 1;  // of a block

  // The blocks for about `wanted` of them, each thread with `each` vectors at least.
  static dim3 grid(const ChannelsOnGpu& c, int64_t wanted, int64_t each) {
    const int64_t columns = (c.channels + kChannels - 1) / kChannels;
    const int64_t rows = kLast ? c.count : c.count / N;
    const int64_t pieces =
        std::clamp<int64_t>(wanted / columns, 1, std::max<int64_t>(rows / (kRows * each), 1));
    return dim3(static_cast<unsigned>(columns), static_cast<unsigned>(pieces));
  }

  __device__ explicit ChannelLoop(const ChannelsOnGpu& c) : c_(c) {
    const int thread = static_cast<int>(threadIdx.x);
    column_ = thread % kColumns;
    row_ = thread / kColumns;
    channel_ = int64_t{blockIdx.x} * kChannels + column_ * (kLast ? N : 1);
  }

  __device__ bool here() const { return channel_ < c_.channels; }
  // That of element i of a vector.
  __device__ int64_t channel(int i) const { return kLast ? channel_ + i : channel_; }
  __device__ int row() const { return row_; }
  __device__ int column() const { return column_; }

  // Calls use(at, load(at)) for each of the thread's vectors; kAhead of them are loaded first.
  template <int kAhead, typename Load, typename Use>
  __device__ void each(Load load, Use use) const {
    if (!here()) return;
    const int64_t rows = kLast ? c_.count : c_.count / N, step = int64_t{gridDim.y} * kRows;
    for (int64_t row = int64_t{blockIdx.y} * kRows + row_; row < rows; row += kAhead * step) {
      decltype(load(int64_t{})) vectors[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (row + k * step < rows) vectors[k] = load(place(row + k * step));
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (row + k * step < rows) use(place(row + k * step), vectors[k]);
      }
    }
  }

  // Leaves the sums of both, over the block, in parts[blockIdx.y]. All threads call it.
  template <typename C>
  __device__ void put_sums(const C (&a)[N], const C (&b)[N], C* parts) const {
    C* const to = parts + int64_t{blockIdx.y} * 2 * c_.channels;
    if constexpr (kLast) {
      __shared__ C sums[2][kRows][kChannels];
      for (int i = 0; i < N; ++i) {
        sums[0][row_][column_ * N + i] = a[i];
        sums[1][row_][column_ * N + i] = b[i];
      }
      __syncthreads();
      const int which = static_cast<int>(threadIdx.x) / kChannels;
      const int own = static_cast<int>(threadIdx.x) % kChannels;
      const int64_t channel = int64_t{blockIdx.x} * kChannels + own;
      if (which > 1 || channel >= c_.channels) return;
      C total = 0;
      for (int r = 0; r < kRows; ++r) total += sums[which][r][own];
      to[which * c_.channels + channel] = total;
    } else {
      const cuda::Group group({.lanes = cuda::kGroupThreads});
      C both[2] = {};
      for (int i = 0; i < N; ++i) {
        both[0] += a[i];
        both[1] += b[i];
      }
      for (C& sum : both) sum = group.fold<SumFold>(sum);
      if (threadIdx.x != 0) return;
      to[channel_] = both[0];
      to[c_.channels + channel_] = both[1];
    }
  }

 private:
  __device__ int64_t place(int64_t row) const {
    if constexpr (kLast) return row * c_.channels + channel_;
    const int64_t each = c_.spatial / N, image = cuda::quotient(row, each);
    return (image * c_.channels + channel_) * c_.spatial + (row - image * each) * N;
  }

  ChannelsOnGpu c_;
  int column_, row_;
  int64_t channel_;
};

// Blocks for sums, fixed so that their order is; and for the rest.
inline constexpr int64_t kSumBlocks = 528, kElementBlocks = 2112;

// What the sums of all pieces take, with whatever vectors: a block has 64 channels at most, and as
// many pieces as blocks are left for them.
inline int64_t sums_workspace(const ChannelsOnGpu& c) {
  return 2 * std::max<int64_t>(kSumBlocks * 64, c.channels);
}

// A group for each channel.
inline cuda::GroupShape channel_groups(int64_t channels) {
  cuda::GroupShape shape{.lanes = cuda::kWarp, .across = true};
  shape.blocks = (channels + shape.groups() - 1) / shape.groups();
  return shape;
}

// The totals of a channel's sums.
struct ChannelTotals {
  double a = 0, b = 0;

  template <typename C>
  __device__ ChannelTotals(const cuda::Group& group, const C* parts, int64_t pieces,
                           int64_t channels, int64_t channel) {
    if (channel < channels) {
      for (int64_t p = group.lane(); p < pieces; p += group.lanes()) {
        a += static_cast<double>(parts[2 * p * channels + channel]);
        b += static_cast<double>(parts[(2 * p + 1) * channels + channel]);
      }
    }
    a = group.fold<SumFold>(a);
    b = group.fold<SumFold>(b);
  }
};

// Calls f(std::integral_constant<int, N>, std::bool_constant<kLast>) for the vectors and the order
// that there are; `vectors`: all addresses are multiples of 16.
template <typename T, typename F>
void with_channel_loop(const ChannelsOnGpu& c, bool vectors, F f) {
  constexpr int kMost = cuda::kVector<T>;
  using Vector = std::integral_constant<int, kMost>;
  using One = std::integral_constant<int, 1>;
  vectors = vectors && c.fits(kMost);
  if (c.last) {
    vectors ? f(Vector(), std::true_type()) : f(One(), std::true_type());
  } else {
    vectors ? f(Vector(), std::false_type()) : f(One(), std::false_type());
  }
}

}  // namespace flotilla::ops
