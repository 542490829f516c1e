// Layers: the programs in use, unique names, how parameters are made, and the functions that append
// more than one op. Python's functions on single ops call `op`.

#include "flotilla/layers/by_rule.h"
#include "flotilla/layers/context.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;
using layers::Variable;

void bind_context(nb::module_& m) {
  m.def(
      "main_program", [] { return layers::context().main; }, "The program that layers append to.");
  m.def(
      "startup_program", [] { return layers::context().startup; },
      "The program that gives parameters their first values.");
  m.def(
      "switch_programs",
      [](std::shared_ptr<Program> main, std::shared_ptr<Program> startup) {
        auto before = std::make_pair(layers::context().main, layers::context().startup);
        layers::context().main = std::move(main);
        layers::context().startup = std::move(startup);
        return before;
      },
      "main"_a, "startup"_a, "Let layers append to these programs; returns those before.");
  nb::class_<UniqueNames>(m, "UniqueNames", "Counters of unique names.")
      .def(nb::init<>())
      .def(nb::init<std::string>(), "prefix"_a);
  m.def(
      "unique_name", [](std::string_view key) { return layers::context().names.generate(key); },
      "key"_a, "A fresh name: <key>_<n>.");
  m.def(
      "switch_names",
      [](UniqueNames next) { return layers::context().names.switch_to(std::move(next)); },
      "names"_a, "Go on with these counters; returns those before.");
}

layers::Initializer::Kind initializer_kind(const std::string& name) {
  using layers::Initializer;
  const std::map<std::string, Initializer::Kind> kinds = {
      {"constant", Initializer::kConstant}, {"uniform", Initializer::kUniform},
      {"normal", Initializer::kNormal},     {"truncated_normal", Initializer::kTruncatedNormal},
      {"xavier", Initializer::kXavier},     {"msra", Initializer::kMsra},
      {"values", Initializer::kValues}};
  const auto found = kinds.find(name);
  require(found != kinds.end(), "there is no initializer of kind \"{}\"", name);
  return found->second;
}

void bind_initializer(nb::module_& m) {
  using layers::Initializer;
  nb::class_<Initializer>(m, "Initializer", nb::dynamic_attr(),
                          "How a variable gets its first value.")
      .def(
          "__init__",
          [](Initializer* self, const std::string& kind, double a, double b, bool uniform,
             std::optional<double> fan_in, std::optional<double> fan_out, double negative_slope,
             bool leaky, int64_t seed, std::vector<double> values) {
            new (self) Initializer{.kind = initializer_kind(kind),
                                   .a = a,
                                   .b = b,
                                   .uniform = uniform,
                                   .fan_in = fan_in,
                                   .fan_out = fan_out,
                                   .negative_slope = negative_slope,
                                   .leaky = leaky,
                                   .seed = seed,
                                   .values = std::move(values)};
          },
          "kind"_a, "a"_a = 0.0, "b"_a = 0.0, "uniform"_a = true, "fan_in"_a = nb::none(),
          "fan_out"_a = nb::none(), "negative_slope"_a = 0.0, "leaky"_a = false, "seed"_a = 0,
          "values"_a = std::vector<double>{},
          "kind: constant (a: value), uniform (a, b: bounds), normal and truncated_normal (a: "
          "mean, "
          "b: standard deviation), xavier and msra (uniform or normal), values.")
      .def(
          "__call__",
          [](const Initializer& self, Var& var, std::optional<Block*> block) {
            mark_user_line();
            Block& where = block ? **block : *var.block;
            append_initializer(where, var, self);
            return wrap(where.op(where.size() - 1));
          },
          "var"_a, "block"_a = nb::none(), "Append the op that gives `var` its first value.");
  m.def(
      "set_global_initializer",
      [](std::optional<Initializer> weight, std::optional<Initializer> bias) {
        layers::context().weight_initializer = std::move(weight);
        layers::context().bias_initializer = std::move(bias);
      },
      "weight"_a.none(), "bias"_a.none(),
      "How parameters start that say nothing themselves, instead of what their layer chooses.");
}

Regularizer make_regularizer(const std::string& kind, float coeff) {
  require(kind == "l1" || kind == "l2" || kind == "none",
          "a regularizer is l1, l2 or none, but {} was given", kind);
  return {kind == "l1"   ? Regularizer::kL1
          : kind == "l2" ? Regularizer::kL2
                         : Regularizer::kNone,
          coeff};
}

