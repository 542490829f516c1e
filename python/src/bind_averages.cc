// Averages of parameters.

#include "flotilla/layers/averages.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;
using layers::ExponentialMovingAverage;
using layers::ModelAverage;

// The programs that exchange parameters for their averages and back.
template <class Average>
nb::class_<Average> define(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<Average>(m, name, doc)
      .def_prop_ro("apply", [](const Average& self) { return self.swap().apply; })
      .def_prop_ro("restore", [](const Average& self) { return self.swap().restore; });
}

}  // namespace

void bind_averages(nb::module_& m) {
  define<ExponentialMovingAverage>(m, "ExponentialMovingAverage",
                                   "Averages that follow the parameters.")
      .def(
          "__init__",
          [](ExponentialMovingAverage* self, double decay, nb::object steps, Text name) {
            mark_user_line();
            new (self) ExponentialMovingAverage(decay, to_variables(steps), text(name));
          },
          "decay"_a, "steps"_a.none(), "name"_a.none())
      .def("update", [](const ExponentialMovingAverage& self) {
        mark_user_line();
        self.update();
      });
  define<ModelAverage>(m, "ModelAverage", "The means of parameters over the last steps.")
      .def(
          "__init__",
          [](ModelAverage* self, nb::object parameters, double window_rate, double least,
             double most) {
            mark_user_line();
            layers::ModelAverageOptions options = {
                .window_rate = window_rate, .least = least, .most = most};
            if (!parameters.is_none()) options.parameters = to_variables(parameters);
            new (self) ModelAverage(options);
          },
          "parameters"_a.none(), "window_rate"_a, "least"_a, "most"_a)
      .def_prop_ro("counters", &ModelAverage::counters, "Whose sum counts the steps.");
}

}  // namespace flotilla::python
