#include "flotilla/layers/variable.h"

#include "flotilla/layers/op.h"

namespace flotilla::layers {
namespace {

OpOptions temporary() { return {.out = context().names.generate("tmp")}; }

Var& cast_to(Var& x, DType dtype) {
  if (x.dtype == dtype) return x;
  return op("cast", {{"X", x}}, {{"in_dtype", to_paddle(x.dtype)}, {"out_dtype", to_paddle(dtype)}},
            temporary());
}

Var& constant_of(double value, DType dtype) {
  OpOptions options = temporary();
  options.stop_gradient = true;
  return op("fill_constant", {},
            {{"shape", std::vector<int64_t>{1}},
             {"dtype", to_paddle(dtype)},
             {"value", static_cast<float>(value)}},
            options);
}

Variable scale(Var& x, double factor, double bias) {
  return op("scale", {{"X", x}},
            {{"scale", static_cast<float>(factor)}, {"bias", static_cast<float>(bias)}},
            temporary());
}

Variable append_binary(const std::string& type, Var& x, Var& y) {
  return op(type, {{"X", x}, {"Y", y}}, {{"axis", -1}}, temporary());
}

Variable of_variables(const std::string& type, Var& x, Var& y) {
  Var* left = &x;
  Var* right = &y;
  if (left->dtype == f32 && right->dtype == f64) left = &cast_to(*left, f64);
  right = &cast_to(*right, left->dtype);
  if (type == "elementwise_div" && !is_floating(left->dtype)) {
    left = &cast_to(*left, f32);
    right = &cast_to(*right, f32);
  }
  return append_binary(type, *left, *right);
}

}  // namespace

std::vector<std::string> Variables::names() const {
  std::vector<std::string> names;
  for (const Variable& one : *this) names.push_back(one.name());
  return names;
}

Variable binary(const std::string& type, const Operand& x, const Operand& y) {
  require(x.var() != nullptr || y.var() != nullptr,
          "{} needs a variable on at least one side, but both are numbers", type);
  if (x.var() != nullptr && y.var() != nullptr) return of_variables(type, *x.var(), *y.var());
  const bool number_first = x.var() == nullptr;
  const Operand& number = number_first ? x : y;
  Var* var = number_first ? y.var() : x.var();
  if (!is_floating(var->dtype) && (!number.whole() || type == "elementwise_div")) {
    var = &cast_to(*var, f32);
  }
  const double c = number.number();
  if (type == "elementwise_add") return scale(*var, 1, c);
  if (type == "elementwise_sub") return number_first ? scale(*var, -1, c) : scale(*var, 1, -c);
  if (type == "elementwise_mul") return scale(*var, c, 0);
  if (type == "elementwise_div" && !number_first) return scale(*var, 1 / c, 0);
  Var& constant = constant_of(c, var->dtype);
  return number_first ? append_binary(type, constant, *var) : append_binary(type, *var, constant);
}

Variable negative(Variable x) { return scale(x, -1, 0); }

}  // namespace flotilla::layers
