#include "flotilla/layers/initializer.h"

#include <algorithm>
#include <cmath>

#include "flotilla/layers/context.h"
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
  } else if (var.dtype == f64) {
    attrs["fp64_values"] = values;
  } else {
    attrs["fp32_values"] = std::vector<float>(values.begin(), values.end());
  }
  append_op(block, "assign_value", {}, {{"Out", {var.name}}}, std::move(attrs));
}

// What an op of the startup program gives.
std::string made_by(Block& block, std::string type, Slots inputs, Attrs attrs = {}) {
  std::string name = context().names.generate("_generated_var");
  append_op(block, std::move(type), std::move(inputs), {{"Out", {name}}}, std::move(attrs));
  return name;
}

// As Paddle computes them: from one row to the next the weights fall by fractions.
std::vector<double> bilinear_values(const Shape& shape) {
  require(shape.rank() == 4 && shape[2] == shape[3],
          "the initializer Bilinear fills filters of shape [out, in, n, n], but the parameter has "
          "shape {}",
          shape);
  const auto size = static_cast<double>(shape[3]);
  const double half = std::ceil(size / 2);
  const double centre = (2 * half - 1 - std::fmod(half, 2)) / (2 * half);
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const double x = std::fmod(static_cast<double>(i), size);
    const double y = std::fmod(static_cast<double>(i) / size, size);
    values.push_back((1 - std::abs(x / half - centre)) * (1 - std::abs(y / half - centre)));
  }
  return values;
}

// Where a channel of a group meets its own channel, in the middle of the filter: one place behind
// the other.
std::vector<int64_t> dirac_places(const Shape& shape, int64_t groups) {
  require(3 <= shape.rank() && shape.rank() <= 5,
          "the initializer Dirac fills filters of 3 to 5 axes, but the parameter has shape {}",
          shape);
  require(groups >= 1 && shape[0] % groups == 0,
          "the initializer Dirac divides the first axis into groups, but {} groups do not fit the "
          "shape {}",
          groups, shape);
  const int64_t each = shape[0] / groups;
  std::vector<int64_t> places;
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t channel = 0; channel < std::min(each, shape[1]); ++channel) {
      places.push_back(group * each + channel);
      places.push_back(channel);
      for (int64_t axis = 2; axis < shape.rank(); ++axis) places.push_back(shape[axis] / 2);
    }
  }
  return places;
}

void append_dirac(Block& block, const Var& var, int64_t groups) {
  const std::vector<int64_t> places = dirac_places(var.shape, groups);
  const int64_t rank = var.shape.rank(), count = static_cast<int64_t>(places.size()) / rank;
  const auto filled = [&](const Shape& shape, float value) {
    Attrs attrs = shape_and_dtype(var);
    attrs["shape"] = shape.dims();
    attrs["value"] = value;
    return made_by(block, "fill_constant", {}, std::move(attrs));
  };
  const std::string zeros = filled(var.shape, 0), ones = filled({count}, 1);
  const std::vector<int32_t> extents = {static_cast<int32_t>(count), static_cast<int32_t>(rank)};
  const std::string index = made_by(block, "assign_value", {},
                                    {{"shape", extents},
                                     {"dtype", static_cast<int32_t>(to_paddle(i64))},
                                     {"int64_values", places}});
  append_op(block, "scatter_nd_add", {{"X", {zeros}}, {"Index", {index}}, {"Updates", {ones}}},
            {{"Out", {var.name}}});
}

// Of normal numbers the part at right angles, with the signs that make every direction as likely
// (Mezzadri, How to generate random matrices from the classical compact groups, 2007).
void append_orthogonal(Block& block, const Var& var, double factor, int64_t seed) {
  require(var.shape.rank() >= 2,
          "the initializer Orthogonal fills parameters of two axes or more, but this one has shape "
          "{}",
          var.shape);
  const int64_t rows = var.shape[0], columns = var.shape.numel(1, var.shape.rank());
  Attrs attrs = shape_and_dtype(var);
  attrs["shape"] = std::vector<int64_t>{std::max(rows, columns), std::min(rows, columns)};
  attrs["seed"] = static_cast<int32_t>(seed);
  const std::string drawn = made_by(block, "gaussian_random", {}, std::move(attrs));
  const std::string q = context().names.generate("_generated_var"),
                    r = context().names.generate("_generated_var");
  append_op(block, "qr", {{"X", {drawn}}}, {{"Q", {q}}, {"R", {r}}});
  const std::string sign =
      made_by(block, "sign", {{"X", {made_by(block, "diag_v2", {{"X", {r}}})}}});
  std::string made = made_by(block, "elementwise_mul", {{"X", {q}}, {"Y", {sign}}});
  if (rows < columns) {
    made = made_by(block, "transpose2", {{"X", {made}}}, {{"axis", std::vector<int32_t>{1, 0}}});
  }
  const std::vector<int32_t> extents(var.shape.begin(), var.shape.end());
  made = made_by(block, "reshape2", {{"X", {made}}}, {{"shape", extents}});
  append_op(block, "scale", {{"X", {made}}}, {{"Out", {var.name}}},
            {{"scale", static_cast<float>(factor)}});
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
    case Initializer::kBilinear:
      return append_values(block, var, bilinear_values(var.shape));
    case Initializer::kDirac:
      return append_dirac(block, var, static_cast<int64_t>(init.a));
    case Initializer::kOrthogonal:
      return append_orthogonal(block, var, init.a, init.seed);
  }
}

}  // namespace flotilla::layers
