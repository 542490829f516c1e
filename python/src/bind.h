// python/src/bind.h
//
// What the binding files share: one bind_* function per folder of flotilla/, and conversions
// between Python objects and attributes, shapes and variables.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "flotilla/base/progress.h"
#include "flotilla/base/shape.h"
#include "flotilla/ir/program.h"
#include "flotilla/tensor/tensor.h"

namespace nb = nanobind;

namespace flotilla::job {
class Fleet;
}

namespace flotilla::python {

void bind_error(nb::module_& m, job::Fleet& fleet);
void bind_tensor(nb::module_& m);
void bind_ir(nb::module_& m);
void bind_layers(nb::module_& m, job::Fleet& fleet);
void bind_nn(nb::module_& m);                            // part of layers
void bind_rows(nb::module_& m);                          // part of layers
void bind_conv(nb::module_& m);                          // part of layers
void bind_norm(nb::module_& m);                          // part of layers
void bind_optimizer(nb::module_& m, job::Fleet& fleet);  // part of layers
void bind_rates(nb::module_& m);                         // part of layers
void bind_composed_losses(nb::module_& m);               // part of layers
void bind_composed_functions(nb::module_& m);            // part of layers
void bind_control_flow(nb::module_& m);                  // part of layers
void bind_recurrent(nb::module_& m);                     // part of layers
void bind_sampled(nb::module_& m);                       // part of layers
void bind_sequence(nb::module_& m);                      // part of layers
void bind_averages(nb::module_& m);                      // part of layers
void bind_runtime(nb::module_& m);
void bind_predictor(nb::module_& m);  // part of runtime
void bind_gpu(nb::module_& m);        // part of runtime
void bind_data(nb::module_& m);
void bind_generate(nb::module_& m);  // part of data
void bind_check(nb::module_& m);     // part of data
void bind_image(nb::module_& m);     // part of data
void bind_function(nb::module_& m);
void bind_loader(nb::module_& m, Progress& progress);   // part of data and runtime
void bind_dataset(nb::module_& m, Progress& progress);  // part of data and runtime
void refuse_after_fork();  // and what needs the threads of this process
void refuse_in_worker();   // what a worker process of a loader must not do
void bind_shard(nb::module_& m);
void bind_fleet(nb::module_& m);  // with the strategy of passes; bind_job.h has the rest

// Attributes. Whole numbers become int32 where they fit, floats single precision; the operator's
// definition says the rest.
Attr to_attr(nb::handle value);
Attrs to_attrs(nb::dict values);
nb::object from_attr(const Attr& attr);

// A variable, a list of variables, names: what Paddle's append_op takes for a slot.
std::vector<std::string> to_names(nb::handle value);
// Says what was given where a variable is needed.
[[noreturn]] void refuse_as_variable(nb::handle value);
Slots to_slots(nb::object slots);

// None and -1 both stand for an extent that is known when the program runs.
Shape to_shape(nb::handle value);
nb::tuple from_shape(const Shape& shape);

// "float32", numpy.float32, paddle.float32 (a name) or the number of Paddle's VarType.
DType to_dtype(nb::handle value);

// A handle that keeps the program alive.
nb::object wrap(Var& var);
nb::object wrap(Block& block);
nb::object wrap(Op& op);

// The user's file and line goes into the programs that are being built: every op appended from here
// on carries it.
void mark_user_line();
// The same for a program that may be another one.
void mark_user_line(Program& program);

// A numpy array, any buffer, a list or a number as a tensor. Memory in C order is shared and kept
// alive; anything else is copied.
Tensor from_numpy(nb::handle array);
// The same; what has no dtype of its own, as a list has none, gets `otherwise`.
Tensor from_numpy(nb::handle array, DType otherwise);
// A new numpy array with the elements of a tensor, row by row. Refuses a tensor without a value.
nb::object to_numpy(const Tensor& tensor);
// The array type, a subclass of numpy.ndarray, that to_numpy gives single elements.
void use_scalar_type(nb::object type);

}  // namespace flotilla::python
