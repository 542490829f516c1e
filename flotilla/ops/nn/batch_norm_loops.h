// flotilla/ops/nn/batch_norm_loops.h
//
// The loops of batch norm over a tensor in memory as [batch][blocks][spatial][lanes] (channels.h).
//
// A task is a strip of up to 16 channels: neighbouring lanes of a block, or, where a block is one
// channel (plain), that channel alone with 16 elements at a time. Tasks are independent and each
// adds up in a fixed order, so the results do not depend on the number of threads. Sums are taken
// in float over pieces of a few hundred rows and joined in double.

#pragma once

#include <algorithm>
#include <type_traits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {

inline constexpr int64_t kStrip = 16;
// Rows that are added up in single precision, small enough to stay in the first-level cache while
// they are read twice.
inline constexpr int64_t kPieceRows = 256;

// Up to 16 channels from `first` on. Row r of image n begins at begin + n * image + r * row.
struct Strip {
  int64_t first = 0, width = 0;
  int64_t begin = 0, image = 0, row = 0, rows = 0;
  int64_t lanes = 0;         // elements of a row in memory
  bool one_channel = false;  // the 16 lanes of a row belong to one channel
  int64_t tail = 0;          // elements of an image behind the last whole row, with one_channel
};

inline int64_t strips_in_block(const ChannelBlocks& b) {
  return b.lanes == 1 ? 1 : (b.lanes + kStrip - 1) / kStrip;
}

inline Strip strip_of(const ChannelBlocks& b, int64_t task) {
  const int64_t per_block = strips_in_block(b), block = task / per_block;
  const int64_t lane = task % per_block * kStrip;
  Strip s;
  s.image = b.blocks * b.spatial * b.lanes;
  s.begin = block * b.spatial * b.lanes + lane;
  if (b.lanes == 1) {
    s.first = block;
    s.width = 1;
    s.one_channel = true;
    s.row = s.lanes = kStrip;
    s.rows = b.spatial / kStrip;
    s.tail = b.spatial % kStrip;
    return s;
  }
  s.first = block * b.lanes + lane;
  s.width = std::clamp<int64_t>(b.channels - s.first, 0, std::min(kStrip, b.lanes - lane));
  s.row = b.lanes;
  s.lanes = std::min(kStrip, b.lanes - lane);
  s.rows = b.spatial;
  return s;
}

// Calls f(strip) for all strips, on all threads.
template <typename F>
void for_each_strip(const ChannelBlocks& b, F f) {
  const int64_t tasks = b.blocks * strips_in_block(b);
  const int64_t work = b.batch * b.spatial * kStrip;
  parallel_ranges(tasks, std::max<int64_t>(1, kGrainOperations / std::max<int64_t>(work, 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t task = begin; task < end; ++task) f(strip_of(b, task));
                  });
}

// Numbers for each lane of a strip, at hand for the loop.
template <typename T>
struct Lanes {
  alignas(64) T v[kStrip] = {};
};

// The channel's value in each lane; padding gets zero, so that it stays zero.
template <typename T, typename From>
FLT_INLINE Lanes<T> spread(const Strip& s, const From* per_channel) {
  Lanes<T> lanes;
  for (int64_t i = 0; i < kStrip; ++i) {
    if (s.one_channel) {
      lanes.v[i] = static_cast<T>(per_channel[0]);
    } else if (i < s.width) {
      lanes.v[i] = static_cast<T>(per_channel[i]);
    }
  }
  return lanes;
}

// Adds lane sums to the sums of their channels.
template <typename T>
FLT_INLINE void join(const Strip& s, const Lanes<T>& lanes, double* sums) {
  for (int64_t i = 0; i < kStrip; ++i) {
    sums[s.one_channel ? 0 : i] += static_cast<double>(lanes.v[i]);
  }
}

// Calls f(offset, rows, step, lanes) for pieces of a strip: `rows` rows of `lanes` elements, `step`
// apart. `lanes` is a constant where it is 16, so that the loops over it become single vectors.
template <typename F>
FLT_INLINE void for_each_piece(const ChannelBlocks& b, const Strip& s, F f) {
  for (int64_t n = 0; n < b.batch; ++n) {
    const int64_t base = s.begin + n * s.image;
    for (int64_t r = 0; r < s.rows; r += kPieceRows) {
      const int64_t rows = std::min(kPieceRows, s.rows - r);
      if (s.lanes == kStrip) {
        f(base + r * s.row, rows, s.row, std::integral_constant<int64_t, kStrip>());
      } else {
        f(base + r * s.row, rows, s.row, s.lanes);
      }
    }
    if (s.tail > 0) f(base + s.rows * s.row, int64_t{1}, int64_t{0}, s.tail);
  }
}

