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

#include "flotilla/op/export_to_paddle.h"
#include "flotilla/ops/common/slots.h"

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

// Made when it is asked for: ops are defined while static objects are built, in any order.
std::vector<AttrSpec> all_attrs(const std::vector<AttrSpec>& more) {
  return joined<AttrSpec>(
      {{"is_test", false, "use the running statistics"},
       {"momentum", 0.9f, "share of the old running statistics in the new ones"},
       {"epsilon", 1e-5f, "added to the variance"},
       {"data_layout", std::string("NCHW"), "where the channels stand: NCHW or NHWC"},
       {"use_global_stats", false, "use the running statistics in training too"},
       {"trainable_statistics", false, "use the batch's statistics in inference too"},
       {"fuse_with_relu", false, "a hint of Paddle's"}},
      more);
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

// 2.6 reads the statistics where they are those of all batches.
void grad_to_paddle(Block& block, size_t position) {
  Op& op = block.op(position);
  for (const std::string slot : {"Mean", "Variance"}) {
    const auto vars = op.input_list(slot + "Out");
    if (!op.has_input(slot)) op.set_input(slot, {vars.begin(), vars.end()});
  }
  ask_for_scale_and_bias(block, op);
}

}  // namespace

bool define_batch_norm(BatchNormOps ops) {
  std::vector<Slot> inputs = {{"X", "[N, C, ...] or [N, ..., C]"},
                              {.name = "Scale", .doc = "[C], ones by default", .optional = true},
                              {.name = "Bias", .doc = "[C], zeros by default", .optional = true},
                              constant("Mean", "running mean, [C]"),
                              constant("Variance", "running variance, [C]"),
                              {.name = "MomentumTensor",
                               .doc = "one float32, instead of `momentum`; Paddle passes over it",
                               .optional = true,
                               .no_grad = true,
                               .one = true}};
  if (ops.add) inputs.push_back({"Z", "added before relu"});
  std::vector<Use> uses = {"X",           "Scale",     shape_of("Bias"), "MeanOut",
                           "VarianceOut", "SavedMean", "SavedVariance",  shape_of("ReserveSpace")};
  if (ops.relu) uses.push_back("Y");  // for the mask
  const auto saved = ops.relu ? constant : optional_constant;
  define_op(
      {.type = ops.type,
       .doc = std::move(ops.doc),
       .inputs = std::move(inputs),
       .outputs = {{.name = "Y", .doc = "as X", .like = "X"},
                   optional_constant("MeanOut", "Mean, moved"),
                   optional_constant("VarianceOut", "Variance, moved"),
                   saved("SavedMean", "of the batch"),
                   saved("SavedVariance", "1 / standard deviation of the batch"),
                   optional_constant("ReserveSpace", "unused")},
       .attrs = all_attrs(ops.attrs),
       .infer = infer_batch_norm,
       .grad = grad_op(
           std::move(uses),
           {.kernels = std::move(ops.grad_kernels),
            .infer = infer_batch_norm_grad,
            .inputs = {{"SavedMean", "of the batch"},
                       {"SavedVariance", "1 / standard deviation of the batch"},
                       {.name = "Mean", .doc = "MeanOut in Paddle 1.8", .optional = true},
                       {.name = "Variance", .doc = "VarianceOut in Paddle 1.8", .optional = true}},
            .to_paddle = ops.type == "batch_norm" ? grad_to_paddle : nullptr}),
       .kernels = std::move(ops.kernels)});
  return true;
}

}  // namespace flotilla::ops
