// Layers, losses and metrics: the functions that append more than one op or make parameters.

#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

void bind_products(nb::module_& m) {
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
      "bilinear_tensor_product",
      [](Var& x, Var& y, int64_t size, Text act, Text name, nb::object weight, nb::object bias) {
        mark_user_line();
        return wrap(layers::bilinear_tensor_product(
            x, y, size,
            {.weight = to_needed_attr(weight, "the weight of bilinear_tensor_product"),
             .bias = to_param_attr(bias),
             .act = text(act),
             .name = text(name)}));
      },
      "x"_a, "y"_a, "size"_a, "act"_a.none(), "name"_a.none(), "weight"_a.none(), "bias"_a.none());
  m.def(
      "prelu",
      [](Var& x, const std::string& mode, nb::object alpha, const std::string& data_format,
         Text name) {
        mark_user_line();
        return wrap(layers::prelu(x, mode,
                                  {.alpha = to_needed_attr(alpha, "the alpha of prelu"),
                                   .name = text(name),
                                   .data_format = data_format}));
      },
      "x"_a, "mode"_a, "alpha"_a.none(), "data_format"_a, "name"_a.none());
}

void bind_embeddings(nb::module_& m) {
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
         bool is_test, nb::object entry, const std::string& table_class, int32_t slot,
         nb::object weight, nb::object dtype) {
        mark_user_line();
        return wrap(
            layers::sparse_embedding(ids, size.first, size.second,
                                     {.padding_idx = padding_idx,
                                      .is_test = is_test,
                                      .entry = entry.is_none() ? "none" : nb::str(entry).c_str(),
                                      .table_class = table_class,
                                      .slot = slot,
                                      .weight = to_needed_attr(weight, "the table"),
                                      .dtype = to_dtype(dtype)}));
      },
      "ids"_a, "size"_a, "padding_idx"_a = nb::none(), "is_test"_a = false, "entry"_a = nb::none(),
      "table_class"_a = "MemorySparseTable", "slot"_a = 0, "weight"_a = nb::none(),
      "dtype"_a = "float32");
}

void bind_functions(nb::module_& m) {
  m.def(
      "continuous_value_model",
      [](Var& x, bool use_cvm) {
        mark_user_line();
        return wrap(layers::continuous_value_model(x, use_cvm));
      },
      "x"_a, "use_cvm"_a);
  m.def(
      "autoincreased_step_counter",
      [](const std::string& name, int64_t begin, int64_t step) {
        mark_user_line();
        return wrap(layers::autoincreased_step_counter(name, begin, step));
      },
      "name"_a, "begin"_a, "step"_a);
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
  bind_products(m);
  bind_embeddings(m);
  bind_functions(m);
  bind_losses(m);
  bind_metrics(m);
  bind_conv(m);
  bind_norm(m);
  bind_sampled(m);
  bind_sequence(m);
  bind_averages(m);
}

}  // namespace flotilla::python
