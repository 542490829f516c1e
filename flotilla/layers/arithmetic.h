// flotilla/layers/arithmetic.h
//
// Arithmetic, sums over axes, statistics and choices, beside the operators of variable.h and the
// reductions of functions.h. Where there are no axes, all are meant.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {

inline Variable exp(Variable x) { return op("exp", {{"X", x}}); }
inline Variable log(Variable x) { return op("log", {{"X", x}}); }
inline Variable subtract(Variable x, Variable y) { return elementwise("elementwise_sub", x, y); }
inline Variable multiply(Variable x, Variable y) { return elementwise("elementwise_mul", x, y); }
inline Variable divide(Variable x, Variable y) { return elementwise("elementwise_div", x, y); }
// x where the condition is true, y elsewhere.
inline Variable where(Variable condition, Variable x, Variable y) {
  return op("where", {{"Condition", condition}, {"X", x}, {"Y", y}});
}

// factor * x + bias.
Variable scaled(Variable x, double factor, double bias = 0);
// x to the power of y.
Variable pow(Variable x, const Operand& y, const std::string& name = {});
// x + value; in place, where x is a variable of one element.
Variable increment(Variable x, double value = 1, bool in_place = true);
// x + weight * (y - x), without a gradient for the weight.
Variable lerp(Variable x, Variable y, const Operand& weight, const std::string& name = {});
Variable hypot(Variable x, Variable y);                  // sqrt(x^2 + y^2)
Variable logaddexp(const Operand& x, const Operand& y);  // log(exp(x) + exp(y))
Variable deg2rad(Variable x);
Variable rad2deg(Variable x);
Variable frac(Variable x);  // x - trunc(x)
// x + value * y * z.
Variable addcmul(Variable x, Variable y, Variable z, double value = 1);

// ---- over axes

Variable sum_over(Variable x, const std::vector<int64_t>& axes = {}, bool keep_dim = false,
                  const std::string& name = {});
Variable mean_over(Variable x, const std::vector<int64_t>& axes = {}, bool keep_dim = false,
                   const std::string& name = {});
// The sum of x as `dtype`; truth values are counted.
Variable sum_as(Variable x, const std::vector<int64_t>& axes, std::optional<DType> dtype,
                bool keep_dim = false, const std::string& name = {});
Variable logsumexp(Variable x, const std::vector<int64_t>& axes = {}, bool keep_dim = false,
                   const std::string& name = {});
// How many elements are not zero.
Variable count_nonzero(Variable x, const std::vector<int64_t>& axes = {}, bool keep_dim = false,
                       const std::string& name = {});
// The products of the elements so far along an axis. REQUIRES: there is one.
Variable cumprod(Variable x, std::optional<int64_t> axis, std::optional<DType> dtype = {},
                 const std::string& name = {});
// `type`, cummax or cummin: the extreme elements so far and their places. Without an axis x is
// flat.
std::pair<Variable, Variable> running_extremes(const std::string& type, Variable x,
                                               std::optional<int64_t> axis = {}, DType dtype = i64,
                                               const std::string& name = {});
// `unbiased` divides by one less than the number of elements.
Variable variance(Variable x, const std::vector<int64_t>& axes = {}, bool unbiased = true,
                  bool keep_dim = false, const std::string& name = {});
Variable standard_deviation(Variable x, const std::vector<int64_t>& axes = {}, bool unbiased = true,
                            bool keep_dim = false, const std::string& name = {});
// The area under y by trapezoids, at the places x or `dx` apart. REQUIRES: one of them at most.
Variable trapezoid(Variable y, std::optional<Variable> x = {}, std::optional<Operand> dx = {},
                   int64_t axis = -1);
// Slices along an axis divided by the root of the sum of their squares and epsilon.
Variable l2_normalize(Variable x, const std::vector<int64_t>& axes, double epsilon = 1e-12,
                      const std::string& name = {});

// ---- comparisons, and what is no number

// `type`, isclose or allclose: whether |x - y| <= atol + rtol * |y|.
Variable closeness(const std::string& type, Variable x, Variable y, const Operand& rtol = 1e-5,
                   const Operand& atol = 1e-8, bool equal_nan = false,
                   const std::string& name = {});
// Numbers for what is none. By default the largest and the smallest stand for infinities.
Variable nan_to_num(Variable x, double nan = 0, std::optional<double> posinf = {},
                    std::optional<double> neginf = {});
// The sum and the mean of what are numbers.
Variable nansum(Variable x, const std::vector<int64_t>& axes = {}, std::optional<DType> dtype = {},
                bool keep_dim = false);
Variable nanmean(Variable x, const std::vector<int64_t>& axes = {}, bool keep_dim = false);
// `value` where the mask is true, x elsewhere.
Variable masked_fill(Variable x, Variable mask, const Operand& value);

}  // namespace flotilla::layers
