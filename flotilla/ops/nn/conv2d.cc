// flotilla/ops/nn/conv2d.cc
//
// conv2d and depthwise_conv2d: Output[n, o] = sum over c of Input[n, c] correlated with
// Filter[o, c], the channels cut into groups.
//
// f32 runs in oneDNN, which chooses how images and weights lie in memory. The layouts that are
// there are kept wherever it has fast code for them: a reorder costs as much as a small
// convolution, and the gradient of a weight should lie as the weight does.

#include <algorithm>
#include <memory>

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/nn/conv_loops.h"
#include "flotilla/ops/nn/conv_problem.h"

namespace flotilla::ops {
namespace {

using onednn::ConvLayouts;
using onednn::ConvProblem;

void refuse_fusions(const InferContext& c) {
  for (const std::string_view name :
       {"fuse_relu", "fuse_brelu", "fuse_residual_connection", "fuse_relu_before_depthwise_conv"}) {
    require(!c.attr<bool>(name), "{} must be false: passes fuse convolutions, not programs", name);
  }
  require(c.attr<std::string>("fuse_activation").empty(),
          "fuse_activation must be empty: passes fuse convolutions, not programs");
}

void infer(InferContext& c) {
  refuse_fusions(c);
  const Shape& given = c.in("Input").shape;
  const Shape& filter = c.in("Filter").shape;
  const DataFormat format(c.attr<std::string>("data_format"));
  require(given.rank() == 4, "Input must have rank 4, but has shape {}", given);
  require(filter.rank() == 4, "Filter must have rank 4, but has shape {}", filter);
  const Shape input = format.first(given);
  const int64_t groups = c.attr<int64_t>("groups");
  require(groups > 0, "groups must be positive, but is {}", groups);
  const int64_t channels = checked_multiple(filter[1], groups);
  require(input[1] == channels || input[1] < 0,
          "Input has {} channels, but Filter of shape {} and {} group(s) take {}", input[1], filter,
          groups, channels);
  require(filter[0] % groups == 0, "{} filters cannot be cut into {} groups", filter[0], groups);
  const std::vector<Window> w = windows_of(c, input, filter);
  Shape out = {input[0], filter[0], w[0].places(input[2]), w[1].places(input[3])};
  require(out[2] != 0 && out[3] != 0,
          "a window of {}x{} does not fit into Input of shape {} with paddings {},{} and {},{}",
          w[0].reach(), w[1].reach(), given, w[0].pad_begin, w[0].pad_end, w[1].pad_begin,
          w[1].pad_end);
  c.out("Output") = VarMeta::tensor(c.dtype("Input"), format.program(out));
}

// oneDNN solves everything, if need be as a loop or as a matrix product of unfolded images.
bool is_fast(const onednn::Primitive& primitive) {
  const std::string& name = primitive.implementation();
  return name.find("ref") == std::string::npos && name.find("gemm") == std::string::npos;
}

// The first wish that oneDNN has fast code for; else what it likes best.
template <typename Conv>
std::shared_ptr<Conv> choose(const ConvProblem& problem, const std::vector<ConvLayouts>& wishes) {
  for (const ConvLayouts& wish : wishes) {
    auto conv = std::make_shared<Conv>(problem, wish);
    if (is_fast(*conv)) return conv;
  }
  return std::make_shared<Conv>(problem);
}

// A plain layout is what nobody has chosen: oneDNN may.
std::optional<Layout> chosen(const Layout& layout) {
  return layout.plain() ? std::nullopt : std::optional(layout);
}

Step forward_f32(PrepareContext& c) {
  if (c.shape("Output").numel() == 0) return [] {};
  const DataFormat format(c.attr<std::string>("data_format"));
  const std::optional<Layout> src = chosen(format.first(c.layout("Input"), 4));
  const std::optional<Layout> weights = chosen(c.layout("Filter"));
  std::vector<ConvLayouts> wishes;
  if (src || weights) wishes.push_back({.src = src, .weights = weights});
  if (src && weights) wishes.push_back({.src = src});
  return conv_step(c, choose<onednn::ConvForward>(conv_problem(c, "Output"), wishes), "Input",
                   "Output");
}

Step backward_data_f32(PrepareContext& c, const ConvProblem& problem, const DataFormat& format) {
  const std::optional<Layout> src = chosen(format.first(c.layout("Input"), 4));
  const std::optional<Layout> dst = chosen(format.first(c.layout("Output@GRAD"), 4));
  std::vector<ConvLayouts> wishes;
  if (src || dst) wishes.push_back({.src = src, .dst = dst});
  return conv_back_step(c, choose<onednn::ConvBackwardData>(problem, wishes), "Output@GRAD",
                        "Input@GRAD");
}

Step backward_weights_f32(PrepareContext& c, const ConvProblem& problem, const DataFormat& format) {
  // A plain source is a choice too: the forward convolution has read it so.
  const Layout src = format.first(c.layout("Input"), 4);
  const std::optional<Layout> dst = chosen(format.first(c.layout("Output@GRAD"), 4));
  const Layout weights = c.layout("Filter");
  const auto conv = choose<onednn::ConvBackwardWeights>(
      problem, {{.src = src, .weights = weights, .dst = dst},
                {.src = chosen(src), .weights = weights, .dst = dst},
                {.src = chosen(src), .dst = dst}});
  return conv_weights_step(c, conv, "Input", "Output@GRAD");
}

Step backward_f32(PrepareContext& c) {
  const DataFormat format(c.attr<std::string>("data_format"));
  const bool weights = c.has("Filter@GRAD");
  if (c.shape("Output@GRAD").numel() == 0) {
    const int64_t n = weights ? c.shape("Filter").numel() : 0;
    return [n, dw = weights ? c.out<float>("Filter@GRAD") : Out<float>()] {
      if (dw) std::fill_n(dw.data(), n, 0.0f);
    };
  }
  const ConvProblem problem = conv_problem(c, "Output@GRAD");
  // Weights first: the source gradient may then take the memory of what is no longer read.
  std::vector<Step> steps;
  if (weights) steps.push_back(backward_weights_f32(c, problem, format));
  if (c.has("Input@GRAD")) steps.push_back(backward_data_f32(c, problem, format));
  return in_order(std::move(steps));
}

Step forward_f64(PrepareContext& c) {
  return conv_forward_f64(c, conv_problem(c, "Output"), false);
}
Step backward_f64(PrepareContext& c) {
  return conv_backward_f64(c, conv_problem(c, "Output@GRAD"), false);
}

using Ints = std::vector<int32_t>;

OpDef definition(std::string type, std::string doc) {
  return {
      .type = std::move(type),
      .doc = std::move(doc),
      .inputs = {{"Input", "images, [N, C, H, W] or [N, H, W, C]"},
                 {"Filter", "[filters, C / groups, height, width]"}},
      .outputs = {{"Output", "images with a channel for each filter"}},
      .attrs = {{"strides", Ints{1, 1}, "steps of the window, down and right"},
                {"paddings", Ints{0, 0},
                 "zeros around Input: two numbers, or top, bottom, left, right"},
                {"padding_algorithm", "EXPLICIT",
                 "EXPLICIT, or SAME or VALID to work the paddings out"},
                {"dilations", Ints{1, 1}, "distances of the window's elements"},
                {"groups", 1, "how many parts the channels are cut into"},
                {"data_format", "NCHW", "NCHW or NHWC"},
                // Hints of other devices and marks of inference passes, which programs carry along.
                {"exhaustive_search", false, "of no effect"},
                {"workspace_size_MB", 512, "of no effect"},
                {"force_fp32_output", false, "of no effect"},
                {"use_addto", false, "of no effect"},
                {"fuse_relu_before_depthwise_conv", false, "must be false"},
                {"fuse_relu", false, "must be false"},
                {"fuse_brelu", false, "must be false"},
                {"fuse_brelu_threshold", 6.0f, "of no effect"},
                {"fuse_activation", "", "must be empty"},
                {"fuse_alpha", 0.0f, "of no effect"},
                {"fuse_beta", 0.0f, "of no effect"},
                {"fuse_residual_connection", false, "must be false"},
                {"Scale_in", 1.0f, "of no effect"},
                {"Scale_out", 1.0f, "of no effect"},
                {"Scale_in_eltwise", 1.0f, "of no effect"},
                {"Scale_weights", std::vector<float>{1.0f}, "of no effect"}},
      .infer = infer,
      .grad = grad_op({"Input", "Filter"},
                      {.kernels = {{kCpu, f32, backward_f32}, {kCpu, f64, backward_f64}}}),
      .kernels = {{kCpu, f32, forward_f32}, {kCpu, f64, forward_f64}}};
}

const OpDef& conv2d =
    define_op(definition("conv2d", "Slides filters over images and sums the products."));
const OpDef& depthwise_conv2d = define_op(
    definition("depthwise_conv2d", "Slides filters over images, each over one channel or a few."));

}  // namespace
}  // namespace flotilla::ops
