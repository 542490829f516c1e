#include "flotilla/layers/nn.h"

#include <algorithm>
#include <cmath>

#include "flotilla/ir/structure.h"

namespace flotilla::layers {
namespace {

// Which axis of an image tensor holds the channels.
int64_t channel_axis(const Shape& shape, const std::string& format) {
  require(format == "NCHW" || format == "NHWC", "the data format must be NCHW or NHWC, but is {}",
          format);
  require(shape.rank() >= 2, "a {} tensor has channels, but the input is {}", format, shape);
  return format == "NCHW" ? 1 : shape.rank() - 1;
}

int64_t channels_of(const Var& x, const std::string& format) {
  const int64_t channels = x.shape[channel_axis(x.shape, format)];
  require(channels > 0, "the channels of \"{}\" must be known, but its shape is {} ({})", x.name,
          x.shape, format);
  return channels;
}

Var& add_bias(LayerHelper& helper, Var& x, const ParamAttr& attr, int64_t axis) {
  Var& bias = helper.parameter(attr, {x.shape[axis]}, x.dtype, constant(0), "b");
  return helper.result("elementwise_add", {{"X", {x.name}}, {"Y", {bias.name}}}, {{"axis", axis}});
}

// Height and width, or all four sides.
std::vector<int32_t> paddings(const Extents& padding) {
  return padding.values.size() == 4 ? padding.values : padding.expand(2, "padding");
}

int64_t padding_row(const std::optional<int64_t>& padding_idx, int64_t rows) {
  if (!padding_idx) return -1;
  const int64_t row = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  require(0 <= row && row < rows, "padding_idx must lie in [{}, {}) for {} rows, but is {}", -rows,
          rows, rows, *padding_idx);
  return row;
}

DType statistics_dtype(DType dtype) { return dtype == f64 ? f64 : f32; }

}  // namespace

std::vector<int32_t> Extents::expand(size_t axes, std::string_view what) const {
  if (values.size() == 1) return std::vector<int32_t>(axes, values.front());
  require(values.size() == axes, "{} takes 1 or {} numbers, but {} were given", what, axes,
          values.size());
  return values;
}

Variable data(const std::string& name, Shape shape, DType dtype, const DataOptions& options) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  const bool unknown = std::any_of(dims.begin(), dims.end(), [](int64_t e) { return e < 0; });
  if (options.append_batch_size && !unknown) dims.insert(dims.begin(), -1);
  // Programs of 1.x write any negative number: unknown all the same.
  for (int64_t& extent : dims) extent = std::max<int64_t>(extent, -1);
  shape = Shape(std::move(dims));
  check_extents(shape, fmt::format("data \"{}\"", name));
  Block& block = context().main->global_block();
  if (Var* existing = block.find_var(name)) {
    require(existing->shape == shape && existing->dtype == dtype,
            "\"{}\" is {}{} already and cannot be declared as {}{}", name, existing->dtype,
            existing->shape, dtype, shape);
    existing->is_data = true;
    return *existing;
  }
  return block.add_var({.name = name,
                        .dtype = dtype,
                        .shape = std::move(shape),
                        .lod_level = options.lod_level,
                        .stop_gradient = options.stop_gradient,
                        .is_data = true,
                        .need_check_feed = options.need_check_feed});
}

Variable fc(const Variables& inputs, int64_t size, const FcOptions& options) {
  require(!inputs.empty(), "fc needs an input");
  require(options.weights.empty() || options.weights.size() == inputs.size(),
          "fc needs a weight for each of its {} inputs, but {} were given", inputs.size(),
          options.weights.size());
  LayerHelper helper("fc", options.name);
  std::vector<std::string> products;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Var& x = inputs[i];
    const int64_t split = options.num_flatten_dims < 0 ? options.num_flatten_dims + x.shape.rank()
                                                       : options.num_flatten_dims;
    require(0 < split && split < x.shape.rank(),
            "num_flatten_dims must lie in [1, {}) because \"{}\" has shape {}, but is {}",
            x.shape.rank(), x.name, x.shape, options.num_flatten_dims);
    const int64_t rows = x.shape.numel(split, x.shape.rank());
    require(rows > 0, "the axes of \"{}\" from {} on must be known, but its shape is {}", x.name,
            split, x.shape);
    Var& weight = helper.parameter(options.weights.empty() ? options.weight : options.weights[i],
                                   {rows, size}, x.dtype, xavier(), "w");
    products.push_back(helper
                           .result("mul", {{"X", {x.name}}, {"Y", {weight.name}}},
                                   {{"x_num_col_dims", split}, {"y_num_col_dims", 1}})
                           .name);
  }
  Var* out = products.size() == 1 ? &helper.block().var(products.front())
                                  : &helper.result("sum", {{"X", products}});
  if (options.bias) out = &add_bias(helper, *out, *options.bias, out->shape.rank() - 1);
  return helper.activate(*out, options.act);
}

