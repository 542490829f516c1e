// flotilla/ops/nn/batch_norm.cc
//
// batch_norm: Y = (X - mean) / sqrt(variance + epsilon) * Scale + Bias, channel by channel, with
// the statistics of the batch (training) or the running ones (is_test, use_global_stats).
// SavedVariance holds 1 / sqrt(variance + epsilon). The running statistics take the biased
// variance.
//
// fused_bn_act and fused_bn_add_act are what the passes make of batch_norm [+ elementwise_add] +
// relu.

#include <cmath>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/nn/batch_norm_loops.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() >= 2, "X of batch_norm must have at least 2 axes, but has shape {}",
          x.shape);
  const DataFormat format(c.attr<std::string>("data_layout"));
  const int64_t channels = x.shape[format.channel_axis(x.shape.rank())];
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance"}) {
    if (!c.has_in(slot)) continue;
    const Shape& shape = c.in(slot).shape;
    require(
        shape.numel() < 0 || channels < 0 || shape.numel() == channels,
        "{} of batch_norm must have {} elements, one for each channel of X {}, but has shape {}",
        slot, channels, x.shape, shape);
  }
  if (c.has_in("Z")) {
    require(c.in("Z").shape == x.shape, "Z must have the shape of X, {}, but has {}", x.shape,
            c.in("Z").shape);
  }
  c.out("Y") = x;
  c.out("Y").value.reset();
  for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
    c.out(slot) = VarMeta::tensor(x.dtype, {channels});
  }
  c.out("ReserveSpace") = VarMeta::tensor(x.dtype, {1});
}

void infer_grad(InferContext& c) {
  const VarMeta& x = c.in("X");
  c.out("X@GRAD") = VarMeta::tensor(x.dtype, x.shape);
  c.out("Z@GRAD") = c.out("X@GRAD");
  for (const char* slot : {"Scale", "Bias"}) {
    c.out(std::string(slot) + "@GRAD") = VarMeta::tensor(x.dtype, c.in("SavedMean").shape);
  }
}

// What forward and backward decide alike.
struct Norm {
  ChannelBlocks blocks = {};
  Layout layout = {};  // of X, Y and their gradients
  double epsilon = 0, momentum = 0;
  bool batch_statistics = true;
  double count = 1;  // elements of a channel
};

