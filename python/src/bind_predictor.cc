#include <nanobind/stl/unique_ptr.h>

#include "bind.h"
#include "flotilla/runtime/predictor.h"
#include "gil.h"
#include "interrupts.h"
#include "running.h"

namespace flotilla::python {
namespace {

// Sequences stay until others are set.
void set_input(Predictor& predictor, std::string_view name, Tensor value) {
  value.set_lod(predictor.input(name).lod());
  predictor.set_input(name, std::move(value));
}

void run(Predictor& predictor) {
  refuse_after_fork();
  unless_the_end([&] {
    const InterruptibleRelease released;
    const Running running;
    predictor.run();
  });
}

}  // namespace

void bind_predictor(nb::module_& m) {
  using Free = nb::call_guard<GilReleased>;
  nb::class_<Model>(m, "Model", "A saved model, whose weights its predictors share.")
      .def_static("read", &Model::read, nb::arg("program"), nb::arg("params"), Free())
      .def_static(
          "parse",
          [](nb::bytes program, nb::bytes params) {
            return Model::parse({program.c_str(), program.size()}, {params.c_str(), params.size()});
          },
          nb::arg("program"), nb::arg("params"));

  nb::class_<Predictor>(m, "Predictor", "A model with inputs and outputs.")
      .def(nb::init<std::shared_ptr<Model>, int>(), nb::arg("model"), nb::arg("threads"))
      .def("clone", &Predictor::clone)
      .def("input_names", &Predictor::input_names)
      .def("output_names", &Predictor::output_names)
      .def("input", &Predictor::input, nb::arg("name"), nb::rv_policy::copy)
      .def("output", &Predictor::output, nb::arg("name"), nb::rv_policy::copy)
      .def(
          "copy_input",
          [](Predictor& predictor, std::string_view name, nb::handle array) {
            set_input(predictor, name, from_numpy(array).clone());
          },
          nb::arg("name"), nb::arg("array"))
      .def(
          "share_input",
          [](Predictor& predictor, std::string_view name, nb::handle array) {
            set_input(predictor, name, from_numpy(array));
          },
          nb::arg("name"), nb::arg("array"), "The memory of the array is read in each run.")
      .def(
          "reshape_input",
          [](Predictor& predictor, std::string_view name, nb::handle shape) {
            set_input(predictor, name, Tensor(predictor.input_dtype(name), to_shape(shape)));
          },
          nb::arg("name"), nb::arg("shape"), "Zeros of this shape.")
      .def(
          "set_input_lod",
          [](Predictor& predictor, std::string_view name, LoD lod) {
            Tensor value = predictor.input(name);
            value.set_lod(std::move(lod));
            predictor.set_input(name, std::move(value));
          },
          nb::arg("name"), nb::arg("lod"))
      .def("run", &run)
      .def("plans_made", &Predictor::plans_made)
      .def("shrink", &Predictor::shrink);
}

}  // namespace flotilla::python
