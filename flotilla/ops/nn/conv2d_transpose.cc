// flotilla/ops/nn/conv2d_transpose.cc
//
// conv2d_transpose and depthwise_conv2d_transpose: the convolution that takes Output to Input,
// turned round: each element of Input adds its filter to Output. So Output is the gradient of that
// convolution's source, and the gradients of Input and Filter are that convolution and the gradient
// of its weights.
//
// Output has (H - 1) * stride - paddings + reach of the filter rows, or what output_size says, or
// output_padding more: at most stride - 1, which are only padded less at the end. The same holds
// for columns.

#include <algorithm>
#include <memory>
#include <vector>

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/nn/conv_loops.h"
#include "flotilla/ops/nn/conv_problem.h"

namespace flotilla::ops {
namespace {

using onednn::ConvProblem;

void infer(InferContext& c) {
  const Shape &given = c.in("Input").shape, &filter = c.in("Filter").shape;
  const DataFormat format(c.attr<std::string>("data_format"));
  require(given.rank() == 4 && filter.rank() == 4,
          "Input and Filter must have rank 4, but have shapes {} and {}", given, filter);
  const Shape input = format.first(given);
  const int64_t groups = c.attr<int64_t>("groups");
  require(groups > 0 && filter[0] % groups == 0, "{} channels cannot be cut into {} groups",
          filter[0], groups);
  require(input[1] < 0 || input[1] == filter[0],
          "Input of shape {} has {} channels, but Filter of shape {} takes {}", given, input[1],
          filter, filter[0]);
  const Shape out = {input[0], checked_multiple(filter[1], groups),
                     spread(c, 0, input[2], filter[2]).extent,
                     spread(c, 1, input[3], filter[3]).extent};
  c.out("Output") = VarMeta::tensor(c.dtype("Input"), format.program(out));
}

Step forward_f32(PrepareContext& c) {
  return conv_back_step(
      c, std::make_shared<onednn::ConvBackwardData>(turned_conv_problem(c, "Output")), "Input",
      "Output");
}

Step backward_f32(PrepareContext& c) {
  const ConvProblem problem = turned_conv_problem(c, "Output@GRAD");
  std::vector<Step> steps;
  if (c.has("Filter@GRAD")) {
    steps.push_back(conv_weights_step(c, std::make_shared<onednn::ConvBackwardWeights>(problem),
                                      "Output@GRAD", "Input"));
  }
  if (c.has("Input@GRAD")) {
    steps.push_back(
        conv_step(c, std::make_shared<onednn::ConvForward>(problem), "Output@GRAD", "Input@GRAD"));
  }
  return in_order(std::move(steps));
}

Step forward_f64(PrepareContext& c) {
  return conv_forward_f64(c, turned_conv_problem(c, "Output"), true);
}
Step backward_f64(PrepareContext& c) {
  return conv_backward_f64(c, turned_conv_problem(c, "Output@GRAD"), true);
}

using Ints = std::vector<int32_t>;

OpDef definition(std::string type) {
  return {
      .type = std::move(type),
      .doc = "Adds a filter to an image for each element of another.",
      .inputs = {{"Input", "images, [N, C, H, W] or [N, H, W, C]"},
                 {"Filter", "[C, filters / groups, height, width]"}},
      .outputs = {{"Output", "larger images with a channel for each filter"}},
      .attrs = {{"strides", Ints{1, 1}, "steps of the filter in Output, down and right"},
                {"paddings", Ints{0, 0},
                 "cut off from Output: two numbers, or top, bottom, left, right"},
                {"padding_algorithm", "EXPLICIT", "EXPLICIT, or VALID for none"},
                {"dilations", Ints{1, 1}, "distances of the filter's elements"},
                {"groups", 1, "how many parts the channels are cut into"},
                {"output_size", Ints{}, "height and width of Output, where they are not the least"},
                {"output_padding", Ints{},
                 "elements above the least, where output_size says nothing"},
                {"data_format", "NCHW", "NCHW or NHWC"},
                {"workspace_size_MB", 512, "of no effect"},
                {"use_cudnn", false, "of no effect"},
                {"force_fp32_output", false, "of no effect"},
                {"fuse_relu", false, "of no effect"},
                {"fuse_activation", "", "of no effect"},
                {"fuse_alpha", 0.0f, "of no effect"},
                {"fuse_beta", 0.0f, "of no effect"},
                {"is_test", false, "of no effect"}},
      .infer = infer,
      .grad = grad_op({"Input", "Filter"},
                      {.kernels = {{kCpu, f32, backward_f32}, {kCpu, f64, backward_f64}}}),
      .kernels = {{kCpu, f32, forward_f32}, {kCpu, f64, forward_f64}}};
}

const OpDef& conv2d_transpose = define_op(definition("conv2d_transpose"));
const OpDef& depthwise_conv2d_transpose = define_op(definition("depthwise_conv2d_transpose"));

}  // namespace
}  // namespace flotilla::ops
