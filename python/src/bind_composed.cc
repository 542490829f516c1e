// Functions of variables that are more than one op, or that work something out first.

#include "flotilla/layers/arithmetic.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/linalg.h"
#include "layer_function.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;
using layers::Variable;
using layers::Variables;

// One by itself, several as a tuple.
nb::object one_or_tuple(const Variables& vars) {
  return vars.size() == 1 ? wrap(vars.front()) : nb::tuple(Plainly::give(vars));
}

void bind_creation(nb::module_& m) {
  m.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype, Text name, bool force_cpu,
         nb::handle out) {
        mark_user_line();
        const bool truth = dtype.is_none() && PyBool_Check(value.ptr());
        const std::vector<std::string> exact = to_names(out);
        layers::FillOptions options = {
            .name = text(name), .force_cpu = force_cpu, .out = exact.empty() ? "" : exact.front()};
        if (PyLong_Check(value.ptr())) options.whole = nb::cast<int64_t>(value);
        return wrap(layers::fill_constant(to_numbers(shape), to_operand(value),
                                          truth ? boolean : to_any_dtype(dtype), options));
      },
      "shape"_a, "value"_a, "dtype"_a = nb::none(), "name"_a = nb::none(), "force_cpu"_a = false,
      "out"_a = nb::none(), "One value everywhere, in a new variable or in `out`.");
  def_layer<OneOrList>(m, "meshgrid", &layers::meshgrid);
  m.def("is_tensor", [](nb::handle x) { return nb::isinstance<Var>(x); });
  m.def("is_floating_point", [](const Var& x) { return is_floating(x.dtype); });
  m.def("is_integer", [](const Var& x) { return x.dtype != boolean && !is_floating(x.dtype); });
  def_layer(m, "rank", &layers::rank);
  def_layer(m, "arange", &layers::arange);
  def_layer(m, "linspace", &layers::linspace);
  def_layer(m, "logspace", &layers::logspace);
  def_layer(m, "clone", &layers::clone);
  def_layer(m, "eye", &layers::eye);
  def_layer(m, "gaussian", &layers::gaussian);
  def_layer(m, "randint", &layers::randint);
}

void bind_arithmetic(nb::module_& m) {
  def_layer(m, "pow", &layers::pow);
  def_layer(m, "increment", &layers::increment);
  def_layer(m, "lerp", &layers::lerp);
  def_layer(m, "hypot", &layers::hypot);
  def_layer(m, "logaddexp", &layers::logaddexp);
  def_layer(m, "deg2rad", &layers::deg2rad);
  def_layer(m, "rad2deg", &layers::rad2deg);
  def_layer(m, "frac", &layers::frac);
  def_layer(m, "addcmul", &layers::addcmul);
  def_layer(m, "log_of_softmax", &layers::log_of_softmax);
  def_layer(m, "sum_as", &layers::sum_as);
  def_layer(m, "logsumexp", &layers::logsumexp);
  def_layer(m, "count_nonzero", &layers::count_nonzero);
  def_layer(m, "cumprod", &layers::cumprod);
  def_layer(m, "running_extremes", &layers::running_extremes);
  def_layer(m, "variance", &layers::variance);
  def_layer(m, "standard_deviation", &layers::standard_deviation);
  def_layer(m, "trapezoid", &layers::trapezoid);
  def_layer(m, "l2_normalize", &layers::l2_normalize);
  def_layer(m, "closeness", &layers::closeness);
  def_layer(m, "nan_to_num", &layers::nan_to_num);
  def_layer(m, "nansum", &layers::nansum);
  def_layer(m, "nanmean", &layers::nanmean);
  def_layer(m, "masked_fill", &layers::masked_fill);
}

void bind_linalg(nb::module_& m) {
  def_layer(m, "matmul", &layers::matrix_product);
  def_layer(m, "outer", &layers::outer);
  def_layer(m, "inner", &layers::inner);
  def_layer(m, "einsum", &layers::einsum);
  m.def(
      "norm",
      [](Var& x, nb::handle p, nb::handle axis, nb::handle keep_dim, Text name) {
        mark_user_line();
        layers::NormOptions options = {
            .axes = to_axes(axis), .keep_dim = to_truth(keep_dim), .name = text(name)};
        if (!p.equal(nb::str("fro"))) options.p = nb::cast<double>(nb::float_(p));
        return wrap(layers::norm(x, options));
      },
      "x"_a, "p"_a, "axis"_a.none(), "keep_dim"_a, "name"_a.none(),
      "The p-norm, or with \"fro\" the Frobenius norm.");
}