void bind_param_attr(nb::module_& m) {
  using layers::ParamAttr;
  nb::class_<Regularizer>(m, "Regularizer", nb::dynamic_attr(), "What keeps parameters small.")
      .def(
          "__init__",
          [](Regularizer* self, const std::string& kind, float coeff) {
            new (self) Regularizer(make_regularizer(kind, coeff));
          },
          "kind"_a, "coeff"_a, "kind: l1 or l2.")
      .def_rw("coeff", &Regularizer::coeff);
  nb::class_<ParamAttr>(m, "ParamAttr", nb::dynamic_attr(), "How a parameter is made and trained.")
      .def(
          "__init__",
          [](ParamAttr* self, Text name, std::optional<layers::Initializer> initializer,
             float learning_rate, std::optional<Regularizer> regularizer, bool trainable,
             bool do_model_average, bool need_clip) {
            new (self) ParamAttr{.name = text(name),
                                 .initializer = std::move(initializer),
                                 .learning_rate = learning_rate,
                                 .regularizer = regularizer,
                                 .trainable = trainable,
                                 .do_model_average = do_model_average,
                                 .need_clip = need_clip};
          },
          "name"_a = nb::none(), "initializer"_a = nb::none(), "learning_rate"_a = 1.0f,
          "regularizer"_a = nb::none(), "trainable"_a = true, "do_model_average"_a = true,
          "need_clip"_a = true)
      .def_prop_rw(
          "name", [](const ParamAttr& a) { return a.name.empty() ? Text() : Text(a.name); },
          [](ParamAttr& a, Text name) { a.name = text(name); }, nb::for_setter(nb::arg().none()))
      .def_rw("initializer", &ParamAttr::initializer, nb::for_setter(nb::arg().none()))
      .def_rw("learning_rate", &ParamAttr::learning_rate)
      .def_rw("regularizer", &ParamAttr::regularizer, nb::for_setter(nb::arg().none()))
      .def_rw("trainable", &ParamAttr::trainable)
      .def_rw("do_model_average", &ParamAttr::do_model_average)
      .def_rw("need_clip", &ParamAttr::need_clip);
  m.def(
      "to_param_attr", [](nb::object value) { return to_param_attr(value); }, "value"_a.none(),
      "A ParamAttr from any of its forms; None for False, no parameter.");
}

std::vector<layers::OutSlot> to_out_slots(nb::handle outs) {
  std::vector<layers::OutSlot> slots;
  if (outs.is_none()) return slots;
  for (nb::handle item : outs) {
    if (nb::isinstance<nb::str>(item)) {
      slots.emplace_back(nb::cast<std::string>(item));
    } else {
      const auto [slot, count] = nb::cast<std::pair<std::string, int64_t>>(item);
      slots.emplace_back(slot, count);
    }
  }
  return slots;
}

void bind_op(nb::module_& m) {
  m.def(
      "op",
      [](const std::string& type, nb::object inputs, nb::object attrs, Text name, Text act,
         nb::object outs, nb::object out, Text layer, bool stop_gradient) {
        mark_user_line();
        const std::vector<std::string> exact = to_names(out);
        const layers::OpOptions options = {.name = text(name),
                                           .layer = text(layer),
                                           .out = exact.empty() ? "" : exact.front(),
                                           .act = text(act),
                                           .outputs = to_out_slots(outs),
                                           .stop_gradient = stop_gradient};
        Attrs given = attrs.is_none() ? Attrs{} : to_attrs(nb::cast<nb::dict>(attrs));
        if (outs.is_none()) return wrap(op(type, to_inputs(inputs), std::move(given), options));
        return wrap_all(op_outputs(type, to_inputs(inputs), std::move(given), options));
      },
      "type"_a, "inputs"_a = nb::none(), "attrs"_a = nb::none(), "name"_a = nb::none(),
      "act"_a = nb::none(), "outs"_a = nb::none(), "out"_a = nb::none(), "layer"_a = nb::none(),
      "stop_gradient"_a = false,
      "Append one op with fresh variables for what it writes, and return the first of them. `outs` "
      "names the slots to return instead, as names or (name, count); `out` is the variable (or its "
      "exact name) to write; `layer` stands for the type in default names.");
  m.def(
      "binary",
      [](const std::string& type, nb::object x, nb::object y) {
        mark_user_line();
        return wrap(binary(type, to_operand(x), to_operand(y)));
      },
      "type"_a, "x"_a, "y"_a, "x <type> y by the rules of operators; one side may be a number.");
  m.def("negative", [](Var& x) {
    mark_user_line();
    return wrap(layers::negative(x));
  });
  m.def(
      "getitem",
      [](Var& x, nb::object index) {
        mark_user_line();
        return wrap(layers::index(x, to_index(index)));
      },
      "x"_a, "index"_a.none(), "x[index]: numbers, slices, None and ...");
  m.def(
      "shape_argument",
      [](nb::object extents) {
        mark_user_line();
        std::vector<layers::Operand> operands;
        for (nb::handle item : extents) {
          operands.push_back(item.is_none() ? layers::Operand(-1) : to_operand(item));
        }
        const layers::ShapeArgument made = layers::shape_argument(operands);
        nb::list tensors;
        for (const Variable& var : made.tensors) tensors.append(wrap(static_cast<Var&>(var)));
        return std::make_pair(made.extents, tensors);
      },
      "extents"_a,
      "A shape that may hold variables: (extents with -1 for variables, all as variables or []).");
}

