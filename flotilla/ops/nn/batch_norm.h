// flotilla/ops/nn/batch_norm.h
//
// What batch_norm and sync_batch_norm share: the slots, and what is done to a strip of channels
// when its statistics are known. Those of 16-bit floats, and their parameters, are floats.

#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/half.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/nn/batch_norm_loops.h"

namespace flotilla::ops {

// The channels of X, for each of which every other input must have a number.
inline int64_t check_channels(const InferContext& c) {
  const Shape& x = c.in("X").shape;
  require(x.rank() >= 2, "X of batch_norm must have at least 2 axes, but has shape {}", x);
  const DataFormat format(c.attr<std::string>("data_layout"));
  const int64_t channels = x[format.channel_axis(x.rank())];
  if (c.has_in("MomentumTensor")) {
    const DType dtype = c.in("MomentumTensor").dtype;
    require(dtype == f32, "MomentumTensor of batch_norm must be float32, but is {}",
            long_name_of(dtype));
  }
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance", "MeanOut", "VarianceOut",
                           "SavedMean", "SavedVariance"}) {
    if (!c.has_in(slot)) continue;
    const Shape& shape = c.in(slot).shape;
    require(
        fits(shape.numel(), channels),
        "{} of batch_norm must have {} elements, one for each channel of X {}, but has shape {}",
        slot, channels, x, shape);
  }
  return channels;
}

inline void infer_batch_norm(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t channels = check_channels(c);
  check_same_shape(c, "Z");
  c.out("Y") = like(x);
  for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
    c.out(slot) = VarMeta::tensor(c.dtype("Mean"), {channels});
  }
  c.out("ReserveSpace") = VarMeta::tensor(x.dtype, {1});
}

inline void infer_batch_norm_grad(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t channels = check_channels(c);
  c.out("X@GRAD") = c.out("Z@GRAD") = VarMeta::tensor(x.dtype, x.shape);
  c.out("Scale@GRAD") = c.out("Bias@GRAD") =
      VarMeta::tensor(c.has_in("Scale") ? c.dtype("Scale") : x.dtype, {channels});
}

// What forward and backward decide alike.
struct Norm {
  ChannelBlocks blocks = {};
  Layout layout = {};  // of X, Y and their gradients
  double epsilon = 0, momentum = 0;
  bool batch_statistics = true;
  double count = 1;  // elements of a channel
};

inline Norm norm_of(const PrepareContext& c) {
  const DataFormat format(c.attr<std::string>("data_layout"));
  const Shape& shape = c.shape("X");
  const Shape first = format.first(shape);
  Norm n;
  n.layout = c.layout("X");
  std::optional<ChannelBlocks> blocks = channel_blocks(first, format.first(n.layout, shape.rank()));
  if (!blocks) {
    n.layout = {};
    blocks = channel_blocks(first, format.first(n.layout, shape.rank()));
  }
  n.blocks = *blocks;
  // [N, C] is the same memory as one block with C lanes, and rows of channels are quick to walk.
  if (n.blocks.lanes == 1 && n.blocks.spatial == 1) std::swap(n.blocks.lanes, n.blocks.blocks);
  n.epsilon = c.attr<float>("epsilon");
  n.momentum = c.attr<float>("momentum");
  const bool test = c.attr<bool>("is_test") && !c.attr<bool>("trainable_statistics");
  n.batch_statistics = !test && !c.attr<bool>("use_global_stats");
  n.count = static_cast<double>(n.blocks.batch * n.blocks.spatial);
  return n;
}

template <typename T>
FLT_INLINE void put(const Strip& s, const double* values, T* per_channel) {
  for (int64_t i = 0; i < s.width; ++i) per_channel[s.first + i] = static_cast<T>(values[i]);
}

template <typename T>
struct Statistics {
  In<T> mean = {}, variance = {};              // running
  Out<T> mean_out = {}, variance_out = {};     // running, the same memory
  Out<T> saved_mean = {}, saved_inverse = {};  // of the batch
  In<float> momentum = {};                     // instead of that of the norm

