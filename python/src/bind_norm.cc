// Normalizations.

#include "flotilla/layers/norm.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

// Where nothing is learnt unless somebody asks for it, None is no attribute, as False is.
std::optional<layers::ParamAttr> to_asked_attr(nb::handle value) {
  return value.is_none() ? std::nullopt : to_param_attr(value);
}

// A number of a dict; what is no dict has none.
double first_value(nb::handle values, const char* key, double otherwise) {
  if (!PyDict_Check(values.ptr())) return otherwise;
  const auto dict = nb::cast<nb::dict>(values);
  if (!dict.contains(key)) return otherwise;
  const nb::object given = dict[key];
  return nb::cast<double>(nb::float_(given));
}

void bind_batch_norm(nb::module_& m) {
  m.def(
      "batch_norm",
      [](Var& x, Text act, bool is_test, nb::object momentum, float epsilon, nb::object scale,
         nb::object bias, const std::string& data_layout, Text name, Text moving_mean_name,
         Text moving_variance_name, bool do_model_average, bool use_global_stats) {
        mark_user_line();
        return wrap(
            layers::batch_norm(x, {.act = text(act),
                                   .is_test = is_test,
                                   .momentum = to_operand(momentum),
                                   .epsilon = epsilon,
                                   .scale = to_needed_attr(scale, "the scale of batch_norm"),
                                   .bias = to_needed_attr(bias, "the bias of batch_norm"),
                                   .name = text(name),
                                   .moving_mean_name = text(moving_mean_name),
                                   .moving_variance_name = text(moving_variance_name),
                                   .do_model_average = do_model_average,
                                   .use_global_stats = use_global_stats,
                                   .data_layout = data_layout}));
      },
      "x"_a, "act"_a = nb::none(), "is_test"_a = false, "momentum"_a = 0.9f, "epsilon"_a = 1e-5f,
      "scale"_a = nb::none(), "bias"_a = nb::none(), "data_layout"_a = "NCHW",
      "name"_a = nb::none(), "moving_mean_name"_a = nb::none(),
      "moving_variance_name"_a = nb::none(), "do_model_average"_a = true,
      "use_global_stats"_a = false);
  m.def(
      "batch_norm_with",
      [](Var& x, Var& mean, Var& variance, nb::object scale, nb::object bias, nb::dict attrs,
         const std::vector<std::string>& outs, Text name, Text act, const std::string& type) {
        mark_user_line();
        const layers::BatchNormVariables vars = {.mean = mean,
                                                 .variance = variance,
                                                 .scale = to_variables(scale),
                                                 .bias = to_variables(bias)};
        return wrap(layers::batch_norm_with(
            type, x, vars, to_attrs(attrs),
            {.name = text(name), .act = text(act), .outputs = {outs.begin(), outs.end()}}));
      },
      "x"_a, "mean"_a, "variance"_a, "scale"_a.none(), "bias"_a.none(), "attrs"_a, "outs"_a,
      "name"_a = nb::none(), "act"_a = nb::none(), "type"_a = "batch_norm",
      "The op with variables that exist; `outs`: the slots to make variables for.");
}

void bind_norms_of_samples(nb::module_& m) {
  m.def(
      "layer_norm",
      [](Var& x, bool scales, bool shifts, int64_t begin_norm_axis, float epsilon, nb::object scale,
         nb::object bias, Text act, Text name) {
        mark_user_line();
        return wrap(layers::layer_norm(x, {.begin_norm_axis = begin_norm_axis,
                                           .epsilon = epsilon,
                                           .scale = scales ? to_param_attr(scale) : std::nullopt,
                                           .bias = shifts ? to_param_attr(bias) : std::nullopt,
                                           .act = text(act),
                                           .name = text(name)}));
      },
      "x"_a, "scales"_a, "shifts"_a, "begin_norm_axis"_a, "epsilon"_a, "scale"_a.none(),
      "bias"_a.none(), "act"_a.none(), "name"_a.none());
  m.def(
      "group_norm",
      [](Var& x, int64_t groups, float epsilon, nb::object scale, nb::object bias, Text act,
         const std::string& data_layout, Text name) {
        mark_user_line();
        return wrap(layers::group_norm(x, groups,
                                       {.epsilon = epsilon,
                                        .scale = to_asked_attr(scale),
                                        .bias = to_asked_attr(bias),
                                        .act = text(act),
                                        .name = text(name),
                                        .data_layout = data_layout}));
      },
      "x"_a, "groups"_a, "epsilon"_a, "scale"_a.none(), "bias"_a.none(), "act"_a.none(),
      "data_layout"_a, "name"_a.none());
  m.def(
      "instance_norm",
      [](Var& x, float epsilon, nb::object scale, nb::object bias, Text name, bool v1) {
        mark_user_line();
        require((scale.ptr() == Py_False) == (bias.ptr() == Py_False),
                "param_attr and bias_attr must both be False, or neither");
        const bool learns = v1 && scale.is_none() && bias.is_none();
        return wrap(
            layers::instance_norm(x, {.epsilon = epsilon,
                                      .scale = learns ? to_param_attr(scale) : to_asked_attr(scale),
                                      .bias = learns ? to_param_attr(bias) : to_asked_attr(bias),
                                      .name = text(name)}));
      },
      "x"_a, "epsilon"_a, "scale"_a.none(), "bias"_a.none(), "name"_a.none(), "v1"_a = false,
      "v1: both are learnt where nothing is said of either.");
}

void bind_data_norm(nb::module_& m) {
  m.def(
      "data_norm",
      [](Var& x, Text act, float epsilon, nb::object first, const std::string& data_layout,
         Text name, int64_t slot_dim, bool sync_stats, float summary_decay_rate,
         bool enable_scale_and_shift) {
        mark_user_line();
        const layers::DataNormOptions by_default = {};
        return wrap(layers::data_norm(
            x, {.act = text(act),
                .epsilon = epsilon,
                .batch_size = first_value(first, "batch_size", by_default.batch_size),
                .batch_sum = first_value(first, "batch_sum", by_default.batch_sum),
                .batch_square = first_value(first, "batch_square", by_default.batch_square),
                .enable_scale_and_shift = enable_scale_and_shift,
                .scale_w = first_value(first, "scale_w", by_default.scale_w),
                .bias = first_value(first, "bias", by_default.bias),
                .slot_dim = slot_dim,
                .sync_stats = sync_stats,
                .summary_decay_rate = summary_decay_rate,
                .name = text(name),
                .data_layout = data_layout}));
      },
      "x"_a, "act"_a.none(), "epsilon"_a, "first"_a.none(), "data_layout"_a, "name"_a.none(),
      "slot_dim"_a, "sync_stats"_a, "summary_decay_rate"_a, "enable_scale_and_shift"_a,
      "first: a dict with first values of the parameters.");
}

}  // namespace

void bind_norm(nb::module_& m) {
  bind_batch_norm(m);
  bind_norms_of_samples(m);
  bind_data_norm(m);
}

}  // namespace flotilla::python