Variable conv2d(Variable input, int64_t filters, const Extents& filter_size,
                const Conv2dOptions& options) {
  const Var& x = input;
  LayerHelper helper("conv2d", options.name);
  const int64_t channels = channels_of(x, options.data_format);
  require(options.groups > 0 && channels % options.groups == 0 && filters % options.groups == 0,
          "{} channels and {} filters must be multiples of groups, but that is {}", channels,
          filters, options.groups);
  const std::vector<int32_t> window = filter_size.expand(2, "filter_size");
  const double fan_in = static_cast<double>(window[0]) * window[1] * static_cast<double>(channels);
  Var& weight =
      helper.parameter(options.weight, {filters, channels / options.groups, window[0], window[1]},
                       x.dtype, normal(0, std::sqrt(2 / fan_in)), "w");
  Var& out = helper.result("conv2d", {{"Input", {x.name}}, {"Filter", {weight.name}}},
                           {{"strides", options.stride.expand(2, "stride")},
                            {"paddings", paddings(options.padding)},
                            {"padding_algorithm", options.padding_algorithm},
                            {"dilations", options.dilation.expand(2, "dilation")},
                            {"groups", options.groups},
                            {"data_format", options.data_format}},
                           "Output");
  if (!options.bias) return helper.activate(out, options.act);
  Var& sum = add_bias(helper, out, *options.bias, channel_axis(out.shape, options.data_format));
  return helper.activate(sum, options.act);
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

Variable batch_norm(Variable input, const BatchNormOptions& options) {
  const Var& x = input;
  LayerHelper helper("batch_norm", options.name);
  const DType dtype = statistics_dtype(x.dtype);
  const Shape shape = {channels_of(x, options.data_layout)};
  const auto statistic = [&](const std::string& name, double first) {
    const ParamAttr attr = {.name = name,
                            .initializer = constant(first),
                            .trainable = false,
                            .do_model_average = options.do_model_average};
    return helper.parameter(attr, shape, dtype, constant(first), "w").name;
  };
  const std::string scale = helper.parameter(options.scale, shape, dtype, constant(1), "w").name;
  const std::string bias = helper.parameter(options.bias, shape, dtype, constant(0), "b").name;
  const std::string mean = statistic(options.moving_mean_name, 0);
  const std::string variance = statistic(options.moving_variance_name, 1);
  const std::string saved_mean = helper.temporary(), saved_variance = helper.temporary(),
                    reserve = helper.temporary(), y = helper.temporary();
  helper.append("batch_norm",
                {{"X", {x.name}},
                 {"Scale", {scale}},
                 {"Bias", {bias}},
                 {"Mean", {mean}},
                 {"Variance", {variance}}},
                {{"Y", {y}},
                 {"MeanOut", {mean}},
                 {"VarianceOut", {variance}},
                 {"SavedMean", {saved_mean}},
                 {"SavedVariance", {saved_variance}},
                 {"ReserveSpace", {reserve}}},
                {{"is_test", options.is_test},
                 {"momentum", options.momentum},
                 {"epsilon", options.epsilon},
                 {"data_layout", options.data_layout},
                 {"use_global_stats", options.use_global_stats},
                 {"trainable_statistics", false}});
  for (const std::string& name : {saved_mean, saved_variance, reserve}) {
    helper.block().var(name).stop_gradient = true;
  }
  return helper.activate(helper.block().var(y), options.act);
}

Variable layer_norm(Variable input, const LayerNormOptions& options) {
  const Var& x = input;
  LayerHelper helper("layer_norm", options.name);
  const int64_t begin = x.shape.axis(options.begin_norm_axis);
  const Shape shape = {x.shape.numel(begin, x.shape.rank())};
  const DType dtype = statistics_dtype(x.dtype);
  Slots inputs = {{"X", {x.name}}};
  if (options.scale) {
    inputs["Scale"] = {helper.parameter(*options.scale, shape, dtype, constant(1), "w").name};
  }
  if (options.bias) {
    inputs["Bias"] = {helper.parameter(*options.bias, shape, dtype, constant(0), "b").name};
  }
  const std::string mean = helper.temporary(), variance = helper.temporary(),
                    y = helper.temporary();
  helper.append("layer_norm", std::move(inputs),
                {{"Y", {y}}, {"Mean", {mean}}, {"Variance", {variance}}},
                {{"epsilon", options.epsilon}, {"begin_norm_axis", begin}});
  for (const std::string& name : {mean, variance}) helper.block().var(name).stop_gradient = true;
  return helper.activate(helper.block().var(y), options.act);
}

Variable embedding(Variable ids, int64_t rows, int64_t width, const EmbeddingOptions& options) {
  LayerHelper helper("embedding", options.name);
  Var& table = helper.parameter(options.weight, {rows, width}, options.dtype, xavier(), "w");
  return helper.result(options.v1 ? "lookup_table" : "lookup_table_v2",
                       {{"Ids", {ids.name()}}, {"W", {table.name}}},
                       {{"is_sparse", options.is_sparse},
                        {"is_distributed", options.is_distributed},
                        {"remote_prefetch", options.is_sparse && !options.is_distributed},
                        {"padding_idx", padding_row(options.padding_idx, rows)}});
}

Variable sparse_embedding(Variable ids, int64_t rows, int64_t width,
                          const SparseEmbeddingOptions& options) {
  LayerHelper helper("sparse_embedding");
  Var& table = helper.parameter(options.weight, {rows, width}, options.dtype, xavier(), "w");
  return helper.result("lookup_table", {{"Ids", {ids.name()}}, {"W", {table.name}}},
                       {{"is_sparse", true},
                        {"is_distributed", true},
                        {"remote_prefetch", true},
                        {"padding_idx", padding_row(options.padding_idx, rows)},
                        {"is_test", options.is_test},
                        {"entry", options.entry},
                        {"table_class", options.table_class},
                        {"slot", options.slot}});
}

Variable dropout(Variable x, float probability, const DropoutOptions& options) {
  require(0 <= probability && probability <= 1,
          "the probability of dropout must lie in [0, 1], but is {}", probability);
  return op("dropout", {{"X", x}},
            {{"dropout_prob", probability},
             {"is_test", options.is_test},
             {"fix_seed", options.seed.has_value()},
             {"seed", options.seed.value_or(0)},
             {"dropout_implementation",
              std::string(options.upscale_in_train ? "upscale_in_train" : "downgrade_in_infer")}},
            {.name = options.name, .outputs = {"Out", "Mask"}});
}

}  // namespace flotilla::layers
