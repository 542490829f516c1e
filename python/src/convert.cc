#include <limits>
#include <map>

#include "bind.h"
#include "flotilla/layers/context.h"

namespace flotilla::python {
namespace {

bool is_whole(nb::handle value) { return PyIndex_Check(value.ptr()) != 0; }

int64_t to_whole(nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

bool is_bool(nb::handle value) {
  return PyBool_Check(value.ptr()) || nb::type_name(value.type()).c_str() == std::string("bool_") ||
         nb::type_name(value.type()).c_str() == std::string("numpy.bool_") ||
         nb::type_name(value.type()).c_str() == std::string("numpy.bool");
}

bool fits_int32(int64_t number) {
  return std::numeric_limits<int32_t>::min() <= number &&
         number <= std::numeric_limits<int32_t>::max();
}

bool is_sequence(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || nb::hasattr(value, "__array__");
}

template <typename T, typename F>
std::vector<T> collect(nb::handle list, F convert) {
  std::vector<T> values;
  for (nb::handle item : list) values.push_back(convert(item));
  return values;
}

template <typename F>
bool all_of(nb::handle list, F test) {
  for (nb::handle item : list) {
    if (!test(item)) return false;
  }
  return true;
}

Attr list_to_attr(nb::handle value) {
  nb::object list = nb::steal(PySequence_List(value.ptr()));
  if (!list.is_valid()) throw nb::python_error();
  if (nb::len(list) == 0) return std::vector<int32_t>{};
  if (all_of(list, is_bool))
    return collect<bool>(list, [](nb::handle h) { return nb::cast<bool>(nb::bool_(h)); });
  if (all_of(list, is_whole)) {
    std::vector<int64_t> numbers = collect<int64_t>(list, to_whole);
    if (std::all_of(numbers.begin(), numbers.end(), fits_int32)) {
      return std::vector<int32_t>(numbers.begin(), numbers.end());
    }
    return numbers;
  }
  if (all_of(list, [](nb::handle h) { return nb::isinstance<nb::str>(h); })) {
    return collect<std::string>(list, [](nb::handle h) { return nb::cast<std::string>(h); });
  }
  if (all_of(list, [](nb::handle h) { return nb::isinstance<Block>(h); })) {
    return collect<BlockRef>(list,
                             [](nb::handle h) { return BlockRef{nb::cast<Block&>(h).index()}; });
  }
  return collect<float>(
      list, [](nb::handle h) { return static_cast<float>(nb::cast<double>(nb::float_(h))); });
}

}  // namespace

Attr to_attr(nb::handle value) {
  if (is_bool(value)) return nb::cast<bool>(nb::bool_(value));
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<Block>(value)) return BlockRef{nb::cast<Block&>(value).index()};
  if (nb::isinstance<Var>(value)) return VarRef{nb::cast<Var&>(value).name};
  if (is_whole(value)) {
    const int64_t number = to_whole(value);
    if (fits_int32(number)) return static_cast<int32_t>(number);
    return number;
  }
  if (PyFloat_Check(value.ptr()) || (!is_sequence(value) && nb::hasattr(value, "__float__"))) {
    return static_cast<float>(nb::cast<double>(nb::float_(value)));
  }
  if (is_sequence(value)) return list_to_attr(value);
  refuse("an attribute must be a number, a string, a list of them or a block, but is {}",
         nb::cast<std::string>(nb::repr(value)));
}

Attrs to_attrs(nb::dict values) {
  Attrs attrs;
  for (auto [name, value] : values) {
    if (!value.is_none()) attrs[nb::cast<std::string>(name)] = to_attr(value);
  }
  return attrs;
}

namespace {

nb::object from_item(const BlockRef& value) { return nb::cast(value.index); }
nb::object from_item(const VarRef& value) { return nb::cast(value.name); }
nb::object from_item(const Scalar& value) {
  return std::visit([](auto v) -> nb::object { return nb::cast(v); }, value.value);
}
template <typename T>
nb::object from_item(const T& value) {
  return nb::cast(value);
}
template <typename T>
nb::object from_item(const std::vector<T>& values) {
  nb::list list;
  for (const auto& value : values) list.append(from_item(static_cast<const T&>(value)));
  return list;
}
nb::object from_item(const std::vector<bool>& values) {
  nb::list list;
  for (const bool value : values) list.append(value);
  return list;
}
nb::object from_item(std::monostate) { return nb::none(); }

}  // namespace

nb::object from_attr(const Attr& attr) {
  return std::visit([](const auto& value) -> nb::object { return from_item(value); }, attr);
}

void refuse_as_variable(nb::handle value) {
  constexpr const char* kExpected = "a variable of the program or its name is expected, but";
  // Written for a dynamic graph, where values and variables are one.
  const bool values = nb::isinstance<Tensor>(value) || nb::hasattr(value, "__array__");
  require(!values,
          "{} an array of values was given: declare it with paddle.static.data, build the program "
          "with it, and feed the values to Executor.run",
          kExpected);
  refuse("{} {} was given", kExpected, nb::cast<std::string>(nb::repr(value)));
}

std::vector<std::string> to_names(nb::handle value) {
  if (value.is_none()) return {};
  if (nb::isinstance<nb::str>(value)) return {nb::cast<std::string>(value)};
  if (nb::isinstance<Var>(value)) return {nb::cast<Var&>(value).name};
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    std::vector<std::string> names;
    for (nb::handle item : value) {
      const std::vector<std::string> inner = to_names(item);
      names.insert(names.end(), inner.begin(), inner.end());
    }
    return names;
  }
  refuse_as_variable(value);
}

