#include "flotilla/layers/conv.h"

#include <cmath>

namespace flotilla::layers {
namespace {

// Height and width, or all four sides where they differ.
std::vector<int32_t> paddings(const Extents& padding) {
  const std::vector<int32_t>& sides = padding.values;
  if (sides.size() != 4) return padding.expand(2, "padding");
  if (sides[0] == sides[1] && sides[2] == sides[3]) return {sides[0], sides[2]};
  return sides;
}

template <class Options>
Attrs sliding(const Options& options) {
  return {{"strides", options.stride.expand(2, "stride")},
          {"paddings", paddings(options.padding)},
          {"padding_algorithm", options.padding_algorithm},
          {"dilations", options.dilation.expand(2, "dilation")},
          {"groups", options.groups},
          {"data_format", options.data_format}};
}

// Appends a convolution and, where there is a bias, its sum with that.
Var& convolved(LayerHelper& helper, const std::string& type, Variable x, Variable filter,
               const Variables& bias, Attrs attrs, int64_t axis) {
  Var& out = helper.result(type, {{"Input", {x.name()}}, {"Filter", {filter.name()}}},
                           std::move(attrs), "Output");
  if (bias.empty()) return out;
  return helper.result("elementwise_add", {{"X", {out.name}}, {"Y", bias.names()}},
                       {{"axis", axis}});
}

// The least filters that make images of `size` from those of `x`.
Extents least_filters(const Var& x, const Extents& size, const Conv2dTransposeOptions& options) {
  const std::vector<int32_t> target = size.expand(2, "output_size"),
                             strides = options.stride.expand(2, "stride"),
                             dilations = options.dilation.expand(2, "dilation"),
                             sides = paddings(options.padding);
  const int64_t first = options.data_format == "NHWC" ? 1 : 2;
  std::vector<int32_t> window;
  for (size_t a = 0; a < 2; ++a) {
    const int64_t extent = x.shape[first + static_cast<int64_t>(a)];
    const int64_t cut = sides.size() == 4 ? sides[2 * a] + sides[2 * a + 1] : 2 * sides[a];
    const int64_t rest = target[a] - (extent - 1) * strides[a] + cut - 1;
    require(extent > 0 && dilations[a] > 0 && rest >= 0,
            "no filter makes images of [{}, {}] out of \"{}\" of shape {}", target[0], target[1],
            x.name, x.shape);
    window.push_back(static_cast<int32_t>(rest / dilations[a] + 1));
  }
  return window;
}

Variable with_axis(Variable x, int64_t axis) {
  return op("unsqueeze2", {{"X", x}}, {{"axes", std::vector<int64_t>{axis}}},
            {.outputs = {"Out", "XShape"}});
}

}  // namespace

Variable conv2d(Variable x, int64_t filters, const Extents& filter_size,
                const Conv2dOptions& options) {
  const int64_t channels = channels_of(x, options.data_format), groups = options.groups;
  require(groups > 0 && channels % groups == 0 && filters % groups == 0,
          "{} channels and {} filters must be multiples of groups, but that is {}", channels,
          filters, groups);
  const bool depthwise = channels == groups && !options.use_cudnn;
  LayerHelper helper(depthwise ? "depthwise_conv2d" : "conv2d", options.name);
  const std::vector<int32_t> window = filter_size.expand(2, "filter_size");
  const double fan_in = static_cast<double>(window[0]) * window[1] * static_cast<double>(channels);
  Var& weight = helper.parameter(options.weight, {filters, channels / groups, window[0], window[1]},
                                 x.dtype(), normal(0, std::sqrt(2 / fan_in)), "w");
  Var& out = convolved(helper, "conv2d", x, weight, {}, sliding(options), 0);
  if (!options.bias) return helper.activate(out, options.act);
  Var& sum = helper.add_bias(out, *options.bias, channel_axis(out.shape, options.data_format));
  return helper.activate(sum, options.act);
}

Variable conv2d_transpose(Variable x, int64_t filters, const Conv2dTransposeOptions& options) {
  LayerHelper helper("conv2d_transpose", options.name);
  require(options.filter_size || options.output_size,
          "conv2d_transpose needs filter_size or output_size");
  const int64_t channels = channels_of(x, options.data_format), groups = options.groups;
  require(groups > 0 && filters % groups == 0,
          "{} filters must be a multiple of groups, but that is {}", filters, groups);
  const Extents size =
      options.filter_size ? *options.filter_size : least_filters(x, *options.output_size, options);
  const std::vector<int32_t> window = size.expand(2, "filter_size");
  Var& weight = helper.parameter(options.weight, {channels, filters / groups, window[0], window[1]},
                                 x.dtype(), xavier(), "w");
  Variables bias;
  if (options.bias) {
    bias = helper.parameter(*options.bias, {filters}, x.dtype(), constant(0), "b");
  }
  Attrs attrs = sliding(options);
  if (options.output_size) attrs["output_size"] = options.output_size->expand(2, "output_size");
  Var& made = convolved(helper, "conv2d_transpose", x, weight, bias, std::move(attrs),
                        channel_axis(x.shape(), options.data_format));
  // Named after itself, as Paddle does.
  return options.act.empty() ? Variable(made) : op(options.act, {{"X", made}});
}

Variable conv2d_with(Variable x, Variable filter, const Variables& bias,
                     const ConvWithOptions& options) {
  const int64_t axis = channel_axis(x.shape(), options.data_format), channels = x.shape()[axis];
  const bool depthwise =
      options.groups > 1 && channels == options.groups && filter.shape()[0] % options.groups == 0;
  const std::string type = depthwise ? "depthwise_conv2d" : "conv2d";
  LayerHelper helper(type, options.name);
  return convolved(helper, type, x, filter, bias, sliding(options), axis);
}

Variable conv2d_transpose_with(Variable x, Variable filter, const Variables& bias,
                               const ConvWithOptions& options) {
  LayerHelper helper("conv2d_transpose", options.name);
  Attrs attrs = sliding(options);
  if (options.output_size) {
    attrs["output_size"] = options.output_size->expand(2, "output_size");
  } else if (options.output_padding) {
    attrs["output_padding"] = options.output_padding->expand(2, "output_padding");
  }
  return convolved(helper, "conv2d_transpose", x, filter, bias, std::move(attrs),
                   channel_axis(x.shape(), options.data_format));
}

Variable conv1d_with(Variable x, Variable filter, const Variables& bias,
                     const ConvWithOptions& options) {
  const bool last = options.data_format.ends_with('C');
  const int64_t axis = last ? 1 : 2;
  ConvWithOptions wide = options;
  wide.data_format = last ? "NHWC" : "NCHW";
  wide.stride = {1, options.stride.expand(1, "stride")[0]};
  wide.dilation = {1, options.dilation.expand(1, "dilation")[0]};
  const std::vector<int32_t> ends = options.padding.expand(2, "padding");
  wide.padding = {0, 0, ends[0], ends[1]};
  const Variable image = with_axis(x, axis), window = with_axis(filter, 2);
  return op("squeeze2", {{"X", conv2d_with(image, window, bias, wide)}},
            {{"axes", std::vector<int64_t>{axis}}},
            {.layer = "squeeze", .outputs = {"Out", "XShape"}});
}

Variable pool2d(Variable x, const Pool2dOptions& options) {
  require(options.type == "max" || options.type == "avg",
          "the type of a pool must be max or avg, but is {}", options.type);
  const std::vector<int32_t> window = options.size.expand(2, "size");
  require(options.global_pooling || (window[0] > 0 && window[1] > 0),
          "a pool needs a positive size unless it is global, but its size is [{}, {}]", window[0],
          window[1]);
  return op("pool2d", {{"X", x}},
            {{"pooling_type", options.type},
             {"ksize", window},
             {"strides", options.stride.expand(2, "stride")},
             {"paddings", paddings(options.padding)},
             {"padding_algorithm", options.padding_algorithm},
             {"global_pooling", options.global_pooling},
             {"ceil_mode", options.ceil_mode},
             {"exclusive", options.exclusive},
             {"adaptive", options.adaptive},
             {"data_format", options.data_format}},
            {.name = options.name});
}

}  // namespace flotilla::layers
