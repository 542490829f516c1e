// Layers, losses and metrics: the functions that append more than one op or make parameters.

#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

void bind_fc_and_embedding(nb::module_& m) {
  m.def(
      "fc",
      [](nb::object x, int64_t size, int64_t num_flatten_dims, nb::object weight, nb::object bias,
         Text act, Text name) {
        mark_user_line();
        layers::FcOptions options = {.num_flatten_dims = num_flatten_dims,
                                     .bias = to_param_attr(bias),
                                     .act = text(act),
                                     .name = text(name)};
        if (PyList_Check(weight.ptr()) || PyTuple_Check(weight.ptr())) {
          for (nb::handle one : weight) options.weights.push_back(to_needed_attr(one, "a weight"));
        } else {
          options.weight = to_needed_attr(weight, "the weight of fc");
        }
        return wrap(layers::fc(to_variables(x), size, options));
      },
      "x"_a, "size"_a, "num_flatten_dims"_a = 1, "weight"_a = nb::none(), "bias"_a = nb::none(),
      "act"_a = nb::none(), "name"_a = nb::none());
  m.def(
      "embedding",
      [](Var& ids, std::pair<int64_t, int64_t> size, bool is_sparse, bool is_distributed,
         std::optional<int64_t> padding_idx, nb::object weight, nb::object dtype, Text name,
         bool v1) {
        mark_user_line();
        return wrap(layers::embedding(ids, size.first, size.second,
                                      {.is_sparse = is_sparse,
                                       .is_distributed = is_distributed,
                                       .padding_idx = padding_idx,
                                       .weight = to_needed_attr(weight, "the table"),
                                       .dtype = to_dtype(dtype),
                                       .name = text(name),
                                       .v1 = v1}));
      },
      "ids"_a, "size"_a, "is_sparse"_a = false, "is_distributed"_a = false,
      "padding_idx"_a = nb::none(), "weight"_a = nb::none(), "dtype"_a = "float32",
      "name"_a = nb::none(), "v1"_a = false, "v1: lookup_table instead of lookup_table_v2.");
  m.def(
      "sparse_embedding",
      [](Var& ids, std::pair<int64_t, int64_t> size, std::optional<int64_t> padding_idx,
         bool is_test, const std::string& entry, const std::string& table_class, int32_t slot,
         nb::object weight, nb::object dtype) {
        mark_user_line();
        return wrap(layers::sparse_embedding(ids, size.first, size.second,
                                             {.padding_idx = padding_idx,
                                              .is_test = is_test,
                                              .entry = entry,
                                              .table_class = table_class,
                                              .slot = slot,
                                              .weight = to_needed_attr(weight, "the table"),
                                              .dtype = to_dtype(dtype)}));
      },
      "ids"_a, "size"_a, "padding_idx"_a = nb::none(), "is_test"_a = false, "entry"_a = "none",
      "table_class"_a = "MemorySparseTable", "slot"_a = 0, "weight"_a = nb::none(),
      "dtype"_a = "float32");
}

void bind_convolution(nb::module_& m) {
  m.def(
      "conv2d",
      [](Var& x, int64_t num_filters, nb::object filter_size, nb::object stride, nb::object padding,
         nb::object dilation, std::optional<int64_t> groups, nb::object weight, nb::object bias,
         Text act, Text name, const std::string& data_format) {
        mark_user_line();
        const Padding sides = to_padding(padding, data_format);
        return wrap(layers::conv2d(x, num_filters, to_extents(filter_size),
                                   {.stride = to_extents(stride),
                                    .padding = sides.sides,
                                    .padding_algorithm = sides.algorithm,
                                    .dilation = to_extents(dilation),
                                    .groups = groups.value_or(1),
                                    .weight = to_needed_attr(weight, "the filter"),
                                    .bias = to_param_attr(bias),
                                    .act = text(act),
                                    .name = text(name),
                                    .data_format = data_format}));
      },
      "x"_a, "num_filters"_a, "filter_size"_a, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1,
      "groups"_a = nb::none(), "weight"_a = nb::none(), "bias"_a = nb::none(), "act"_a = nb::none(),
      "name"_a = nb::none(), "data_format"_a = "NCHW");
  m.def(
      "conv_padding",
      [](nb::object padding, const std::string& data_format) {
        const Padding sides = to_padding(padding, data_format);
        const std::vector<int32_t>& s = sides.sides.values;
        return std::make_pair(s.size() == 4 ? s : sides.sides.expand(2, "padding"),
                              sides.algorithm);
      },
      "padding"_a, "data_format"_a = "NCHW",
      "The attributes (paddings, padding_algorithm) of any form of padding of 2-d windows.");
  m.def(
      "pool2d",
      [](Var& x, nb::object size, const std::string& type, nb::object stride, nb::object padding,
         bool global_pooling, bool ceil_mode, bool exclusive, bool adaptive, Text name,
         const std::string& data_format) {
        mark_user_line();
        const Padding sides = to_padding(padding, data_format);
        return wrap(layers::pool2d(x, {.size = to_extents(size),
                                       .type = type,
                                       .stride = to_extents(stride),
                                       .padding = sides.sides,
                                       .padding_algorithm = sides.algorithm,
                                       .global_pooling = global_pooling,
                                       .ceil_mode = ceil_mode,
                                       .exclusive = exclusive,
                                       .adaptive = adaptive,
                                       .name = text(name),
                                       .data_format = data_format}));
      },
      "x"_a, "size"_a = -1, "type"_a = "max", "stride"_a = 1, "padding"_a = 0,
      "global_pooling"_a = false, "ceil_mode"_a = false, "exclusive"_a = true, "adaptive"_a = false,
      "name"_a = nb::none(), "data_format"_a = "NCHW");
}

