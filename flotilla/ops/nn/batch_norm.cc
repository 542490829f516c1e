// flotilla/ops/nn/batch_norm.cc
//
// batch_norm: Y = (X - mean) / sqrt(variance + epsilon) * Scale + Bias, channel by channel, with
// the statistics of the batch (training) or the running ones (is_test, use_global_stats).
// SavedVariance holds 1 / sqrt(variance + epsilon). The running statistics take the biased
// variance.
//
// fused_bn_act and fused_bn_add_act are what the passes make of batch_norm [+ elementwise_add] +
// relu.

#include "flotilla/ops/nn/batch_norm.h"

namespace flotilla::ops {
namespace {

template <typename T, bool kAdd, bool kRelu>
Step forward(PrepareContext& c) {
  return [norm = BatchNorm<T, kAdd, kRelu>(c)] {
    for_each_strip(norm.n.blocks, [&](const Strip& s) {
      simd([&] {
        double m[kStrip] = {}, inverse[kStrip] = {};
        norm.statistics.of(norm.n, s, norm.x.data(), m, inverse);
        norm.normalize(s, m, inverse);
      });
    });
  };
}

template <typename T, bool kAdd, bool kRelu>
Step backward(PrepareContext& c) {
  return [norm = BatchNormGrad<T, kAdd, kRelu>(c)] {
    for_each_strip(norm.n.blocks, [&](const Strip& s) {
      simd([&] {
        typename BatchNormGrad<T, kAdd, kRelu>::Sums sums;
        norm.statistics(s, sums);
        norm.add_up(s, sums);
        norm.finish(s, sums, norm.n.count);
      });
    });
  };
}

std::vector<Slot> with(std::vector<Slot> slots, bool wanted, Slot slot) {
  if (wanted) slots.push_back(std::move(slot));
  return slots;
}

// Made when it is asked for: ops are defined while static objects are built, in any order.
std::vector<AttrSpec> all_attrs(const std::vector<AttrSpec>& more) {
  std::vector<AttrSpec> attrs = {
      {"is_test", false, "use the running statistics"},
      {"momentum", 0.9f, "share of the old running statistics in the new ones"},
      {"epsilon", 1e-5f, "added to the variance"},
      {"data_layout", std::string("NCHW"), "where the channels stand: NCHW or NHWC"},
      {"use_global_stats", false, "use the running statistics in training too"},
      {"trainable_statistics", false, "use the batch's statistics in inference too"},
      {"fuse_with_relu", false, "a hint of Paddle's"},
  };
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

template <bool kAdd, bool kRelu>
bool define(const std::string& type, const std::string& doc) {
  return define_batch_norm({.type = type,
                            .doc = doc,
                            .add = kAdd,
                            .relu = kRelu,
                            .kernels = {{kCpu, f32, forward<float, kAdd, kRelu>},
                                        {kCpu, f64, forward<double, kAdd, kRelu>}},
                            .grad_kernels = {{kCpu, f32, backward<float, kAdd, kRelu>},
                                             {kCpu, f64, backward<double, kAdd, kRelu>}}});
}

const bool plain = define<false, false>("batch_norm", "Normalizes each channel and scales it.");
const bool act = define<false, true>("fused_bn_act", "relu(batch_norm(X)).");
const bool add_act = define<true, true>("fused_bn_add_act", "relu(batch_norm(X) + Z).");

}  // namespace

bool define_batch_norm(BatchNormOps ops) {
  define_op(
      {.type = ops.type,
       .doc = ops.doc,
       .inputs =
           with({{"X", "[N, C, ...] or [N, ..., C]"},
                 {.name = "Scale", .doc = "[C], ones by default", .optional = true},
                 {.name = "Bias", .doc = "[C], zeros by default", .optional = true},
                 {.name = "Mean", .doc = "running mean, [C]", .no_grad = true},
                 {.name = "Variance", .doc = "running variance, [C]", .no_grad = true},
                 {.name = "MomentumTensor", .doc = "unused", .optional = true, .no_grad = true}},
                ops.add, {"Z", "added before relu"}),
       .outputs =
           {{"Y", "as X"},
            {.name = "MeanOut", .doc = "Mean, moved", .optional = true, .no_grad = true},
            {.name = "VarianceOut", .doc = "Variance, moved", .optional = true, .no_grad = true},
            {.name = "SavedMean", .doc = "of the batch", .optional = !ops.relu, .no_grad = true},
            {.name = "SavedVariance",
             .doc = "1 / standard deviation of the batch",
             .optional = !ops.relu,
             .no_grad = true},
            {.name = "ReserveSpace", .doc = "unused", .optional = true, .no_grad = true}},
       .attrs = all_attrs(ops.attrs),
       .infer = infer_batch_norm,
       .grad = ops.relu ? no_grad()
                        : grad_op({"X", "Scale", "Bias", "MeanOut", "VarianceOut", "SavedMean",
                                   "SavedVariance", "ReserveSpace"}),
       .kernels = std::move(ops.kernels)});
  define_op({.type = ops.type + "_grad",
             .doc = "Gradient of " + ops.type + ".",
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
                 ops.relu, {"Y", "result, for the mask of relu"}),
             .outputs = with({{.name = "X@GRAD", .doc = "gradient of X", .optional = true},
                              {.name = "Scale@GRAD", .doc = "gradient of Scale", .optional = true},
                              {.name = "Bias@GRAD", .doc = "gradient of Bias", .optional = true}},
                             ops.add, {.name = "Z@GRAD", .doc = "gradient of Z", .optional = true}),
             .attrs = all_attrs(ops.attrs),
             .infer = infer_batch_norm_grad,
             .kernels = std::move(ops.grad_kernels)});
  return true;
}

}  // namespace flotilla::ops
