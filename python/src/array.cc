#include <array>
#include <cstring>

#include "bind.h"
#include "gil.h"

namespace flotilla::python {
namespace {

// What is called for every feed and fetch, looked up once. Never freed: it lives as long as the
// interpreter.
struct Numpy {
  nb::object asarray;
  nb::object empty;
  std::array<nb::object, 10> dtypes;  // by DType; numpy has no bfloat16, Paddle stores uint16
  nb::object scalar;                  // the array type of single elements
};

Numpy& numpy() {
  static Numpy& cached = *[] {
    const nb::module_ module = nb::module_::import_("numpy");
    auto* made = new Numpy{.asarray = module.attr("asarray"),
                           .empty = module.attr("empty"),
                           .dtypes = {},
                           .scalar = module.attr("empty")};
    for (size_t d = 0; d < made->dtypes.size(); ++d) {
      const auto dtype = static_cast<DType>(d);
      const std::string name(dtype == bf16 ? "uint16" : long_name_of(dtype));
      made->dtypes[d] = module.attr("dtype")(name);
    }
    return made;
  }();
  return cached;
}

// Memory that a Python object lends. Given back under the lock of the interpreter, by whichever
// thread drops it last.
struct Loan {
  Py_buffer view = {};
  ~Loan() {
    const GilHeld gil;
    PyBuffer_Release(&view);
  }
};

// By the code letter of Python's struct module, for the byte order of this machine.
std::optional<DType> dtype_of(const Py_buffer& view) {
  std::string_view format = view.format == nullptr ? "B" : view.format;
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) {
    format.remove_prefix(1);
  }
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case '?':
      return boolean;
    case 'e':
      return f16;
    case 'f':
      return f32;
    case 'd':
      return f64;
    case 'b':
      return i8;
    case 'B':
      return u8;
    case 'h':
      return i16;
    case 'H':
      return bf16;
    case 'i':
    case 'l':
    case 'q':
      return view.itemsize == 8 ? i64 : i32;
    default:
      return std::nullopt;
  }
}

// Nothing where the object has no memory in C order, or not of a type that tensors have.
std::optional<Tensor> borrow(nb::handle object) {
  auto loan = std::make_shared<Loan>();
  if (PyObject_GetBuffer(object.ptr(), &loan->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Py_buffer& view = loan->view;
  const std::optional<DType> dtype = dtype_of(view);
  if (!dtype) return std::nullopt;
  std::vector<int64_t> extents(view.shape, view.shape + view.ndim);
  void* data = view.buf;
  const int64_t bytes = view.len;
  return Tensor(*dtype, Shape(std::move(extents)), {},
                Buffer::borrow(data, bytes, std::move(loan)));
}

}  // namespace

void use_scalar_type(nb::object type) { numpy().scalar = std::move(type); }

Tensor from_numpy(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor&>(object).plain();
  if (std::optional<Tensor> found = borrow(object)) return *std::move(found);
  // A view with strides, another byte order, a list, a number.
  nb::object array = numpy().asarray(object);
  const nb::object native = array.attr("dtype").attr("newbyteorder")(nb::str("="));
  array = numpy().asarray(array, native, nb::arg("order") = nb::str("C"));
  if (std::optional<Tensor> found = borrow(array)) return *std::move(found);
  refuse(
      "an array of dtype {} cannot be a tensor; use float32, float64, float16, int64, int32, "
      "int16, int8, uint8 or bool",
      nb::cast<std::string>(array.attr("dtype").attr("name")));
}

Tensor from_numpy(nb::handle object, DType otherwise) {
  const bool typed = PyObject_CheckBuffer(object.ptr()) || nb::isinstance<Tensor>(object) ||
                     nb::hasattr(object, "__array__");
  if (typed) return from_numpy(object);
  return from_numpy(numpy().asarray(object, numpy().dtypes[static_cast<size_t>(otherwise)]));
}

nb::object to_numpy(const Tensor& tensor) {
  require(tensor.defined(), "the tensor has no value yet, so it cannot be converted to an array");
  const Tensor plain = tensor.plain();
  const nb::object& make = plain.numel() == 1 ? numpy().scalar : numpy().empty;
  nb::object array =
      make(from_shape(plain.shape()), numpy().dtypes[static_cast<size_t>(plain.dtype())]);
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
  if (view.len > 0) std::memcpy(view.buf, plain.raw(), static_cast<size_t>(view.len));
  PyBuffer_Release(&view);
  return array;
}

}  // namespace flotilla::python
