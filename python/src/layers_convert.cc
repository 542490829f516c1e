#include "layers_convert.h"

#include <algorithm>
#include <set>
#include <utility>

#include "flotilla/layers/context.h"

namespace flotilla::python {
namespace {

bool is_list(nb::handle value) { return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()); }

std::string shown(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

int64_t to_int(nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int64_t number = 0;
  require(nb::try_cast(index, number), "{} does not fit into 64 bits", shown(index));
  return number;
}

int32_t to_int32(nb::handle value) {
  const int64_t number = to_int(value);
  require(std::in_range<int32_t>(number), "{} does not fit into 32 bits", number);
  return static_cast<int32_t>(number);
}

std::vector<int32_t> to_ints(nb::handle list) {
  std::vector<int32_t> numbers;
  for (nb::handle item : list) numbers.push_back(to_int32(item));
  return numbers;
}

layers::Variable to_variable(nb::handle value) {
  if (nb::isinstance<Var>(value)) return nb::cast<Var&>(value);
  if (nb::isinstance<nb::str>(value)) {
    return layers::context().main->current_block().var(nb::cast<std::string>(value));
  }
  refuse_as_variable(value);
}

}  // namespace

std::optional<layers::ParamAttr> to_param_attr(nb::handle value) {
  if (value.is_none() || value.ptr() == Py_True) return layers::ParamAttr{};
  if (value.ptr() == Py_False) return std::nullopt;
  if (nb::isinstance<layers::ParamAttr>(value)) return nb::cast<layers::ParamAttr&>(value);
  if (nb::isinstance<nb::str>(value)) {
    return layers::ParamAttr{.name = nb::cast<std::string>(value)};
  }
  if (nb::isinstance<layers::Initializer>(value)) {
    return layers::ParamAttr{.initializer = nb::cast<layers::Initializer&>(value)};
  }
  if (nb::isinstance<Regularizer>(value)) {
    return layers::ParamAttr{.regularizer = nb::cast<Regularizer&>(value)};
  }
  refuse(
      "an attribute of a parameter must be a ParamAttr, a name, an initializer, None or False, "
      "but is {}",
      shown(value));
}

layers::ParamAttr to_needed_attr(nb::handle value, const char* what) {
  std::optional<layers::ParamAttr> attr = to_param_attr(value);
  require(attr.has_value(), "{} is required here, but is False", what);
  return *std::move(attr);
}

layers::Variables to_variables(nb::handle value) {
  if (value.is_none()) return {};
  if (!is_list(value)) return to_variable(value);
  layers::Variables vars;
  for (nb::handle item : value) vars.push_back(to_variable(item));
  return vars;
}

layers::Inputs to_inputs(nb::handle slots) {
  layers::Inputs inputs;
  if (slots.is_none()) return inputs;
  for (auto [slot, value] : nb::cast<nb::dict>(slots)) {
    inputs[nb::cast<std::string>(slot)] = to_variables(value);
  }
  return inputs;
}

layers::Operand to_operand(nb::handle value) {
  if (nb::isinstance<Var>(value)) return nb::cast<Var&>(value);
  if (PyIndex_Check(value.ptr()) != 0) {
    // An array has an index only if it holds one whole number.
    const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (index.is_valid()) return to_int(index);
    PyErr_Clear();
  }
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse("an operator takes variables and numbers, but got {}", shown(value));
  }
  return number;
}

std::vector<layers::Operand> to_operands(nb::handle extents) {
  if (PyIndex_Check(extents.ptr()) != 0) return {to_operand(extents)};
  std::vector<layers::Operand> operands;
  for (nb::handle item : extents) {
    operands.push_back(item.is_none() ? layers::Operand(-1) : to_operand(item));
  }
  return operands;
}

layers::Extents to_extents(nb::handle value) {
  if (!is_list(value)) return to_int32(value);
  return to_ints(value);
}

Padding to_padding(nb::handle value, const std::string& data_format) {
  if (nb::isinstance<nb::str>(value)) {
    std::string algorithm = nb::cast<std::string>(value);
    for (char& c : algorithm) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    require(algorithm == "SAME" || algorithm == "VALID",
            "a padding by name must be SAME or VALID, but is {}", algorithm);
    return {.algorithm = algorithm};
  }
  if (!is_list(value) || nb::len(value) == 0 || !is_list(value[0])) {
    return {.sides = to_extents(value)};
  }
  require(nb::len(value) == 4, "a padding in pairs has one for each axis of the data, but is {}",
          shown(value));
  const int first = data_format == "NHWC" ? 1 : 2;
  std::vector<int32_t> sides = to_ints(value[first]);
  for (const int32_t side : to_ints(value[first + 1])) sides.push_back(side);
  require(sides.size() == 4, "a padding in pairs has one for each axis of the data, but is {}",
          shown(value));
  return {.sides = sides};
}

