// flotilla/layers/variable.h
//
// A handle to a variable of a program, with the operators of arithmetic. `a + b` appends an op to
// the current program and gives a handle to what it writes; nothing is computed yet.
//
// A handle is as cheap as a pointer, and valid as long as the program of its variable.

#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::layers {

class Variable {
 public:
  Variable(Var& var) : var_(&var) {}
  operator Var&() const { return *var_; }
  Var* operator->() const { return var_; }

  const std::string& name() const { return var_->name; }
  const Shape& shape() const { return var_->shape; }
  DType dtype() const { return var_->dtype; }

 private:
  Var* var_;
};

// What takes one variable or several: fc(x, ...) and fc({x, y}, ...).
struct Variables : std::vector<Variable> {
  Variables() = default;
  Variables(Variable one) { push_back(one); }
  Variables(Var& one) { push_back(one); }
  Variables(std::initializer_list<Variable> several) : vector(several) {}
  Variables(std::vector<Variable> several) : vector(std::move(several)) {}

  std::vector<std::string> names() const;
};

// One side of an operator: a variable or a number. Whole numbers and others follow different rules.
class Operand {
 public:
  Operand(Variable var) : var_(&static_cast<Var&>(var)) {}
  Operand(Var& var) : var_(&var) {}
  template <std::integral T>
  Operand(T number) : number_(static_cast<double>(number)), whole_(true) {}
  template <std::floating_point T>
  Operand(T number) : number_(static_cast<double>(number)) {}

  // Null for a number.
  Var* var() const { return var_; }
  double number() const { return number_; }
  bool whole() const { return whole_; }

 private:
  Var* var_ = nullptr;
  double number_ = 0;
  bool whole_ = false;
};

// Appends `type`, an op with the slots X and Y, by Paddle's rules for operators:
//   variable + - * number, number - variable, variable / number   one `scale`
//   any other op with a number                                    fill_constant and the op
//   a whole variable with a number that is not whole, or divided  is cast to f32 first
//   two dtypes                                                    Y is cast to X's; f32 to f64
// REQUIRES: x or y is a variable.
Variable binary(const std::string& type, const Operand& x, const Operand& y);
Variable negative(Variable x);

inline Variable operator+(const Operand& x, const Operand& y) {
  return binary("elementwise_add", x, y);
}
inline Variable operator-(const Operand& x, const Operand& y) {
  return binary("elementwise_sub", x, y);
}
inline Variable operator*(const Operand& x, const Operand& y) {
  return binary("elementwise_mul", x, y);
}
inline Variable operator/(const Operand& x, const Operand& y) {
  return binary("elementwise_div", x, y);
}
inline Variable operator-(Variable x) { return negative(x); }
inline Variable operator<(const Operand& x, const Operand& y) { return binary("less_than", x, y); }
inline Variable operator<=(const Operand& x, const Operand& y) {
  return binary("less_equal", x, y);
}
inline Variable operator>(const Operand& x, const Operand& y) {
  return binary("greater_than", x, y);
}
inline Variable operator>=(const Operand& x, const Operand& y) {
  return binary("greater_equal", x, y);
}

}  // namespace flotilla::layers
