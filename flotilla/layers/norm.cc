#include "flotilla/layers/norm.h"

#include "flotilla/layers/extents.h"

namespace flotilla::layers {
namespace {

DType statistics_dtype(DType dtype) { return dtype == f64 ? f64 : f32; }

// X, and of Scale and Bias what is asked for.
Inputs with_learnt(LayerHelper& helper, Variable x, const std::optional<ParamAttr>& scale,
                   const std::optional<ParamAttr>& bias, const Shape& shape, DType dtype) {
  Inputs inputs = {{"X", x}};
  if (scale) inputs["Scale"] = helper.parameter(*scale, shape, dtype, constant(1), "w");
  if (bias) inputs["Bias"] = helper.parameter(*bias, shape, dtype, constant(0), "b");
  return inputs;
}

// `inputs` with the mean and the variance, which the op moves too; `fresh` holds its other outputs.
void append_moving(LayerHelper& helper, const std::string& type, const Inputs& inputs, Slots fresh,
                   Attrs attrs) {
  Slots reads;
  for (const auto& [slot, vars] : inputs) {
    if (!vars.empty()) reads[slot] = vars.names();
  }
  fresh["MeanOut"] = reads.at("Mean");
  fresh["VarianceOut"] = reads.at("Variance");
  helper.append(type, std::move(reads), std::move(fresh), std::move(attrs));
}

}  // namespace

Variable batch_norm(Variable x, const BatchNormOptions& options) {
  LayerHelper helper("batch_norm", options.name);
  const DType dtype = statistics_dtype(x.dtype());
  const Shape shape = {channels_of(x, options.data_layout)};
  const auto statistic = [&](const std::string& name, double first) -> Variable {
    const ParamAttr attr = {.name = name,
                            .initializer = constant(first),
                            .trainable = false,
                            .do_model_average = options.do_model_average};
    return helper.parameter(attr, shape, dtype, constant(first), "w");
  };
  Inputs inputs = with_learnt(helper, x, options.scale, options.bias, shape, dtype);
  inputs["Mean"] = statistic(options.moving_mean_name, 0);
  inputs["Variance"] = statistic(options.moving_variance_name, 1);
  if (options.momentum.var() != nullptr) inputs["MomentumTensor"] = {*options.momentum.var()};
  const std::string saved_mean = helper.temporary(), saved_variance = helper.temporary(),
                    reserve = helper.temporary(), y = helper.temporary();
  append_moving(
      helper, "batch_norm", inputs,
      {{"Y", {y}},
       {"SavedMean", {saved_mean}},
       {"SavedVariance", {saved_variance}},
       {"ReserveSpace", {reserve}}},
      {{"is_test", options.is_test},
       {"momentum",
        options.momentum.var() != nullptr ? 0.9f : static_cast<float>(options.momentum.number())},
       {"epsilon", options.epsilon},
       {"data_layout", options.data_layout},
       {"use_global_stats", options.use_global_stats},
       {"trainable_statistics", false}});
  for (const std::string& name : {saved_mean, saved_variance, reserve}) {
    helper.block().var(name).stop_gradient = true;
  }
  return helper.activate(helper.block().var(y), options.act);
}

Variable batch_norm_with(const std::string& type, Variable x, const BatchNormVariables& vars,
                         Attrs attrs, const OpOptions& options) {
  LayerHelper helper(type, options.name);
  Slots fresh;
  for (const OutSlot& output : options.outputs) {
    // Programs list them in this order, not in that of the op's slots.
    fresh[output.slot] = {helper.block().add_var({.name = helper.temporary()}).name};
  }
  append_moving(helper, type,
                {{"X", x},
                 {"Scale", vars.scale},
                 {"Bias", vars.bias},
                 {"Mean", vars.mean},
                 {"Variance", vars.variance}},
                fresh, std::move(attrs));
  return helper.activate(helper.block().var(fresh.at("Y").front()), options.act);
}

Variable layer_norm(Variable x, const LayerNormOptions& options) {
  LayerHelper helper("layer_norm", options.name);
  const int64_t begin = x.shape().axis(options.begin_norm_axis);
  const Inputs inputs =
      with_learnt(helper, x, options.scale, options.bias,
                  {x.shape().numel(begin, x.shape().rank())}, statistics_dtype(x.dtype()));
  const Variables made =
      op_outputs("layer_norm", inputs, {{"epsilon", options.epsilon}, {"begin_norm_axis", begin}},
                 {.name = helper.name(), .outputs = {"Mean", "Variance", "Y"}});
  made[0]->stop_gradient = made[1]->stop_gradient = true;
  return helper.activate(made[2], options.act);
}

Variable group_norm(Variable x, int64_t groups, const GroupNormOptions& options) {
  LayerHelper helper("group_norm", options.name);
  const bool learns = options.scale || options.bias;
  const Inputs inputs = with_learnt(helper, x, options.scale, options.bias,
                                    {learns ? channels_of(x, options.data_layout) : 0}, x.dtype());
  return op(
      "group_norm", inputs,
      {{"groups", groups}, {"epsilon", options.epsilon}, {"data_layout", options.data_layout}},
      {.name = helper.name(), .act = options.act, .outputs = {"Y", "Mean", "Variance"}});
}

Variable instance_norm(Variable x, const InstanceNormOptions& options) {
  LayerHelper helper("instance_norm", options.name);
  Inputs inputs = {{"X", x}};
  if (options.scale && options.bias) {
    inputs =
        with_learnt(helper, x, options.scale, options.bias, {channels_of(x, "NCHW")}, x.dtype());
  }
  return op("instance_norm", inputs, {{"epsilon", options.epsilon}},
            {.name = helper.name(), .outputs = {"Y", "SavedMean", "SavedVariance"}});
}

Variable data_norm(Variable x, const DataNormOptions& options) {
  LayerHelper helper("data_norm");
  const Shape columns = {channels_of(x, options.data_layout)};
  const std::string layer = options.name.empty() ? "dn" : options.name;
  Inputs inputs = {{"X", x}};
  const auto add = [&](const char* slot, const char* word, double first) {
    const ParamAttr attr = {.name = fmt::format("{}.{}", layer, word),
                            .initializer = constant(first)};
    inputs[slot] = helper.parameter(attr, columns, x.dtype(), constant(first), "w");
  };
  if (options.enable_scale_and_shift) {
    add("scale_w", "scale_w", options.scale_w);
    add("bias", "bias", options.bias);
  }
  add("BatchSize", "batch_size", options.batch_size);
  add("BatchSum", "batch_sum", options.batch_sum);
  add("BatchSquareSum", "batch_square_sum", options.batch_square);
  const Variables made = op_outputs("data_norm", inputs,
                                    {{"epsilon", options.epsilon},
                                     {"slot_dim", options.slot_dim},
                                     {"sync_stats", options.sync_stats},
                                     {"summary_decay_rate", options.summary_decay_rate},
                                     {"enable_scale_and_shift", options.enable_scale_and_shift}},
                                    {.name = helper.name(), .outputs = {"Y", "Means", "Scales"}});
  return options.act.empty() ? made.front() : op(options.act, {{"X", made.front()}});
}

}  // namespace flotilla::layers
