// python/src/layers_convert.h
//
// What users hand to layers, as the C++ API takes it: attributes of parameters in all the forms
// that Paddle accepts, operands, sizes, paddings, indices.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bind.h"
#include "flotilla/layers/extents.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/indexing.h"
#include "flotilla/layers/nn.h"

namespace flotilla::python {

using Text = std::optional<std::string>;  // None is the empty text
inline std::string text(const Text& given) { return given.value_or(""); }

// None, True: all defaults. False: no parameter. A text is its name; an Initializer or Regularizer
// stands for itself.
std::optional<layers::ParamAttr> to_param_attr(nb::handle value);
// The same where False makes no sense: refused, naming `what`.
layers::ParamAttr to_needed_attr(nb::handle value, const char* what);

// A variable, its name in the current program, or a list or tuple of them; None is none.
layers::Variables to_variables(nb::handle value);
layers::Inputs to_inputs(nb::handle slots);
// A variable, or a number of Python or numpy.
layers::Operand to_operand(nb::handle value);
// The extents of a shape, one or many; None is one that is known when the program runs.
std::vector<layers::Operand> to_operands(nb::handle extents);

// One number or a list of them.
layers::Extents to_extents(nb::handle value);
struct Padding {
  layers::Extents sides = 0;
  std::string algorithm = "EXPLICIT";
};
// A number, a list of one for each axis or side, pairs for all axes of the data, "SAME", "VALID".
Padding to_padding(nb::handle value, const std::string& data_format);
// What stands between the brackets of x[...].
std::vector<layers::Index> to_index(nb::handle value);

// One variable by itself, several as a list.
nb::object wrap_all(const layers::Variables& vars);

}  // namespace flotilla::python