Norm norm_of(const PrepareContext& c) {
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
In<T> optional_in(PrepareContext& c, std::string_view slot) {
  return c.has(slot) ? c.in<T>(slot) : In<T>();
}
template <typename T>
Out<T> optional_out(PrepareContext& c, std::string_view slot, const Layout& layout = {}) {
  return c.has(slot) ? c.out<T>(slot, 0, layout) : Out<T>();
}

template <typename T>
void put(const Strip& s, const double* values, T* per_channel) {
  for (int64_t i = 0; i < s.width; ++i) per_channel[s.first + i] = static_cast<T>(values[i]);
}

template <typename T>
struct Statistics {
  In<T> mean = {}, variance = {};              // running
  Out<T> mean_out = {}, variance_out = {};     // running, the same memory
  Out<T> saved_mean = {}, saved_inverse = {};  // of the batch

  // The statistics of a strip: given, or computed and noted.
  FLT_INLINE void of(const Norm& n, const Strip& s, const T* x, double* m, double* inverse) const {
    if (n.batch_statistics) {
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
  }

  FLT_INLINE void note(const Norm& n, const Strip& s, const double* m, const double* v,
                       const double* inverse) const {
    if (saved_mean) put(s, m, saved_mean.data());
    if (saved_inverse) put(s, inverse, saved_inverse.data());
    for (int64_t i = 0; i < s.width; ++i) {
      const int64_t c = s.first + i;
      const auto moved = [&](const T* from, double batch) {
        return static_cast<T>(static_cast<double>(from[c]) * n.momentum + batch * (1 - n.momentum));
      };
      if (mean_out) mean_out.data()[c] = moved(mean.data(), m[i]);
      if (variance_out) variance_out.data()[c] = moved(variance.data(), v[i]);
    }
  }
};

template <typename T, bool kAdd, bool kRelu>
Step forward(PrepareContext& c) {
  const Norm n = norm_of(c);
  Statistics<T> statistics{.mean = c.in<T>("Mean"), .variance = c.in<T>("Variance")};
  // Running statistics stay as they are, but the gradient reads them from MeanOut. Where that is
  // the same variable there is nothing to write.
  const auto out = c.op().output_list("MeanOut");
  const bool same = !out.empty() && out.front() == c.op().input("Mean");
  if (n.batch_statistics || !same) {
    statistics.mean_out = optional_out<T>(c, "MeanOut");
    statistics.variance_out = optional_out<T>(c, "VarianceOut");
  }
  if (n.batch_statistics) {
    statistics.saved_mean = optional_out<T>(c, "SavedMean");
    statistics.saved_inverse = optional_out<T>(c, "SavedVariance");
  }
  c.in_place("X", "Y");
  return [n, statistics, x = c.in<T>("X", 0, n.layout),
          z = kAdd ? c.in<T>("Z", 0, n.layout) : In<T>(), scale = optional_in<T>(c, "Scale"),
          bias = optional_in<T>(c, "Bias"), y = c.out<T>("Y", 0, n.layout)] {
    for_each_strip(n.blocks, [&](const Strip& s) {
      simd([&] {
        double m[kStrip] = {}, inverse[kStrip] = {}, factor[kStrip] = {}, shift[kStrip] = {};
        statistics.of(n, s, x.data(), m, inverse);
        for (int64_t i = 0; i < s.width; ++i) {
          factor[i] = inverse[i] * (scale ? static_cast<double>(scale.data()[s.first + i]) : 1);
          shift[i] = bias ? static_cast<double>(bias.data()[s.first + i]) : 0;
        }
        normalize_strip<T, kAdd, kRelu>(n.blocks, s, x.data(), kAdd ? z.data() : nullptr, y.data(),
                                        spread<T>(s, m), spread<T>(s, factor), spread<T>(s, shift));
      });
    });
  };
}

template <typename T, bool kAdd, bool kRelu>
Step backward(PrepareContext& c) {
  const Norm n = norm_of(c);
  const bool running = !n.batch_statistics;
  // Paddle 2 hands the running statistics on as MeanOut and VarianceOut, 1.8 as Mean and Variance.
  const bool moved = c.has("MeanOut");
  const In<T> mean = c.in<T>(!running ? "SavedMean" : moved ? "MeanOut" : "Mean");
  const In<T> spread_of = c.in<T>(!running ? "SavedVariance" : moved ? "VarianceOut" : "Variance");
  c.in_place("Y@GRAD", "X@GRAD");
  return [n, running, mean, spread_of, x = c.in<T>("X", 0, n.layout),
          y = kRelu ? c.in<T>("Y", 0, n.layout) : In<T>(), dy = c.in<T>("Y@GRAD", 0, n.layout),
          scale = optional_in<T>(c, "Scale"), dx = optional_out<T>(c, "X@GRAD", n.layout),
          dz = kAdd ? optional_out<T>(c, "Z@GRAD", n.layout) : Out<T>(),
          dscale = optional_out<T>(c, "Scale@GRAD"), dbias = optional_out<T>(c, "Bias@GRAD")] {
    for_each_strip(n.blocks, [&](const Strip& s) {
      simd([&] {
        const T* mask = kRelu ? y.data() : nullptr;
        double m[kStrip] = {}, inverse[kStrip] = {}, sum[kStrip], product[kStrip];
        for (int64_t i = 0; i < s.width; ++i) {
          m[i] = static_cast<double>(mean.data()[s.first + i]);
          const double v = static_cast<double>(spread_of.data()[s.first + i]);
          inverse[i] = running ? 1 / std::sqrt(v + n.epsilon) : v;
        }
        const Lanes<T> centre = spread<T>(s, m);
        gradient_sums<T, kRelu>(n.blocks, s, x.data(), mask, dy.data(), centre, sum, product);
        double a[kStrip] = {}, b[kStrip] = {}, d[kStrip] = {}, scale_grad[kStrip] = {};
        for (int64_t i = 0; i < s.width; ++i) {
          scale_grad[i] = product[i] * inverse[i];
          a[i] = inverse[i] * (scale ? static_cast<double>(scale.data()[s.first + i]) : 1);
          if (running) continue;
          b[i] = a[i] * sum[i] / n.count;
          d[i] = a[i] * inverse[i] * scale_grad[i] / n.count;
        }
        if (dscale) put(s, scale_grad, dscale.data());
        if (dbias) put(s, sum, dbias.data());
        if (!dx) return;
        const Lanes<T> la = spread<T>(s, a), lb = spread<T>(s, b), ld = spread<T>(s, d);
        if (kAdd && dz) {
          gradient_strip<T, kAdd, kRelu>(n.blocks, s, x.data(), mask, dy.data(), dx.data(),
                                         dz.data(), centre, la, lb, ld);
        } else {
          gradient_strip<T, false, kRelu>(n.blocks, s, x.data(), mask, dy.data(), dx.data(),
                                          nullptr, centre, la, lb, ld);
        }
      });
    });
  };
}

const std::vector<AttrSpec> kAttrs = {
    {"is_test", false, "use the running statistics"},
    {"momentum", 0.9f, "share of the old running statistics in the new ones"},
    {"epsilon", 1e-5f, "added to the variance"},
    {"data_layout", std::string("NCHW"), "where the channels stand: NCHW or NHWC"},
    {"use_global_stats", false, "use the running statistics in training too"},
    {"trainable_statistics", false, "use the batch's statistics in inference too"},
    {"fuse_with_relu", false, "a hint of Paddle's"},
};

std::vector<Slot> with(std::vector<Slot> slots, bool wanted, Slot slot) {
  if (wanted) slots.push_back(std::move(slot));
  return slots;
}

template <bool kAdd, bool kRelu>
bool define(const std::string& type, const std::string& doc) {
  define_op(
      {.type = type,
       .doc = doc,
       .inputs =
           with({{"X", "[N, C, ...] or [N, ..., C]"},
                 {.name = "Scale", .doc = "[C], ones by default", .optional = true},
                 {.name = "Bias", .doc = "[C], zeros by default", .optional = true},
                 {.name = "Mean", .doc = "running mean, [C]", .no_grad = true},
                 {.name = "Variance", .doc = "running variance, [C]", .no_grad = true},
                 {.name = "MomentumTensor", .doc = "unused", .optional = true, .no_grad = true}},
                kAdd, {"Z", "added before relu"}),
       .outputs =
           {{"Y", "as X"},
            {.name = "MeanOut", .doc = "Mean, moved", .optional = true, .no_grad = true},
            {.name = "VarianceOut", .doc = "Variance, moved", .optional = true, .no_grad = true},
            {.name = "SavedMean", .doc = "of the batch", .optional = !kRelu, .no_grad = true},
            {.name = "SavedVariance",
             .doc = "1 / standard deviation of the batch",
             .optional = !kRelu,
             .no_grad = true},
            {.name = "ReserveSpace", .doc = "unused", .optional = true, .no_grad = true}},
       .attrs = kAttrs,
       .infer = infer,
       .grad = kRelu ? no_grad()
                     : grad_op({"X", "Scale", "Bias", "MeanOut", "VarianceOut", "SavedMean",
                                "SavedVariance", "ReserveSpace"}),
       .kernels = {{kCpu, f32, forward<float, kAdd, kRelu>},
                   {kCpu, f64, forward<double, kAdd, kRelu>}}});
  define_op({.type = type + "_grad",
             .doc = "Gradient of " + type + ".",
             .inputs = with(
                 {{"X", "input"},
                  {.name = "Scale", .doc = "scale", .optional = true},
                  {.name = "Bias", .doc = "bias", .optional = true, .shape_only = true},
                  {.name = "MeanOut", .doc = "running mean", .optional = true},
                  {.name = "VarianceOut", .doc = "running variance", .optional = true},
                  {.name = "Mean", .doc = "the same, from Paddle 1.8", .optional = true},
                  {.name = "Variance", .doc = "the same, from Paddle 1.8", .optional = true},
                  {"SavedMean", "of the batch"},
                  {"SavedVariance", "1 / standard deviation of the batch"},
                  {.name = "ReserveSpace", .doc = "unused", .optional = true, .shape_only = true},
                  {"Y@GRAD", "gradient of Y"}},
                 kRelu, {"Y", "result, for the mask of relu"}),
             .outputs = with({{.name = "X@GRAD", .doc = "gradient of X", .optional = true},
                              {.name = "Scale@GRAD", .doc = "gradient of Scale", .optional = true},
                              {.name = "Bias@GRAD", .doc = "gradient of Bias", .optional = true}},
                             kAdd, {.name = "Z@GRAD", .doc = "gradient of Z", .optional = true}),
             .attrs = kAttrs,
             .infer = infer_grad,
             .kernels = {{kCpu, f32, backward<float, kAdd, kRelu>},
                         {kCpu, f64, backward<double, kAdd, kRelu>}}});
  return true;
}

const bool plain = define<false, false>("batch_norm", "Normalizes each channel and scales it.");
// In one process the statistics of all ranks are those of this one.
const bool sync =
    define<false, false>("sync_batch_norm", "batch_norm with the statistics of all ranks.");
const bool act = define<false, true>("fused_bn_act", "relu(batch_norm(X)).");
const bool add_act = define<true, true>("fused_bn_add_act", "relu(batch_norm(X) + Z).");

}  // namespace
}  // namespace flotilla::ops