  // The statistics of a strip: given, or computed and noted.
  FLT_INLINE void of(const Norm& n, const Strip& s, const T* x, double* m, double* inverse) const {
    if (n.batch_statistics && n.count > 0) {
      double v[kStrip];
      strip_statistics(n.blocks, s, x, m, v);
      for (int64_t i = 0; i < kStrip; ++i) inverse[i] = 1 / std::sqrt(v[i] + n.epsilon);
      note(n, s, m, v, inverse);
      return;
    }
    for (int64_t i = 0; i < s.width; ++i) {
      const T running_mean = mean.data()[s.first + i], running = variance.data()[s.first + i];
      m[i] = static_cast<double>(running_mean);
      inverse[i] = 1 / std::sqrt(static_cast<double>(running) + n.epsilon);
      if (mean_out) mean_out.data()[s.first + i] = running_mean;
      if (variance_out) variance_out.data()[s.first + i] = running;
    }
    // A batch of nothing moves nothing.
    if (saved_mean) put(s, m, saved_mean.data());
    if (saved_inverse) put(s, inverse, saved_inverse.data());
  }

  FLT_INLINE void note(const Norm& n, const Strip& s, const double* m, const double* v,
                       const double* inverse) const {
    if (saved_mean) put(s, m, saved_mean.data());
    if (saved_inverse) put(s, inverse, saved_inverse.data());
    const double kept = momentum ? static_cast<double>(*momentum.data()) : n.momentum;
    for (int64_t i = 0; i < s.width; ++i) {
      const int64_t c = s.first + i;
      const auto moved = [&](const T* from, double batch) {
        return static_cast<T>(static_cast<double>(from[c]) * kept + batch * (1 - kept));
      };
      if (mean_out) mean_out.data()[c] = moved(mean.data(), m[i]);
      if (variance_out) variance_out.data()[c] = moved(variance.data(), v[i]);
    }
  }
};

// Y from X. `statistics` says which of the running ones are moved.
template <typename T, bool kAdd = false, bool kRelu = false>
struct BatchNorm {
  using P = Compute<T>;

  Norm n = {};
  Statistics<P> statistics = {};
  In<T> x = {}, z = {};
  In<P> scale = {}, bias = {};
  Out<T> y = {};

  explicit BatchNorm(PrepareContext& c)
      : n(norm_of(c)), statistics{.mean = c.in<P>("Mean"), .variance = c.in<P>("Variance")} {
    // Running statistics stay as they are, but the gradient reads them from MeanOut. Where that is
    // the same variable there is nothing to write.
    const auto out = c.op().output_list("MeanOut");
    const bool same = !out.empty() && out.front() == c.op().input("Mean");
    if (n.batch_statistics || !same) {
      statistics.mean_out = wanted<P>(c, "MeanOut");
      statistics.variance_out = wanted<P>(c, "VarianceOut");
    }
    if (n.batch_statistics) {
      statistics.momentum = given<float>(c, "MomentumTensor");
      statistics.saved_mean = wanted<P>(c, "SavedMean");
      statistics.saved_inverse = wanted<P>(c, "SavedVariance");
    }
    c.in_place("X", "Y");
    x = c.in<T>("X", 0, n.layout);
    if (kAdd) z = c.in<T>("Z", 0, n.layout);
    scale = given<P>(c, "Scale");
    bias = given<P>(c, "Bias");
    y = c.out<T>("Y", 0, n.layout);
  }

  FLT_INLINE void normalize(const Strip& s, const double* m, const double* inverse) const {
    double factor[kStrip] = {}, shift[kStrip] = {};
    for (int64_t i = 0; i < s.width; ++i) {
      factor[i] = inverse[i] * (scale ? static_cast<double>(scale.data()[s.first + i]) : 1);
      shift[i] = bias ? static_cast<double>(bias.data()[s.first + i]) : 0;
    }
    normalize_strip<T, kAdd, kRelu>(n.blocks, s, x.data(), kAdd ? z.data() : nullptr, y.data(),
                                    spread<T>(s, m), spread<T>(s, factor), spread<T>(s, shift));
  }
};

// The gradients of X, Scale and Bias.
template <typename T, bool kAdd = false, bool kRelu = false>
struct BatchNormGrad {
  using P = Compute<T>;

  Norm n = {};
  bool running = false;
  In<P> mean = {}, spread_of = {}, scale = {};
  In<T> x = {}, y = {}, dy = {};
  Out<T> dx = {}, dz = {};
  Out<P> dscale = {}, dbias = {};

