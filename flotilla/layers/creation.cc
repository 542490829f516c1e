#include "flotilla/layers/creation.h"

#include <algorithm>
#include <cmath>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

// One element of this type.
Variable element(const Operand& value, DType dtype) {
  if (value.var() == nullptr) return fill_constant({1}, value, dtype, {.force_cpu = true});
  const Variable var = *value.var();
  return var.dtype() == dtype ? var : cast(var, dtype);
}

bool is_fraction(const Operand& value) {
  return value.var() != nullptr ? is_floating(value.var()->dtype) : !value.whole();
}

Variable spaced(const char* type, Inputs inputs, const Operand& num, DType dtype,
                const std::string& name) {
  inputs["Num"] = element(num, i32);
  const Variable made =
      op(type, inputs, {{"dtype", to_paddle(dtype)}}, {.name = name, .stop_gradient = true});
  if (num.var() == nullptr) made->shape = Shape{static_cast<int64_t>(num.number())};
  return made;
}

Variable draw(const Numbers& shape, double mean, double deviation, DType dtype,
              const std::string& name = {}) {
  Inputs inputs;
  std::vector<int64_t> extents = put_numbers(inputs, shape, "ShapeTensor", "ShapeTensorList");
  Attrs attrs = {{"mean", static_cast<float>(mean)},
                 {"std", static_cast<float>(deviation)},
                 {"seed", 0},
                 {"dtype", to_paddle(dtype)}};
  if (!shape.all) attrs["shape"] = std::move(extents);
  return op("gaussian_random", inputs, std::move(attrs),
            {.name = name, .layer = "gaussian", .stop_gradient = true});
}

}  // namespace

std::vector<int64_t> put_numbers(Inputs& inputs, const Numbers& numbers, const char* all,
                                 const char* each) {
  if (numbers.all) {
    inputs[all] = *numbers.all;
    return {};
  }
  ShapeArgument made = shape_argument(numbers.each);
  if (!made.tensors.empty()) inputs[each] = std::move(made.tensors);
  return std::move(made.extents);
}

std::string text_of(const Operand& number) {
  if (number.whole()) return fmt::format("{}", static_cast<int64_t>(number.number()));
  std::string text = fmt::format("{}", number.number());
  if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
  return text;
}

Variable fill_constant(const Numbers& shape, const Operand& value, DType dtype,
                       const FillOptions& options) {
  Inputs inputs;
  Attrs attrs = {{"shape", put_numbers(inputs, shape, "ShapeTensor", "ShapeTensorList")},
                 {"dtype", to_paddle(dtype)},
                 {"force_cpu", options.force_cpu}};
  if (value.var() != nullptr) {
    inputs["ValueTensor"] = Variable(*value.var());
  } else {
    const double number = value.number();
    const bool whole = !is_floating(dtype) && dtype != boolean;
    require(!whole || std::abs(number) < 0x1p63, "{} does not fit into {}", number, dtype);
    attrs["value"] = static_cast<float>(number);
    attrs["str_value"] =
        !whole ? text_of(Operand(number))
               : fmt::format("{}", options.whole.value_or(static_cast<int64_t>(number)));
  }
  return op("fill_constant", inputs, std::move(attrs),
            {.name = options.name, .out = options.out, .stop_gradient = true});
}

Variable full_like(Variable x, double value) {
  return op("fill_any_like", {{"X", x}},
            {{"value", static_cast<float>(value)}, {"dtype", to_paddle(x.dtype())}},
            {.layer = "full_like", .stop_gradient = true});
}

Variable rank(Variable x) { return fill_constant({1}, x.shape().rank(), i32); }

Variable arange(const Operand& start, std::optional<Operand> end, const Operand& step,
                std::optional<DType> dtype, const std::string& name) {
  const Operand first = end ? start : Operand(0), last = end.value_or(start);
  const bool known = first.var() == nullptr && last.var() == nullptr && step.var() == nullptr;
  require(!known || step.number() != 0, "the step of a range cannot be 0");
  if (!dtype) {
    const bool whole = !is_fraction(first) && !is_fraction(last) && !is_fraction(step);
    dtype = whole ? i64 : context().default_dtype;
  }
  Inputs inputs;
  inputs["Start"] = element(first, *dtype);
  inputs["End"] = element(last, *dtype);
  inputs["Step"] = element(step, *dtype);
  const Variable made = op("range", inputs, {}, {.name = name, .stop_gradient = true});
  if (known) {
    const double count = std::ceil((last.number() - first.number()) / step.number());
    made->shape = Shape{std::max(int64_t{0}, static_cast<int64_t>(count))};
  }
  return made;
}

Variable linspace(const Operand& start, const Operand& stop, const Operand& num, DType dtype,
                  const std::string& name) {
  const Variable first = element(start, dtype), last = element(stop, dtype);
  return spaced("linspace", {{"Start", first}, {"Stop", last}}, num, dtype, name);
}

Variable logspace(const Operand& start, const Operand& stop, const Operand& num,
                  const Operand& base, DType dtype, const std::string& name) {
  const Variable power_of = element(base, dtype);
  const Variable first = element(start, dtype), last = element(stop, dtype);
  return spaced("logspace", {{"Base", power_of}, {"Start", first}, {"Stop", last}}, num, dtype,
                name);
}

Variable clone(Variable x) {
  return op("assign", {{"X", x}}, {}, {.out = context().names.generate(x.name() + "_clone")});
}

Variables meshgrid(const Variables& axes, const std::string& name) {
  const OutSlot out("Out", static_cast<int64_t>(axes.size()));
  return op_outputs("meshgrid", {{"X", axes}}, {}, {.name = name, .outputs = {out}});
}

Variable eye(int64_t rows, std::optional<int64_t> columns, DType dtype,
             const std::vector<int64_t>& batch) {
  const Variable made =
      op("eye", {},
         {{"num_rows", rows}, {"num_columns", columns.value_or(rows)}, {"dtype", to_paddle(dtype)}},
         {.stop_gradient = true});
  if (batch.empty()) return made;
  std::vector<int64_t> shape = batch;
  shape.insert(shape.end(), made.shape().begin(), made.shape().end());
  return op("expand_v2", {{"X", made}}, {{"shape", shape}}, {.layer = "expand"});
}

Variable gaussian(const Operand& mean, const Operand& deviation, const Numbers& shape,
                  const std::string& name) {
  Var* given = mean.var() != nullptr ? mean.var() : deviation.var();
  if (given == nullptr) {
    return draw(shape, mean.number(), deviation.number(), context().default_dtype, name);
  }
  const Variable extents = op("shape", {{"Input", Variable(*given)}});
  return mean + deviation * draw(extents, 0, 1, given->dtype);
}

Variable randint(int64_t low, std::optional<int64_t> high, const Numbers& shape, DType dtype,
                 int64_t seed, const std::string& name) {
  Inputs inputs;
  Attrs attrs = {{"low", high ? low : 0},
                 {"high", high.value_or(low)},
                 {"seed", seed},
                 {"shape", put_numbers(inputs, shape, "ShapeTensor", "ShapeTensorList")},
                 {"dtype", to_paddle(dtype)}};
  return op("randint", inputs, std::move(attrs), {.name = name, .stop_gradient = true});
}

}  // namespace flotilla::layers