// Mean and biased variance of each channel of a strip: pieces are read twice, the second time from
// the cache, and joined by the formula of Chan, Golub and LeVeque (1979).
template <typename T>
FLT_INLINE void strip_statistics(const ChannelBlocks& b, const Strip& s, const T* x, double* mean,
                                 double* variance) {
  double count = 0;
  std::fill_n(mean, kStrip, 0.0);
  std::fill_n(variance, kStrip, 0.0);
  for_each_piece(b, s, [&](int64_t offset, int64_t rows, int64_t step, auto lanes) {
    Lanes<T> sum, deviation;
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + offset + r * step;
      for (int64_t i = 0; i < lanes; ++i) sum.v[i] += row[i];
    }
    double sums[kStrip] = {}, squares[kStrip] = {};
    join(s, sum, sums);
    const double n = static_cast<double>(rows * (s.one_channel ? int64_t{lanes} : 1));
    double centre[kStrip];
    for (int64_t i = 0; i < kStrip; ++i) centre[i] = sums[i] / n;
    const Lanes<T> middle = spread<T>(s, centre);
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + offset + r * step;
      for (int64_t i = 0; i < lanes; ++i) {
        const T d = row[i] - middle.v[i];
        deviation.v[i] += d * d;
      }
    }
    join(s, deviation, squares);
    for (int64_t i = 0; i < kStrip; ++i) {
      const double delta = centre[i] - mean[i];
      mean[i] += delta * n / (count + n);
      variance[i] += squares[i] + delta * delta * count * n / (count + n);
    }
    count += n;
  });
  for (int64_t i = 0; i < kStrip; ++i) variance[i] /= count;
}

// y = (x - mean) * factor + shift [+ z], [relu].
template <typename T, bool kAdd, bool kRelu>
FLT_INLINE void normalize_strip(const ChannelBlocks& b, const Strip& s, const T* x, const T* z,
                                T* y, const Lanes<T>& mean, const Lanes<T>& factor,
                                const Lanes<T>& shift) {
  for_each_piece(b, s, [&](int64_t offset, int64_t rows, int64_t step, auto lanes) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = offset + r * step;
      // By way of a local row: the result may lie where an operand lies, which the compiler must
      // allow for, and would not vectorize.
      Lanes<T> result;
      for (int64_t i = 0; i < lanes; ++i) {
        T value = (x[at + i] - mean.v[i]) * factor.v[i] + shift.v[i];
        if constexpr (kAdd) value += z[at + i];
        if constexpr (kRelu) value = value > 0 ? value : T{0};
        result.v[i] = value;
      }
      for (int64_t i = 0; i < lanes; ++i) y[at + i] = result.v[i];
    }
  });
}

// Sums of dy and of dy * (x - mean); dy counts where y > 0 with relu.
template <typename T, bool kRelu>
FLT_INLINE void gradient_sums(const ChannelBlocks& b, const Strip& s, const T* x, const T* y,
                              const T* dy, const Lanes<T>& mean, double* sum_dy, double* sum_dy_x) {
  std::fill_n(sum_dy, kStrip, 0.0);
  std::fill_n(sum_dy_x, kStrip, 0.0);
  for_each_piece(b, s, [&](int64_t offset, int64_t rows, int64_t step, auto lanes) {
    Lanes<T> sum, product;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = offset + r * step;
      for (int64_t i = 0; i < lanes; ++i) {
        T d = dy[at + i];
        if constexpr (kRelu) d = y[at + i] > 0 ? d : T{0};
        sum.v[i] += d;
        product.v[i] += d * (x[at + i] - mean.v[i]);
      }
    }
    join(s, sum, sum_dy);
    join(s, product, sum_dy_x);
  });
}

// dx = dy * a - b - (x - mean) * c, and dz = dy, both with dy cut off by relu.
template <typename T, bool kAdd, bool kRelu>
FLT_INLINE void gradient_strip(const ChannelBlocks& blocks, const Strip& s, const T* x, const T* y,
                               const T* dy, T* dx, T* dz, const Lanes<T>& mean, const Lanes<T>& a,
                               const Lanes<T>& b, const Lanes<T>& c) {
  for_each_piece(blocks, s, [&](int64_t offset, int64_t rows, int64_t step, auto lanes) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = offset + r * step;
      Lanes<T> cut, result;
      for (int64_t i = 0; i < lanes; ++i) {
        T d = dy[at + i];
        if constexpr (kRelu) d = y[at + i] > 0 ? d : T{0};
        cut.v[i] = d;
        result.v[i] = d * a.v[i] - b.v[i] - (x[at + i] - mean.v[i]) * c.v[i];
      }
      for (int64_t i = 0; i < lanes; ++i) dx[at + i] = result.v[i];
      if constexpr (kAdd) {
        for (int64_t i = 0; i < lanes; ++i) dz[at + i] = cut.v[i];
      }
    }
  });
}

}  // namespace flotilla::ops