  explicit BatchNormGrad(PrepareContext& c) : n(norm_of(c)), running(!n.batch_statistics) {
    // Paddle 2 hands the running statistics on as MeanOut and VarianceOut, 1.8 as Mean and
    // Variance.
    const bool moved = c.has("MeanOut");
    mean = c.in<P>(!running ? "SavedMean" : moved ? "MeanOut" : "Mean");
    spread_of = c.in<P>(!running ? "SavedVariance" : moved ? "VarianceOut" : "Variance");
    c.in_place("Y@GRAD", "X@GRAD");
    x = c.in<T>("X", 0, n.layout);
    if (kRelu) y = c.in<T>("Y", 0, n.layout);
    dy = c.in<T>("Y@GRAD", 0, n.layout);
    scale = given<P>(c, "Scale");
    dx = wanted<T>(c, "X@GRAD", n.layout);
    if (kAdd) dz = wanted<T>(c, "Z@GRAD", n.layout);
    dscale = wanted<P>(c, "Scale@GRAD");
    dbias = wanted<P>(c, "Bias@GRAD");
  }

  // Of a strip: its statistics, and the sums of dy and dy * (x - mean) that the rest needs.
  struct Sums {
    double m[kStrip] = {}, inverse[kStrip] = {}, dy[kStrip] = {}, dy_x[kStrip] = {};
  };

  FLT_INLINE void statistics(const Strip& s, Sums& sums) const {
    for (int64_t i = 0; i < s.width; ++i) {
      sums.m[i] = static_cast<double>(mean.data()[s.first + i]);
      const double v = static_cast<double>(spread_of.data()[s.first + i]);
      sums.inverse[i] = running ? 1 / std::sqrt(v + n.epsilon) : v;
    }
  }
  // Adds up, and writes the gradients of Scale and Bias.
  FLT_INLINE void add_up(const Strip& s, Sums& sums) const {
    gradient_sums<T, kRelu>(n.blocks, s, x.data(), mask(), dy.data(), spread<T>(s, sums.m), sums.dy,
                            sums.dy_x);
    double scale_grad[kStrip] = {};
    for (int64_t i = 0; i < s.width; ++i) scale_grad[i] = sums.dy_x[i] * sums.inverse[i];
    if (dscale) put(s, scale_grad, dscale.data());
    if (dbias) put(s, sums.dy, dbias.data());
  }
  // The gradient of X, from the sums over `count` elements of each channel.
  FLT_INLINE void finish(const Strip& s, const Sums& sums, double count) const {
    if (!dx) return;
    double a[kStrip] = {}, b[kStrip] = {}, d[kStrip] = {};
    for (int64_t i = 0; i < s.width; ++i) {
      a[i] = sums.inverse[i] * (scale ? static_cast<double>(scale.data()[s.first + i]) : 1);
      if (running) continue;
      b[i] = a[i] * sums.dy[i] / count;
      d[i] = a[i] * sums.inverse[i] * sums.inverse[i] * sums.dy_x[i] / count;
    }
    const Lanes<T> la = spread<T>(s, a), lb = spread<T>(s, b), ld = spread<T>(s, d);
    const Lanes<T> centre = spread<T>(s, sums.m);
    if (kAdd && dz) {
      gradient_strip<T, kAdd, kRelu>(n.blocks, s, x.data(), mask(), dy.data(), dx.data(), dz.data(),
                                     centre, la, lb, ld);
    } else {
      gradient_strip<T, false, kRelu>(n.blocks, s, x.data(), mask(), dy.data(), dx.data(), nullptr,
                                      centre, la, lb, ld);
    }
  }

 private:
  FLT_INLINE const T* mask() const { return kRelu ? y.data() : nullptr; }
};

// Defines <type> and <type>_grad; `attrs` come after those of batch_norm.
struct BatchNormOps {
  std::string type = {};
  std::string doc = {};
  bool add = false;   // Z is added before relu
  bool relu = false;  // Y is relu of the rest
  std::vector<Kernel> kernels = {};
  std::vector<Kernel> grad_kernels = {};
  std::vector<AttrSpec> attrs = {};
};
bool define_batch_norm(BatchNormOps ops);

}  // namespace flotilla::ops