namespace {

const Op* writer_of(const Var& var) {
  const Op* found = nullptr;
  for (const auto& op : var.block->ops()) {
    for (const auto& [slot, names] : op->outputs()) {
      if (std::find(names.begin(), names.end(), var.name) != names.end()) found = op.get();
    }
  }
  return found;
}

// Whether a variable of one element is a number, as a counter or x[i] is, rather than a list of
// one: it picks an element, and the axis goes. In 1.8, tensors have one axis at least.
bool is_number(const Var& var, int depth = 8) {
  if (var.shape.rank() == 0) return true;
  if (!(var.shape == Shape{1}) || var.is_data || depth == 0) return false;
  const Op* op = writer_of(var);
  if (op == nullptr) return var.persistable;
  if (op->type() == "fill_constant") return true;
  if (op->type() == "slice" || op->type() == "strided_slice") {
    return !op->attr_or<std::vector<int64_t>>("decrease_axis", {}).empty();
  }
  static const std::set<std::string, std::less<>> kKeep = {"assign",
                                                           "cast",
                                                           "elementwise_add",
                                                           "elementwise_floordiv",
                                                           "elementwise_mod",
                                                           "elementwise_mul",
                                                           "elementwise_sub",
                                                           "increment",
                                                           "scale"};
  if (!kKeep.contains(op->type())) return false;
  const Var* x = var.block->find_var_recursive(op->input("X"));
  return x != nullptr && (x == &var || is_number(*x, depth - 1));
}

bool is_whole(DType dtype) { return dtype == i32 || dtype == i64; }

// A bound of a range: a number, or a variable, for which `number` stays.
Var* to_bound(nb::handle value, int64_t& number) {
  if (!nb::isinstance<Var>(value)) {
    number = to_int(value);
    return nullptr;
  }
  Var& var = nb::cast<Var&>(value);
  require(is_whole(var.dtype), "a bound of a slice must be a whole number, but \"{}\" is {}",
          var.name, var.dtype);
  return &var;
}

layers::Index to_range(nb::handle slice) {
  using layers::Index;
  Index range;
  const nb::object step = slice.attr("step"), start = slice.attr("start"),
                   stop = slice.attr("stop");
  if (!step.is_none()) range.step = to_int(step);
  require(range.step != 0, "the step of a slice cannot be 0");
  range.begin = range.step > 0 ? 0 : Index::kEnd;
  // Backwards, Paddle's end of exactly -1 takes the first element along.
  range.end = range.step > 0 ? Index::kEnd : -1;
  if (!start.is_none()) range.begin_var = to_bound(start, range.begin);
  if (!stop.is_none()) range.end_var = to_bound(stop, range.end);
  return range;
}

layers::Index to_place(nb::handle item) {
  using layers::Index;
  if (item.is_none()) return {.kind = Index::kNewAxis};
  if (item.ptr() == Py_Ellipsis) return {.kind = Index::kEllipsis};
  if (PySlice_Check(item.ptr())) return to_range(item);
  if (nb::isinstance<Var>(item)) {
    Var& var = nb::cast<Var&>(item);
    require(is_whole(var.dtype) || var.dtype == boolean,
            "an index must hold int32, int64 or bool, but \"{}\" holds {}", var.name, var.dtype);
    if (is_whole(var.dtype) && is_number(var)) return layers::at(layers::Variable(var));
    return layers::by(var);
  }
  const auto mask = [](nb::handle one) {
    return layers::all_if(layers::full({1}, nb::cast<bool>(nb::bool_(one)) ? 1 : 0, boolean));
  };
  if (PyBool_Check(item.ptr())) return mask(item);
  if (PyIndex_Check(item.ptr()) != 0 && !nb::hasattr(item, "shape")) {
    return layers::at(to_int(item));
  }
  const bool array = nb::hasattr(item, "__array__");
  require(array || is_list(item),
          "an index may hold numbers, slices, None, ..., lists, arrays and variables, but holds {}",
          shown(item));
  Tensor tensor = from_numpy(item);
  // Of an empty list numpy makes numbers that are not whole, but nothing of them is picked.
  if (is_list(item) && tensor.numel() == 0) tensor = Tensor(i64, tensor.shape());
  if (tensor.shape().rank() == 0) {
    return tensor.dtype() == boolean ? mask(item) : layers::at(to_int(item));
  }
  require(is_whole(tensor.dtype()) || tensor.dtype() == boolean,
          "an index must hold int32, int64 or bool, but holds {}", tensor.dtype());
  return layers::by(layers::constant(tensor));
}

}  // namespace

std::vector<layers::Index> to_index(nb::handle value) {
  if (!PyTuple_Check(value.ptr())) return {to_place(value)};
  std::vector<layers::Index> places;
  for (nb::handle item : value) places.push_back(to_place(item));
  return places;
}

nb::object wrap_all(const layers::Variables& vars) {
  if (vars.size() == 1) return wrap(vars.front());
  nb::list list;
  for (const layers::Variable& var : vars) list.append(wrap(static_cast<Var&>(var)));
  return list;
}

}  // namespace flotilla::python
