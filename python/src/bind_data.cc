#include "bind.h"
#include "flotilla/data/mnist.h"
#include "gil.h"
#include "owned_array.h"

namespace flotilla::python {
namespace {

nb::tuple read_mnist(const std::string& images, const std::string& labels) {
  data::LabeledImages set;
  {
    const GilReleased released;
    set = data::read_mnist(images, labels);
  }
  const auto count = static_cast<size_t>(set.images.count);
  const auto rows = static_cast<size_t>(set.images.rows);
  const auto cols = static_cast<size_t>(set.images.cols);
  return nb::make_tuple(owned_array(std::move(set.images.pixels), {count, rows, cols}),
                        owned_array(std::move(set.labels), {count}));
}

}  // namespace

void bind_data(nb::module_& m) {
  nb::class_<data::MnistFiles>(m, "MnistFiles", "Where MNIST's four files are, or what stands in.")
      .def_prop_ro("train_images",
                   [](const data::MnistFiles& f) { return f.train_images.string(); })
      .def_prop_ro("train_labels",
                   [](const data::MnistFiles& f) { return f.train_labels.string(); })
      .def_prop_ro("test_images", [](const data::MnistFiles& f) { return f.test_images.string(); })
      .def_prop_ro("test_labels", [](const data::MnistFiles& f) { return f.test_labels.string(); })
      .def_ro("generated", &data::MnistFiles::generated,
              "Whether the digits were drawn by Flotilla.")
      .def_ro("description", &data::MnistFiles::description, "Which data this is, for the user.");
  m.def(
      "find_mnist", [] { return data::find_mnist(); }, nb::call_guard<GilReleased>(),
      "MNIST in the cache, or digits drawn in its place; drawing takes some seconds, once.");
  m.def("read_mnist", &read_mnist, nb::arg("images"), nb::arg("labels"),
        "Images uint8 [count, 28, 28] and labels uint8 [count] of a pair of IDX files.");
}

}  // namespace flotilla::python
