#include "flotilla/layers/initializer.h"

#include <cmath>

#include "flotilla/op/build.h"

namespace flotilla::layers {
namespace {

struct Fans {
  double in = 1;
  double out = 1;
};

// A matrix maps its rows to its columns; a filter [O, I, h, w] maps I channels under each of its
// h * w places to O.
Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  if (shape.rank() == 2) return {static_cast<double>(shape[0]), static_cast<double>(shape[1])};
  const double field = static_cast<double>(shape.numel(2, shape.rank()));
  return {static_cast<double>(shape[1]) * field, static_cast<double>(shape[0]) * field};
}

Attrs shape_and_dtype(const Var& var) {
  return {{"shape", var.shape.dims()}, {"dtype", static_cast<int32_t>(to_paddle(var.dtype))}};
}

// The shortest text that reads back as the same element.
std::string shortest(double value, DType dtype) {
  return dtype == f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

void append_random(Block& block, const Var& var, std::string type, const char* first, double a,
                   const char* second, double b, int64_t seed) {
  Attrs attrs = shape_and_dtype(var);
  attrs[first] = static_cast<float>(a);
  attrs[second] = static_cast<float>(b);
  attrs["seed"] = static_cast<int32_t>(seed);
  append_op(block, std::move(type), {}, {{"Out", {var.name}}}, std::move(attrs));
}

void append_uniform(Block& block, const Var& var, double low, double high, int64_t seed) {
  append_random(block, var, "uniform_random", "min", low, "max", high, seed);
}

void append_normal(Block& block, const Var& var, double mean, double std, int64_t seed) {
  append_random(block, var, "gaussian_random", "mean", mean, "std", std, seed);
}

void append_values(Block& block, const Var& var, const std::vector<double>& values) {
  require(static_cast<int64_t>(values.size()) == var.shape.numel(),
          "{} values do not fill \"{}\" of shape {}", values.size(), var.name, var.shape);
  Attrs attrs = {{"shape", std::vector<int32_t>(var.shape.begin(), var.shape.end())},
                 {"dtype", static_cast<int32_t>(to_paddle(var.dtype))}};
  if (var.dtype == i64) {
    attrs["int64_values"] = std::vector<int64_t>(values.begin(), values.end());
  } else if (var.dtype == i32) {
    attrs["int32_values"] = std::vector<int32_t>(values.begin(), values.end());
  } else {
    attrs["fp32_values"] = std::vector<float>(values.begin(), values.end());
  }
  append_op(block, "assign_value", {}, {{"Out", {var.name}}}, std::move(attrs));
}

}  // namespace

Initializer values(std::vector<double> values) {
  return {.kind = Initializer::kValues, .values = std::move(values)};
}

void append_initializer(Block& block, const Var& var, const Initializer& init) {
  Fans fans = fans_of(var.shape);
  fans.in = init.fan_in.value_or(fans.in);
  fans.out = init.fan_out.value_or(fans.out);
  switch (init.kind) {
    case Initializer::kConstant: {
      Attrs attrs = shape_and_dtype(var);
      attrs["value"] = static_cast<float>(init.a);
      attrs["str_value"] = shortest(init.a, var.dtype);
      append_op(block, "fill_constant", {}, {{"Out", {var.name}}}, std::move(attrs));
      return;
    }
    case Initializer::kUniform:
      return append_uniform(block, var, init.a, init.b, init.seed);
    case Initializer::kNormal:
      return append_normal(block, var, init.a, init.b, init.seed);
    case Initializer::kTruncatedNormal:
      return append_random(block, var, "truncated_gaussian_random", "mean", init.a, "std", init.b,
                           init.seed);
    case Initializer::kXavier: {
      const double sum = fans.in + fans.out;
      if (!init.uniform) return append_normal(block, var, 0, std::sqrt(2 / sum), init.seed);
      const double limit = std::sqrt(6 / sum);
      return append_uniform(block, var, -limit, limit, init.seed);
    }
    case Initializer::kMsra: {
      const double gain = init.leaky
                              ? std::sqrt(2 / (1 + init.negative_slope * init.negative_slope))
                              : std::sqrt(2.0);
      if (!init.uniform) {
        return append_normal(block, var, 0, gain / std::sqrt(fans.in), init.seed);
      }
      const double limit = gain * std::sqrt(3 / fans.in);
      return append_uniform(block, var, -limit, limit, init.seed);
    }
    case Initializer::kValues:
      return append_values(block, var, init.values);
  }
}

}  // namespace flotilla::layers