void bind_norms(nb::module_& m) {
  m.def(
      "batch_norm",
      [](Var& x, Text act, bool is_test, float momentum, float epsilon, nb::object scale,
         nb::object bias, const std::string& data_layout, Text name, Text moving_mean_name,
         Text moving_variance_name, bool do_model_average, bool use_global_stats) {
        mark_user_line();
        return wrap(
            layers::batch_norm(x, {.act = text(act),
                                   .is_test = is_test,
                                   .momentum = momentum,
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
      "layer_norm",
      [](Var& x, int64_t begin_norm_axis, float epsilon, nb::object scale, nb::object bias,
         Text act, Text name) {
        mark_user_line();
        return wrap(layers::layer_norm(x, {.begin_norm_axis = begin_norm_axis,
                                           .epsilon = epsilon,
                                           .scale = to_param_attr(scale),
                                           .bias = to_param_attr(bias),
                                           .act = text(act),
                                           .name = text(name)}));
      },
      "x"_a, "begin_norm_axis"_a = 1, "epsilon"_a = 1e-5f, "scale"_a = nb::none(),
      "bias"_a = nb::none(), "act"_a = nb::none(), "name"_a = nb::none());
  m.def(
      "dropout",
      [](Var& x, float probability, bool is_test, std::optional<int32_t> seed,
         bool upscale_in_train, Text name) {
        mark_user_line();
        return wrap(layers::dropout(x, probability,
                                    {.is_test = is_test,
                                     .seed = seed,
                                     .upscale_in_train = upscale_in_train,
                                     .name = text(name)}));
      },
      "x"_a, "probability"_a, "is_test"_a = false, "seed"_a = nb::none(),
      "upscale_in_train"_a = true, "name"_a = nb::none());
}

void bind_losses(nb::module_& m) {
  m.def(
      "cross_entropy",
      [](Var& x, Var& label, bool soft_label, int64_t ignore_index) {
        mark_user_line();
        return wrap(layers::cross_entropy(
            x, label, {.soft_label = soft_label, .ignore_index = ignore_index}));
      },
      "x"_a, "label"_a, "soft_label"_a = false, "ignore_index"_a = -100, "Of probabilities.");
  m.def(
      "softmax_with_cross_entropy",
      [](Var& logits, Var& label, bool soft_label, int64_t ignore_index, bool numeric_stable_mode,
         int64_t axis, bool use_softmax) {
        mark_user_line();
        const layers::LossAndSoftmax made =
            layers::softmax_with_cross_entropy(logits, label,
                                               {.soft_label = soft_label,
                                                .ignore_index = ignore_index,
                                                .numeric_stable_mode = numeric_stable_mode,
                                                .axis = axis,
                                                .use_softmax = use_softmax});
        return std::make_pair(wrap(made.loss), wrap(made.probabilities));
      },
      "logits"_a, "label"_a, "soft_label"_a = false, "ignore_index"_a = -100,
      "numeric_stable_mode"_a = true, "axis"_a = -1, "use_softmax"_a = true,
      "(loss, probabilities)");
  m.def(
      "square_error_cost",
      [](Var& x, Var& label) {
        mark_user_line();
        return wrap(layers::square_error_cost(x, label));
      },
      "x"_a, "label"_a);
  m.def(
      "reduce",
      [](const std::string& type, Var& x, nb::object axes, bool keep_dim, Text name, Text layer,
         std::optional<bool> v1) {
        mark_user_line();
        layers::ReduceOptions options = {.keep_dim = keep_dim,
                                         .name = text(name),
                                         .layer = text(layer),
                                         .v1 = v1.value_or(layers::context().writes_v1)};
        if (!axes.is_none()) options.axes = to_shape(axes).dims();
        return wrap(layers::reduce(type, x, options));
      },
      "type"_a, "x"_a, "axes"_a = nb::none(), "keep_dim"_a = false, "name"_a = nb::none(),
      "layer"_a = nb::none(), "v1"_a = nb::none(),
      "reduce_sum, reduce_mean, ... over some axes, or all.");
}

void bind_metrics(nb::module_& m) {
  m.def(
      "accuracy",
      [](Var& x, Var& label, int64_t k, nb::object correct, nb::object total,
         const std::string& top_k, Text name) {
        mark_user_line();
        const std::vector<std::string> to_correct = to_names(correct), to_total = to_names(total);
        return wrap(layers::accuracy(x, label,
                                     {.k = k,
                                      .correct = to_correct.empty() ? "" : to_correct.front(),
                                      .total = to_total.empty() ? "" : to_total.front(),
                                      .top_k = top_k,
                                      .name = text(name)}));
      },
      "x"_a, "label"_a, "k"_a = 1, "correct"_a = nb::none(), "total"_a = nb::none(),
      "top_k"_a = "top_k_v2", "name"_a = nb::none());
  m.def(
      "auc",
      [](Var& x, Var& label, const std::string& curve, int64_t num_thresholds,
         int64_t slide_steps) {
        mark_user_line();
        const layers::Auc made = layers::auc(
            x, label,
            {.curve = curve, .num_thresholds = num_thresholds, .slide_steps = slide_steps});
        return nb::make_tuple(wrap(made.auc), wrap(made.batch_auc), wrap_all(made.stats));
      },
      "x"_a, "label"_a, "curve"_a = "ROC", "num_thresholds"_a = 4095, "slide_steps"_a = 1,
      "(auc, batch_auc, [batch_pos, batch_neg, pos, neg])");
}

}  // namespace

void bind_nn(nb::module_& m) {
  bind_fc_and_embedding(m);
  bind_convolution(m);
  bind_norms(m);
  bind_losses(m);
  bind_metrics(m);
}

}  // namespace flotilla::python
