// flotilla/layers/creation.h
//
// Variables from numbers: constants, ranges, random numbers.

#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

// Whole numbers, as shapes and bounds are: each a number or a variable, or one variable for all.
struct Numbers {
  Numbers(std::vector<Operand> each) : each(std::move(each)) {}
  Numbers(std::initializer_list<Operand> each) : each(each) {}
  Numbers(const Shape& shape) : each(shape.begin(), shape.end()) {}
  Numbers(Variable all) : all(all) {}

  std::vector<Operand> each = {};
  std::optional<Variable> all = {};
};
// Gives the variables of `numbers` to an op, in its slot `all` or `each`. Returns what its
// attribute holds: the numbers, -1 where a variable stands; nothing where all are in one variable.
std::vector<int64_t> put_numbers(Inputs& inputs, const Numbers& numbers, const char* all,
                                 const char* each);

// A number as Paddle's attributes hold it in text: "3", "3.0", "1e-05".
std::string text_of(const Operand& number);

struct FillOptions {
  std::string name = {};
  bool force_cpu = false;
  std::string out = {};               // an existing variable to fill
  std::optional<int64_t> whole = {};  // the value, where it is too long for a double
};
// One value everywhere; it may be a variable of one element.
Variable fill_constant(const Numbers& shape, const Operand& value, DType dtype,
                       const FillOptions& options = {});
// The same in the shape and type of x.
Variable full_like(Variable x, double value);
// The number of axes.
Variable rank(Variable x);

// Numbers from `start` to before `end`, or from 0 to before `start`. Without a type they are whole
// if all three are.
Variable arange(const Operand& start, std::optional<Operand> end = {}, const Operand& step = 1,
                std::optional<DType> dtype = {}, const std::string& name = {});
// `num` numbers from `start` to `stop`, both included, at equal distances.
Variable linspace(const Operand& start, const Operand& stop, const Operand& num, DType dtype = f32,
                  const std::string& name = {});
// `base` to the power of these.
Variable logspace(const Operand& start, const Operand& stop, const Operand& num,
                  const Operand& base = 10.0, DType dtype = f32, const std::string& name = {});

// A copy named after x; gradients go through it.
Variable clone(Variable x);
// Coordinates of a grid from those of its axes, one variable for each axis.
Variables meshgrid(const Variables& axes, const std::string& name = {});
// A matrix with ones on its diagonal, repeated for the extents `batch`.
Variable eye(int64_t rows, std::optional<int64_t> columns = {}, DType dtype = f32,
             const std::vector<int64_t>& batch = {});

// Normally distributed numbers. Where mean or deviation is a variable, it gives the shape.
Variable gaussian(const Operand& mean = 0.0, const Operand& deviation = 1.0,
                  const Numbers& shape = {1}, const std::string& name = {});
// Whole numbers from [low, high), or from [0, low).
Variable randint(int64_t low, std::optional<int64_t> high, const Numbers& shape, DType dtype = i64,
                 int64_t seed = 0, const std::string& name = {});

}  // namespace flotilla::layers