void bind_makers(nb::module_& m) {
  m.def(
      "data",
      [](const std::string& name, nb::object shape, nb::object dtype, int32_t lod_level,
         bool append_batch_size, bool need_check_feed, bool stop_gradient) {
        mark_user_line();
        return wrap(layers::data(name, to_shape(shape), to_dtype(dtype),
                                 {.lod_level = lod_level,
                                  .append_batch_size = append_batch_size,
                                  .need_check_feed = need_check_feed,
                                  .stop_gradient = stop_gradient}));
      },
      "name"_a, "shape"_a, "dtype"_a = "float32", "lod_level"_a = 0, "append_batch_size"_a = false,
      "need_check_feed"_a = true, "stop_gradient"_a = true, "Declare what a run is fed.");
  m.def(
      "create_global_var",
      [](nb::object shape, double value, nb::object dtype, bool persistable, Text name) {
        mark_user_line();
        return wrap(layers::create_global_var(to_shape(shape), value, to_dtype(dtype), persistable,
                                              text(name)));
      },
      "shape"_a, "value"_a, "dtype"_a, "persistable"_a = false, "name"_a = nb::none());
  m.def(
      "create_parameter",
      [](nb::object shape, nb::object dtype, nb::object attr, bool is_bias,
         std::optional<layers::Initializer> initializer, Text layer) -> nb::object {
        mark_user_line();
        const std::optional<layers::ParamAttr> made = to_param_attr(attr);
        if (!made) return nb::none();
        return wrap(layers::create_parameter(to_shape(shape), to_dtype(dtype), *made, is_bias,
                                             std::move(initializer), text(layer)));
      },
      "shape"_a, "dtype"_a = "float32", "attr"_a = nb::none(), "is_bias"_a = false,
      "initializer"_a = nb::none(), "layer"_a = nb::none(),
      "A parameter by itself, named <layer>.w_<n> (or b). `initializer` is used where `attr` has "
      "none. None where `attr` is False.");
}

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
        return std::make_pair(wrap(made.loss), wrap(made.softmax));
      },
      "logits"_a, "label"_a, "soft_label"_a = false, "ignore_index"_a = -100,
      "numeric_stable_mode"_a = true, "axis"_a = -1, "use_softmax"_a = true, "(loss, softmax)");
  m.def(
      "square_error_cost",
      [](Var& x, Var& label) {
        mark_user_line();
        return wrap(layers::square_error_cost(x, label));
      },
      "x"_a, "label"_a);
  m.def(
      "reduce",
      [](const std::string& type, Var& x, nb::object axes, bool keep_dim, Text name, Text layer) {
        mark_user_line();
        layers::ReduceOptions options = {
            .keep_dim = keep_dim, .name = text(name), .layer = text(layer)};
        if (!axes.is_none()) options.axes = to_shape(axes).dims();
        return wrap(layers::reduce(type, x, options));
      },
      "type"_a, "x"_a, "axes"_a = nb::none(), "keep_dim"_a = false, "name"_a = nb::none(),
      "layer"_a = nb::none(), "reduce_sum, reduce_mean, ... over some axes, or all.");
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

void bind_rules(nb::module_& m) {
  m.def(
      "uniform_by_rule",
      [](std::string_view key, nb::object shape, double low, double high) {
        const Shape extents = to_shape(shape);
        const std::vector<float> numbers = layers::uniform_by_rule(key, extents.numel(), low, high);
        return to_numpy(Tensor::of<float>(numbers, extents));
      },
      "key"_a, "shape"_a, "low"_a = 0.0, "high"_a = 1.0, "Numbers that follow from a text alone.");
  m.def(
      "integers_by_rule",
      [](std::string_view key, nb::object shape, int64_t low, int64_t high) {
        const Shape extents = to_shape(shape);
        const std::vector<int64_t> numbers =
            layers::integers_by_rule(key, extents.numel(), low, high);
        return to_numpy(Tensor::of<int64_t>(numbers, extents));
      },
      "key"_a, "shape"_a, "low"_a, "high"_a);
  m.def(
      "parameter_by_rule",
      [](std::string_view name, nb::object shape) {
        const Shape extents = to_shape(shape);
        return to_numpy(Tensor::of<float>(layers::parameter_by_rule(name, extents), extents));
      },
      "name"_a, "shape"_a, "The first value of a parameter that follows from its name and shape.");
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_context(m);
  bind_initializer(m);
  bind_param_attr(m);
  bind_op(m);
  bind_makers(m);
  bind_fc_and_embedding(m);
  bind_convolution(m);
  bind_norms(m);
  bind_losses(m);
  bind_metrics(m);
  bind_rules(m);
  bind_optimizer(m);
}

}  // namespace flotilla::python
