#include <nanobind/ndarray.h>

#include <cstring>

#include "bind.h"

namespace flotilla::python {
namespace {

nb::object numpy() { return nb::module_::import_("numpy"); }

DType dtype_of_array(const nb::ndarray<nb::ro>& array) {
  const nb::dlpack::dtype d = array.dtype();
  const auto code = static_cast<nb::dlpack::dtype_code>(d.code);
  if (code == nb::dlpack::dtype_code::Float && d.bits == 32) return f32;
  if (code == nb::dlpack::dtype_code::Float && d.bits == 64) return f64;
  if (code == nb::dlpack::dtype_code::Float && d.bits == 16) return f16;
  if (code == nb::dlpack::dtype_code::Bool) return boolean;
  if (code == nb::dlpack::dtype_code::Int && d.bits == 64) return i64;
  if (code == nb::dlpack::dtype_code::Int && d.bits == 32) return i32;
  if (code == nb::dlpack::dtype_code::Int && d.bits == 16) return i16;
  if (code == nb::dlpack::dtype_code::Int && d.bits == 8) return i8;
  if (code == nb::dlpack::dtype_code::UInt && d.bits == 8) return u8;
  refuse(
      "an array of this element type cannot be a tensor; use float32, float64, int64, int32, "
      "int16, int8, uint8, float16 or bool");
}

void set_tensor(Tensor& tensor, nb::handle array) {
  const Tensor given = from_numpy(array);
  const bool same =
      tensor.defined() && tensor.shape() == given.shape() && tensor.dtype() == given.dtype();
  if (same) {
    tensor.copy_from(given);
  } else {
    tensor = given.clone();
  }
}

LoD lengths_to_lod(const std::vector<std::vector<int64_t>>& lengths) {
  LoD lod;
  for (const std::vector<int64_t>& level : lengths) {
    std::vector<int64_t> offsets = {0};
    for (const int64_t length : level) offsets.push_back(offsets.back() + length);
    lod.push_back(std::move(offsets));
  }
  return lod;
}

std::vector<std::vector<int64_t>> lod_to_lengths(const LoD& lod) {
  std::vector<std::vector<int64_t>> lengths;
  for (const std::vector<int64_t>& offsets : lod) {
    std::vector<int64_t> level;
    for (size_t i = 1; i < offsets.size(); ++i) level.push_back(offsets[i] - offsets[i - 1]);
    lengths.push_back(std::move(level));
  }
  return lengths;
}

bool is_valid_lod(const Tensor& tensor) {
  try {
    check_lod(tensor.lod(), tensor.shape().rank() > 0 ? tensor.shape()[0] : 0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Tensor from_numpy(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor&>(object).plain();
  nb::object array = nb::borrow(object);
  nb::ndarray<nb::ro> view;
  if (!nb::try_cast(array, view)) {
    array = numpy().attr("ascontiguousarray")(array);
    view = nb::cast<nb::ndarray<nb::ro>>(array);
  }
  int64_t expected = 1;
  bool contiguous = true;
  for (size_t a = view.ndim(); a-- > 0;) {
    contiguous = contiguous && (view.shape(a) == 1 || view.stride(a) == expected);
    expected *= static_cast<int64_t>(view.shape(a));
  }
  if (!contiguous) {
    array = numpy().attr("ascontiguousarray")(array);
    view = nb::cast<nb::ndarray<nb::ro>>(array);
  }
  Shape shape;
  for (size_t a = 0; a < view.ndim(); ++a) shape.push_back(static_cast<int64_t>(view.shape(a)));
  const DType dtype = dtype_of_array(view);
  const int64_t bytes = shape.numel() * size_of(dtype);
  auto owner = std::make_shared<nb::ndarray<nb::ro>>(view);
  auto release = std::shared_ptr<void>(owner.get(), [owner](void*) mutable {
    const nb::gil_scoped_acquire gil;
    owner.reset();
  });
  owner.reset();
  void* data = const_cast<void*>(view.data());
  return Tensor(dtype, std::move(shape), {}, Buffer::borrow(data, bytes, std::move(release)));
}

nb::object to_numpy(const Tensor& tensor) {
  const Tensor plain = tensor.plain();
  const nb::object array = numpy().attr("empty")(
      from_shape(plain.shape()),
      std::string(plain.dtype() == bf16 ? "uint16" : long_name_of(plain.dtype())));
  if (plain.numel() > 0) {
    nb::ndarray<> view = nb::cast<nb::ndarray<>>(array);
    std::memcpy(view.data(), plain.raw(), static_cast<size_t>(plain.bytes()));
  }
  return array;
}

void bind_tensor(nb::module_& m) {
  nb::class_<Tensor>(m, "LoDTensor", nb::dynamic_attr(),
                     "A tensor with memory of its own and, at times, sequences in its rows.")
      .def(nb::init<>())
      .def(
          "set", [](Tensor& t, nb::object array, nb::object) { set_tensor(t, array); },
          nb::arg("array"), nb::arg("place") = nb::none(),
          "Take the elements of a numpy array; a parameter keeps its place and its layout.")
      .def(
          "__array__",
          [](const Tensor& t, nb::object dtype, nb::object) {
            nb::object array = to_numpy(t);
            return dtype.is_none() ? array : nb::object(array.attr("astype")(dtype));
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("numpy", &to_numpy)
      .def("shape", [](const Tensor& t) { return t.shape().dims(); })
      .def("_get_dims", [](const Tensor& t) { return t.shape().dims(); })
      .def("_dtype", [](const Tensor& t) { return std::string(long_name_of(t.dtype())); })
      .def("_is_initialized", &Tensor::defined)
      .def("_layout", [](const Tensor& t) { return to_string(t.layout()); })
      .def("lod", &Tensor::lod)
      .def("set_lod", &Tensor::set_lod)
      .def("recursive_sequence_lengths", [](const Tensor& t) { return lod_to_lengths(t.lod()); })
      .def("set_recursive_sequence_lengths",
           [](Tensor& t, const std::vector<std::vector<int64_t>>& lengths) {
             t.set_lod(lengths_to_lod(lengths));
           })
      .def("has_valid_recursive_sequence_lengths", &is_valid_lod)
      .def("__len__", [](const Tensor& t) { return t.shape().rank() > 0 ? t.shape()[0] : 1; })
      .def("__getitem__", [](const Tensor& t, nb::object key) { return to_numpy(t)[key]; })
      .def("__float__", [](const Tensor& t) { return nb::float_(to_numpy(t).attr("item")()); })
      .def("__int__", [](const Tensor& t) { return nb::int_(to_numpy(t).attr("item")()); })
      .def("__str__", [](const Tensor& t) {
        if (!t.defined()) return std::string("  - not initialised");
        return fmt::format(
            "  - lod: {}\n  - place: Place(cpu)\n  - shape: {}\n  - dtype: {}\n  - data: {}",
            nb::cast<std::string>(nb::repr(nb::cast(t.lod()))), t.shape(), long_name_of(t.dtype()),
            nb::cast<std::string>(nb::str(to_numpy(t))));
      });

  nb::class_<SelectedRows>(m, "SelectedRows", "Some rows of a tall tensor: a sparse gradient.")
      .def_prop_ro("height_", [](const SelectedRows& s) { return s.height; })
      .def("height", [](const SelectedRows& s) { return s.height; })
      .def("rows", [](const SelectedRows& s) { return s.rows; })
      .def("get_tensor", [](const SelectedRows& s) { return s.value; })
      .def("numpy", [](const SelectedRows& s) { return to_numpy(s.to_dense()); })
      .def(
          "__array__",
          [](const SelectedRows& s, nb::object, nb::object) { return to_numpy(s.to_dense()); },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
}

}  // namespace flotilla::python
