// flotilla/layers/initializer.h
//
// How a parameter starts: a value that turns into an op of the startup program, or a few.

#pragma once

#include <optional>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::layers {

struct Initializer {
  enum Kind {
    kConstant,
    kUniform,
    kNormal,
    kTruncatedNormal,
    kXavier,
    kMsra,
    kValues,
    kBilinear,
    kDirac,
    kOrthogonal
  };
  Kind kind = kConstant;
  double a = 0;  // constant: value; uniform: low; normal: mean; Dirac: groups; orthogonal: factor
  double b = 0;  // uniform: high; normal: standard deviation
  bool uniform = true;                // Xavier, MSRA: uniform or normal
  std::optional<double> fan_in = {};  // instead of what the shape says
  std::optional<double> fan_out = {};
  double negative_slope = 0;  // MSRA
  bool leaky = false;         // MSRA: gain of a leaky relu with that slope instead of relu's
  int64_t seed = 0;
  std::vector<double> values = {};  // kValues, row major
};

inline Initializer constant(double value) { return {.kind = Initializer::kConstant, .a = value}; }
inline Initializer uniform(double low = -1, double high = 1, int64_t seed = 0) {
  return {.kind = Initializer::kUniform, .a = low, .b = high, .seed = seed};
}
inline Initializer normal(double mean = 0, double std = 1, int64_t seed = 0) {
  return {.kind = Initializer::kNormal, .a = mean, .b = std, .seed = seed};
}
inline Initializer truncated_normal(double mean = 0, double std = 1, int64_t seed = 0) {
  return {.kind = Initializer::kTruncatedNormal, .a = mean, .b = std, .seed = seed};
}
inline Initializer xavier(bool uniform = true, int64_t seed = 0) {
  return {.kind = Initializer::kXavier, .uniform = uniform, .seed = seed};
}
inline Initializer msra(bool uniform = true, int64_t seed = 0) {
  return {.kind = Initializer::kMsra, .uniform = uniform, .seed = seed};
}
Initializer values(std::vector<double> values);
// Filters [out, in, n, n] of a transposed convolution that makes images larger.
inline Initializer bilinear() { return {.kind = Initializer::kBilinear}; }
// Filters that leave what they are moved over as it is, channel by channel in each group.
inline Initializer dirac(int64_t groups = 1) {
  return {.kind = Initializer::kDirac, .a = static_cast<double>(groups)};
}
// Rows, or columns where there are fewer, at right angles: an axis against all others together.
inline Initializer orthogonal(double factor = 1, int64_t seed = 0) {
  return {.kind = Initializer::kOrthogonal, .a = factor, .seed = seed};
}

// Appends the op that gives `var` (of the startup program's global block) its first value.
void append_initializer(Block& block, const Var& var, const Initializer& initializer);

}  // namespace flotilla::layers
