#include "flotilla/layers/nn.h"

#include <algorithm>

#include "flotilla/ir/structure.h"
#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

// The shape of prelu's parameter: that of `x`, but 1 where its alpha is the same for all.
Shape shape_of_alpha(const Shape& x, const std::string& mode, bool channels_last) {
  if (mode == "all") return {1};
  require(mode == "channel" || mode == "element",
          "mode must be all, channel or element, but is '{}'", mode);
  require(x.rank() >= 2, "a prelu of mode {} needs channels, but the input is {}", mode, x);
  if (mode == "channel") {
    return channels_last ? Shape{1, 1, 1, x[x.rank() - 1]} : Shape{1, x[1], 1, 1};
  }
  std::vector<int64_t> dims(x.begin(), x.end());
  dims.front() = 1;
  return Shape(std::move(dims));
}

int64_t padding_row(const std::optional<int64_t>& padding_idx, int64_t rows) {
  if (!padding_idx) return -1;
  const int64_t row = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  require(0 <= row && row < rows, "padding_idx must lie in [{}, {}) for {} rows, but is {}", -rows,
          rows, rows, *padding_idx);
  return row;
}

}  // namespace

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
  if (options.bias) out = &helper.add_bias(*out, *options.bias, out->shape.rank() - 1);
  return helper.activate(*out, options.act);
}

Variable bilinear_tensor_product(Variable x, Variable y, int64_t size,
                                 const BilinearTensorProductOptions& options) {
  for (const Variable& one : {x, y}) {
    require(one.shape().rank() == 2, "bilinear_tensor_product takes rows, but \"{}\" is {}",
            one.name(), one.shape());
  }
  LayerHelper helper("bilinear_tensor_product", options.name);
  Inputs inputs = {{"X", x}, {"Y", y}};
  inputs["Weight"] = helper.parameter(options.weight, {size, x.shape()[1], y.shape()[1]}, x.dtype(),
                                      xavier(), "w");
  if (options.bias) {
    inputs["Bias"] = helper.parameter(*options.bias, {1, size}, x.dtype(), constant(0), "b");
  }
  return op("bilinear_tensor_product", inputs, {}, {.layer = helper.name(), .act = options.act});
}

Variable prelu(Variable x, const std::string& mode, const PreluOptions& options) {
  const Shape shape = shape_of_alpha(x.shape(), mode, options.data_format.ends_with('C'));
  LayerHelper helper("prelu", options.name);
  const Variable alpha = helper.parameter(options.alpha, shape, x.dtype(), constant(0.25), "w");
  return op("prelu", {{"X", x}, {"Alpha", alpha}},
            {{"mode", mode}, {"data_format", options.data_format}}, {.name = helper.name()});
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