void bind_forms(nb::module_& m) {
  m.def(
      "reshape",
      [](Var& x, nb::handle shape, nb::handle actual, Text act, Text name) {
        mark_user_line();
        std::optional<Variable> given;  // 1.8 takes no notice of anything but a variable
        if (nb::isinstance<Var>(actual)) given = nb::cast<Var&>(actual);
        return wrap(layers::reshape_to(x, to_numbers(shape), given, text(act), text(name)));
      },
      "x"_a, "shape"_a, "actual"_a.none(), "act"_a.none(), "name"_a.none());
  def_layer(m, "unflatten", &layers::unflatten);
  def_layer(m, "view_as", &layers::view_as);
  m.def(
      "view",
      [](Var& x, nb::handle shape) {
        require(PyList_Check(shape.ptr()) || PyTuple_Check(shape.ptr()),
                "view as another dtype is not implemented; cast converts the elements");
        mark_user_line();
        return wrap(layers::reshape_to(x, to_numbers(shape)));
      },
      "x"_a, "shape"_a);
  def_layer<OneOrList>(m, "at_least", &layers::at_least);
  def_layer(m, "moveaxis", &layers::moveaxis);
  def_layer(m, "transposed", &layers::transposed);
  def_layer(m, "rot90", &layers::rot90);
  def_layer(m, "diagflat", &layers::diagflat);
  def_layer(m, "unstack", &layers::unstack);
  def_layer(m, "unbind", &layers::unbind);
  def_layer(m, "split", &layers::split);
  def_layer(m, "slice", &layers::slice);
  def_layer(m, "strided_slice", &layers::strided_slice);
  def_layer(m, "crop", &layers::crop);
  def_layer(m, "crop_of_old", &layers::crop_of_old);
  def_layer(m, "diff", &layers::diff);
  def_layer(m, "expand_as", &layers::expand_as);
  def_layer(m, "repeat_interleave", &layers::repeat_interleave);
  def_layer(m, "take_along_axis", &layers::take_along_axis);
  def_layer(m, "put_along_axis", &layers::put_along_axis);
  def_layer(m, "scatter_nd", &layers::scatter_nd);
  m.def(
      "broadcast_shape",
      [](nb::handle x, nb::handle y) {
        return layers::broadcast_shape(to_shape(x), to_shape(y)).dims();
      },
      "x"_a, "y"_a);
  def_layer<OneOrList>(m, "broadcast_tensors", &layers::broadcast_tensors);
}

void bind_unique(nb::module_& m) {
  m.def(
      "unique",
      [](Var& x, nb::handle indices, nb::handle inverse, nb::handle counts, nb::handle axis,
         nb::handle dtype, Text name) {
        mark_user_line();
        return one_or_tuple(layers::unique(x, {.indices = to_truth(indices),
                                               .inverse = to_truth(inverse),
                                               .counts = to_truth(counts),
                                               .axis = to_axes(axis),
                                               .dtype = to_any_dtype(dtype),
                                               .name = text(name)}));
      },
      "x"_a, "indices"_a, "inverse"_a, "counts"_a, "axis"_a.none(), "dtype"_a.none(),
      "name"_a.none());
  m.def(
      "unique_consecutive",
      [](Var& x, nb::handle inverse, nb::handle counts, nb::handle axis, nb::handle dtype,
         Text name) {
        mark_user_line();
        return one_or_tuple(layers::unique_consecutive(x, {.inverse = to_truth(inverse),
                                                           .counts = to_truth(counts),
                                                           .axis = to_axes(axis),
                                                           .dtype = to_any_dtype(dtype),
                                                           .name = text(name)}));
      },
      "x"_a, "inverse"_a, "counts"_a, "axis"_a.none(), "dtype"_a.none(), "name"_a.none());
}

}  // namespace

void bind_composed_functions(nb::module_& m) {
  bind_creation(m);
  bind_arithmetic(m);
  bind_linalg(m);
  bind_forms(m);
  bind_unique(m);
}

}  // namespace flotilla::python
