#include "bind.h"

namespace flotilla::python {
namespace {

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
      .def("__getitem__",
           [](const Tensor& t, nb::object key) { return nb::object(to_numpy(t)[key]); })
      .def("__float__", [](const Tensor& t) { return nb::float_(to_numpy(t).attr("item")()); })
      .def("__int__", [](const Tensor& t) { return nb::int_(to_numpy(t).attr("item")()); })
      .def("__str__", [](const Tensor& t) {
        if (!t.defined()) return std::string("  - not initialised");
        return fmt::format(
            "  - lod: {}\n  - place: Place(cpu)\n  - shape: {}\n  - dtype: {}\n  - data: {}",
            nb::cast<std::string>(nb::repr(nb::cast(t.lod()))), t.shape(), long_name_of(t.dtype()),
            nb::cast<std::string>(nb::str(to_numpy(t))));
      });

  m.def("use_scalar_type", &use_scalar_type, nb::arg("type"),
        "The array type that single elements come out as.");

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