Slots to_slots(nb::object slots) {
  Slots converted;
  if (slots.is_none()) return converted;
  for (auto [slot, value] : nb::cast<nb::dict>(slots)) {
    std::vector<std::string> names = to_names(value);
    if (!names.empty()) converted[nb::cast<std::string>(slot)] = std::move(names);
  }
  return converted;
}

Shape to_shape(nb::handle value) {
  std::vector<int64_t> dims;
  if (is_whole(value)) return Shape{to_whole(value)};
  for (nb::handle item : value) dims.push_back(item.is_none() ? -1 : to_whole(item));
  return Shape(std::move(dims));
}

nb::tuple from_shape(const Shape& shape) {
  nb::list list;
  for (const int64_t extent : shape) list.append(extent);
  return nb::tuple(list);
}

namespace {

// A name as numpy means it: its i8 has eight bytes, Python's int and float have 64 bits. bfloat16,
// which numpy lacks, is stored as its uint16.
DType dtype_by_name(const std::string& name) {
  static const std::map<std::string_view, DType> kWords = {
      {"int", i64},      {"long", i64},  {"longlong", i64}, {"i8", i64},     {"i4", i32},
      {"intc", i32},     {"short", i16}, {"i2", i16},       {"byte", i8},    {"i1", i8},
      {"ubyte", u8},     {"u1", u8},     {"float", f64},    {"double", f64}, {"f8", f64},
      {"single", f32},   {"f4", f32},    {"half", f16},     {"f2", f16},     {"uint16", bf16},
      {"bool_", boolean}};
  const auto found = kWords.find(name);
  return found == kWords.end() ? parse_dtype(name) : found->second;
}

}  // namespace

DType to_dtype(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return dtype_by_name(nb::cast<std::string>(value));
  if (PyLong_Check(value.ptr())) return from_paddle(nb::cast<int>(value));
  if (nb::hasattr(value, "__name__")) {
    return dtype_by_name(nb::cast<std::string>(value.attr("__name__")));
  }
  if (nb::hasattr(value, "name")) return dtype_by_name(nb::cast<std::string>(value.attr("name")));
  return dtype_by_name(nb::cast<std::string>(nb::str(value)));
}

namespace {

template <typename T>
nb::object keep_program(T& part, Program& program) {
  nb::object object = nb::cast(&part, nb::rv_policy::reference);
  if (const std::shared_ptr<Program> owner = program.weak_from_this().lock()) {
    nb::detail::keep_alive(object.ptr(), nb::cast(owner).ptr());
  }
  return object;
}

// The folder of the package, to tell its frames from the user's.
const std::string& package_folder() {
  static const std::string folder =
      nb::cast<std::string>(nb::module_::import_("paddle").attr("_package_folder"));
  return folder;
}

// "train.py:23 in mlp: hidden = paddle.matmul(img, w)": the innermost frame outside the package.
std::string user_line() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const std::string file = nb::cast<std::string>(code.attr("co_filename"));
    if (!file.starts_with(package_folder())) {
      const int number = PyFrame_GetLineNumber(raw);
      const auto text = nb::cast<std::string>(
          nb::module_::import_("linecache").attr("getline")(file, number).attr("strip")());
      return fmt::format("{}:{} in {}{}{}", file, number,
                         nb::cast<std::string>(code.attr("co_name")), text.empty() ? "" : ": ",
                         text);
    }
    frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return "";
}

}  // namespace

nb::object wrap(Var& var) { return keep_program(var, var.block->program()); }
nb::object wrap(Block& block) { return keep_program(block, block.program()); }
nb::object wrap(Op& op) { return keep_program(op, op.block()->program()); }

void mark_user_line() {
  const std::string line = user_line();
  layers::context().main->build().callstack = {line};
  layers::context().startup->build().callstack = {line};
}

void mark_user_line(Program& program) { program.build().callstack = {user_line()}; }

}  // namespace flotilla::python
