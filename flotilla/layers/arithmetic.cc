#include "flotilla/layers/arithmetic.h"

#include <limits>
#include <numbers>

#include "flotilla/layers/creation.h"
#include "flotilla/layers/forms.h"

namespace flotilla::layers {
namespace {

// The op itself of two variables; the rules of operators where one is a number.
Variable both(const char* type, const Operand& x, const Operand& y) {
  if (x.var() == nullptr || y.var() == nullptr) return binary(type, x, y);
  return elementwise(type, *x.var(), *y.var());
}

Variable fold(const char* type, const char* layer, Variable x, const std::vector<int64_t>& axes,
              bool keep_dim, const std::string& name) {
  return reduce(type, x,
                {.axes = axes,
                 .keep_dim = keep_dim,
                 .name = name,
                 .layer = layer,
                 .v1 = context().writes_v1});
}

Variable as(Variable x, std::optional<DType> dtype) {
  return !dtype || x.dtype() == *dtype ? x : cast(x, *dtype);
}

Variable in_floats(Variable x) { return is_floating(x.dtype()) ? x : cast(x, f32); }

Variable number_of_elements(Variable x) {
  return op("size", {{"Input", x}}, {}, {.layer = "numel", .stop_gradient = true});
}

Variable is_number(Variable x) {
  return op("equal", {{"X", x}, {"Y", x}}, {}, {.stop_gradient = true});
}
Variable is_nan(Variable x) { return op("logical_not", {{"X", is_number(x)}}); }

double largest(DType dtype) {
  if (dtype == f64) return std::numeric_limits<double>::max();
  if (dtype == f32) return std::numeric_limits<float>::max();
  require(dtype == f16, "nan_to_num takes numbers of type float16, float32 or float64, but not {}",
          long_name_of(dtype));
  return 65504;
}

}  // namespace

Variable scaled(Variable x, double factor, double bias) {
  return op("scale", {{"X", x}},
            {{"scale", static_cast<float>(factor)},
             {"bias", static_cast<float>(bias)},
             {"bias_after_scale", true}});
}

Variable pow(Variable x, const Operand& y, const std::string& name) {
  if (y.var() != nullptr) return elementwise("elementwise_pow", x, *y.var(), {.name = name});
  return op("pow", {{"X", x}}, {{"factor", static_cast<float>(y.number())}}, {.name = name});
}

Variable increment(Variable x, double value, bool in_place) {
  return op("increment", {{"X", x}}, {{"step", static_cast<float>(value)}},
            {.out = in_place ? x.name() : ""});
}

Variable lerp(Variable x, Variable y, const Operand& weight, const std::string& name) {
  const Variable share =
      weight.var() != nullptr ? Variable(*weight.var()) : fill_constant({1}, weight, x.dtype());
  return op("lerp", {{"X", x}, {"Y", y}, {"Weight", share}}, {}, {.name = name});
}

Variable hypot(Variable x, Variable y) {
  const Variable of_x = square(x);
  return sqrt(elementwise("elementwise_add", of_x, square(y)));
}

Variable logaddexp(const Operand& x, const Operand& y) {
  const Variable larger = both("elementwise_max", x, y);
  const Variable apart = abs(both("elementwise_sub", x, y));
  return elementwise("elementwise_add", larger, log(exp(-apart) + 1.0));
}

Variable deg2rad(Variable x) { return scaled(in_floats(x), std::numbers::pi / 180); }
Variable rad2deg(Variable x) { return scaled(in_floats(x), 180 / std::numbers::pi); }

Variable frac(Variable x) { return subtract(x, op("trunc", {{"X", x}})); }

Variable addcmul(Variable x, Variable y, Variable z, double value) { return x + y * z * value; }

Variable sum_over(Variable x, const std::vector<int64_t>& axes, bool keep_dim,
                  const std::string& name) {
  return fold("reduce_sum", "sum", x, axes, keep_dim, name);
}

Variable mean_over(Variable x, const std::vector<int64_t>& axes, bool keep_dim,
                   const std::string& name) {
  return fold("reduce_mean", "mean", x, axes, keep_dim, name);
}

Variable sum_as(Variable x, const std::vector<int64_t>& axes, std::optional<DType> dtype,
                bool keep_dim, const std::string& name) {
  if (!dtype && x.dtype() == boolean) dtype = i64;
  return sum_over(as(x, dtype), axes, keep_dim, name);
}

Variable logsumexp(Variable x, const std::vector<int64_t>& axes, bool keep_dim,
                   const std::string& name) {
  const bool all = axes.empty();
  const std::vector<int64_t> of_all(context().writes_v1 ? 1 : 0);
  return op("logsumexp", {{"X", x}},
            {{"axis", all ? of_all : axes}, {"keepdim", keep_dim}, {"reduce_all", all}},
            {.name = name});
}

Variable count_nonzero(Variable x, const std::vector<int64_t>& axes, bool keep_dim,
                       const std::string& name) {
  const Variable counted = cast(binary("not_equal", x, 0), i64);
  return fold("reduce_sum", "count_nonzero", counted, axes, keep_dim, name);
}

Variable cumprod(Variable x, std::optional<int64_t> axis, std::optional<DType> dtype,
                 const std::string& name) {
  require(axis.has_value(), "cumprod needs dim, the axis along which it multiplies");
  return op("cumprod", {{"X", as(x, dtype)}}, {{"dim", *axis}}, {.name = name});
}

std::pair<Variable, Variable> running_extremes(const std::string& type, Variable x,
                                               std::optional<int64_t> axis, DType dtype,
                                               const std::string& name) {
  const Variables made = op_outputs(type, {{"x", axis ? x : flatten(x)}},
                                    {{"axis", axis.value_or(-1)}, {"dtype", to_paddle(dtype)}},
                                    {.name = name, .outputs = {"out", "indices"}});
  return {made[0], made[1]};
}

Variable variance(Variable x, const std::vector<int64_t>& axes, bool unbiased, bool keep_dim,
                  const std::string& name) {
  const Variable squares = square(x - mean_over(x, axes, true));
  if (!unbiased) return mean_over(squares, axes, keep_dim, name);
  const Variable total = sum_over(squares, axes, keep_dim);
  const Variable elements = cast(number_of_elements(x), x.dtype());
  const Variable rows = elements / cast(number_of_elements(total), x.dtype());
  return total / both("elementwise_max", rows - 1.0, 1.0);
}

Variable standard_deviation(Variable x, const std::vector<int64_t>& axes, bool unbiased,
                            bool keep_dim, const std::string& name) {
  return op("sqrt", {{"X", variance(x, axes, unbiased, keep_dim)}}, {}, {.name = name});
}

Variable trapezoid(Variable y, std::optional<Variable> x, std::optional<Operand> dx, int64_t axis) {
  require(!x || !dx, "trapezoid takes one of x and dx");
  axis = y.shape().axis(axis);
  const Variable after = cut(y, axis, 1, y.shape()[axis]);
  const Variable pairs =
      elementwise("elementwise_add", after, cut(y, axis, 0, y.shape()[axis] - 1));
  if (!x) {
    const Variable total = sum_over(pairs, {axis});
    return total * (!dx                    ? Operand(0.5)
                    : dx->var() == nullptr ? Operand(0.5 * dx->number())
                                           : Operand(0.5 * *dx));
  }
  const int64_t rank = x->shape().rank();
  Variable widths = diff(*x, 1, rank > 1 ? axis : 0);
  if (rank == 1 && y.shape().rank() > 1) {
    std::vector<int64_t> along(static_cast<size_t>(y.shape().rank() - axis), 1);
    along.front() = -1;
    widths = reshape(widths, along);
  }
  return sum_over(multiply(pairs, widths), {axis}) * 0.5;
}

Variable l2_normalize(Variable x, const std::vector<int64_t>& axes, double epsilon,
                      const std::string& name) {
  const Variable squares = fold("reduce_sum", "", square(x), axes, true, "");
  const Variable factor = op("rsqrt", {{"X", scaled(squares, 1, epsilon)}});
  return elementwise("elementwise_mul", x, factor, {.name = name});
}

Variable closeness(const std::string& type, Variable x, Variable y, const Operand& rtol,
                   const Operand& atol, bool equal_nan, const std::string& name) {
  // Paddle keeps tolerances as text.
  return op(type, {{"Input", x}, {"Other", y}},
            {{"rtol", text_of(rtol)}, {"atol", text_of(atol)}, {"equal_nan", equal_nan}},
            {.name = name, .stop_gradient = true});
}

Variable nan_to_num(Variable x, double nan, std::optional<double> posinf,
                    std::optional<double> neginf) {
  const double most = largest(x.dtype());
  const Variable missing = is_nan(x);
  x = where(missing, full_like(x, nan), x);
  const Variable above = x > most;
  x = where(above, full_like(x, posinf.value_or(most)), x);
  const Variable below = x < -most;
  return where(below, full_like(x, neginf.value_or(-most)), x);
}

Variable nansum(Variable x, const std::vector<int64_t>& axes, std::optional<DType> dtype,
                bool keep_dim) {
  const Variable missing = is_nan(x);
  const Variable kept = where(missing, full_like(x, 0), x);
  return sum_as(dtype ? cast(kept, *dtype) : kept, axes, {}, keep_dim);
}

Variable nanmean(Variable x, const std::vector<int64_t>& axes, bool keep_dim) {
  const Variable counted = op("logical_not", {{"X", is_nan(x)}});
  const Variable count = sum_over(cast(counted, x.dtype()), axes, keep_dim);
  return divide(nansum(x, axes, {}, keep_dim), count);
}

Variable masked_fill(Variable x, Variable mask, const Operand& value) {
  const Variable filled = value.var() == nullptr
                              ? full_like(x, value.number())
                              : elementwise("elementwise_add", full_like(x, 0), *value.var());
  return where(mask.shape() == x.shape() ? mask : expand_as(mask, x), filled, x);
}

}  // namespace flotilla::layers
