// What layers stand on: the programs in use, unique names, how parameters are made, `op` for
// whatever is a single op, operators.

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
  m.def(
      "default_dtype", [] { return std::string(long_name_of(layers::context().default_dtype)); },
      "The element type of what states none.");
  m.def(
      "writes_v1", [] { return layers::context().writes_v1; },
      "Whether ops are written as 1.8 knows them.");
  m.def(
      "switch_v1", [](bool on) { return std::exchange(layers::context().writes_v1, on); }, "on"_a,
      "Write ops as 1.8 knows them, or not; returns what was before.");
  m.def(
      "set_default_dtype",
      [](nb::object dtype) { layers::context().default_dtype = to_dtype(dtype); }, "dtype"_a);
}

layers::Initializer::Kind initializer_kind(const std::string& name) {
  using layers::Initializer;
  const std::map<std::string, Initializer::Kind> kinds = {
      {"constant", Initializer::kConstant}, {"uniform", Initializer::kUniform},
      {"normal", Initializer::kNormal},     {"truncated_normal", Initializer::kTruncatedNormal},
      {"xavier", Initializer::kXavier},     {"msra", Initializer::kMsra},
      {"values", Initializer::kValues},     {"bilinear", Initializer::kBilinear},
      {"dirac", Initializer::kDirac},       {"orthogonal", Initializer::kOrthogonal}};
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
          "b: standard deviation), xavier and msra (uniform or normal), values, bilinear, dirac "
          "(a: "
          "groups), orthogonal (a: factor).")
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
          "a regularizer must be l1, l2 or none, but is {}", kind);
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
             bool do_model_average, bool need_clip, std::optional<int64_t> weight_norm) {
            new (self) ParamAttr{.name = text(name),
                                 .initializer = std::move(initializer),
                                 .learning_rate = learning_rate,
                                 .regularizer = regularizer,
                                 .trainable = trainable,
                                 .do_model_average = do_model_average,
                                 .need_clip = need_clip,
                                 .weight_norm = weight_norm};
          },
          "name"_a = nb::none(), "initializer"_a = nb::none(), "learning_rate"_a = 1.0f,
          "regularizer"_a = nb::none(), "trainable"_a = true, "do_model_average"_a = true,
          "need_clip"_a = true, "weight_norm"_a = nb::none())
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
      "x"_a, "index"_a.none(), "x[index], as numpy has it, also by variables and arrays.");
  m.def(
      "setitem",
      [](Var& x, nb::object index, nb::object value, bool in_place) {
        mark_user_line();
        const std::vector<layers::Index> places = to_index(index);
        const bool array = nb::hasattr(value, "__array__") && !nb::isinstance<Var>(value);
        if (!array && !nb::isinstance<nb::list>(value)) {
          return wrap(layers::set(x, places, to_operand(value), in_place));
        }
        const Variable given = layers::constant(from_numpy(value));
        return wrap(layers::set(x, places, given, in_place));
      },
      "x"_a, "index"_a.none(), "value"_a, "in_place"_a = false,
      "x with the elements of x[index] replaced; `in_place`: for the ops that follow, too.");
  m.def(
      "shape_argument",
      [](nb::object extents) {
        mark_user_line();
        const layers::ShapeArgument made = layers::shape_argument(to_operands(extents));
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

void bind_layers(nb::module_& m, job::Fleet& fleet) {
  bind_context(m);
  bind_initializer(m);
  bind_param_attr(m);
  bind_op(m);
  bind_rows(m);
  bind_composed_losses(m);
  bind_composed_functions(m);
  bind_makers(m);
  bind_rules(m);
  bind_nn(m);
  bind_optimizer(m, fleet);
}

}  // namespace flotilla::python
