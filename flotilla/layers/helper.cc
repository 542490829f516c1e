#include "flotilla/layers/helper.h"

#include "flotilla/layers/weight_norm.h"

namespace flotilla::layers {
namespace {

bool is_written(const Block& block, const std::string& name) {
  return block.first_writer_of(std::vector<std::string>{name}) < block.size();
}

// Ops of the startup program carry no role of the main program's building.
void initialize(Program& startup, Var var, const Initializer& initializer,
                const std::vector<std::string>& callstack) {
  startup.build().callstack = callstack;
  Var& copy = startup.global_block().add_var(std::move(var));
  append_initializer(startup.global_block(), copy, initializer);
}

const Initializer& first_value(const ParamAttr& attr, const Initializer& otherwise,
                               std::string_view kind) {
  if (attr.initializer) return *attr.initializer;
  const std::optional<Initializer>& general =
      kind == "b" ? context().bias_initializer : context().weight_initializer;
  return general ? *general : otherwise;
}

}  // namespace

LayerHelper::LayerHelper(std::string_view type, std::string_view name)
    : name_(name.empty() ? context().names.generate(type) : std::string(name)) {}

Var& LayerHelper::parameter(const ParamAttr& attr, Shape shape, DType dtype,
                            const Initializer& otherwise, std::string_view kind) {
  if (attr.weight_norm) return weight_normed(*this, attr, shape, dtype, otherwise, kind);
  require(shape.known() && shape.numel() > 0,
          "a parameter must have a known shape without zeros, but {} was asked for", shape);
  Block& global = main().global_block();
  const std::string name =
      attr.name.empty() ? context().names.generate(fmt::format("{}.{}", name_, kind)) : attr.name;
  if (Var* existing = global.find_var(name)) {
    require(existing->shape == shape && existing->dtype == dtype,
            "parameter \"{}\" is {}{} already and cannot be shared as {}{}", name, existing->dtype,
            existing->shape, dtype, shape);
    return *existing;
  }
  Var var{.name = name,
          .dtype = dtype,
          .shape = std::move(shape),
          .persistable = true,
          .stop_gradient = !attr.trainable,
          .parameter = ParameterInfo{.trainable = attr.trainable,
                                     .learning_rate = attr.learning_rate,
                                     .regularizer = attr.regularizer,
                                     .need_clip = attr.need_clip,
                                     .do_model_average = attr.do_model_average}};
  // A startup program that serves two main programs initialises a shared parameter once.
  if (!is_written(context().startup->global_block(), var.name)) {
    initialize(*context().startup, var, first_value(attr, otherwise, kind),
               main().build().callstack);
  }
  return global.add_var(std::move(var));
}

Var& LayerHelper::global_var(std::string name, Shape shape, DType dtype,
                             const Initializer& initializer) {
  Var var{.name = std::move(name),
          .dtype = dtype,
          .shape = std::move(shape),
          .persistable = true,
          .stop_gradient = true};
  initialize(*context().startup, var, initializer, main().build().callstack);
  return main().global_block().add_var(std::move(var));
}

Var& LayerHelper::result(std::string type, Slots inputs, Attrs attrs, std::string_view out) {
  const std::string made = temporary();
  append(std::move(type), std::move(inputs), {{std::string(out), {made}}}, std::move(attrs));
  return block().var(made);
}

Var& LayerHelper::add_bias(Var& x, const ParamAttr& attr, int64_t axis) {
  Var& bias = parameter(attr, {x.shape[axis]}, x.dtype, constant(0), "b");
  return result("elementwise_add", {{"X", {x.name}}, {"Y", {bias.name}}}, {{"axis", axis}});
}

Var& LayerHelper::activate(Var& x, const std::string& act) {
  return act.empty() ? x : result(act, {{"X", {x.name}}});
}

Var& create_global_var(Shape shape, double value, DType dtype, bool persistable, std::string name) {
  LayerHelper helper("global_var", name);
  Var& var =
      helper.global_var(name.empty() ? context().names.generate("_generated_var") : std::move(name),
                        std::move(shape), dtype, constant(value));
  var.persistable = persistable;
  return var;
}

Var& create_parameter(Shape shape, DType dtype, const ParamAttr& attr, bool is_bias,
                      const std::optional<Initializer>& initializer, std::string_view layer) {
  LayerHelper helper("create_parameter", layer);
  return helper.parameter(attr, std::move(shape), dtype,
                          initializer.value_or(is_bias ? constant(0) : xavier()),
                          is_bias ? "b" : "w");
}

}  // namespace flotilla::layers
