// flotilla/ops/tensor/gather.cc
//
// Operators that take rows or elements by number:
//
//   gather, index_select   rows along an axis
//   gather_nd              rows whose first axes are named
//   take_along_axis        Result[i, j, k] = Input[i, Index[i, j, k], k], where Axis is 1
//   index_sample           the same of the rows of a matrix
//
// What is taken several times gets several gradients, which are added up in order.

#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/named_rows.h"

namespace flotilla::ops {
namespace {

// The gradient of the whole, of which rows were taken. `replace`: the last one of a row stays
// instead of their sum.
template <typename T, typename Rows>
Step give_back(PrepareContext& c, std::string_view in, std::string_view out, const Rows& rows,
               bool replace = false) {
  return [rows, replace, bytes = c.shape(out).numel() * static_cast<int64_t>(sizeof(T)),
          from = c.in<T>(in), to = c.out<T>(out)] {
    zero_bytes(to.data(), bytes);
    put_rows(rows, from.data(), to.data(), replace);
  };
}

template <typename F>
std::vector<Kernel> arithmetic(F f) {
  return kernels_for<float, double, int32_t, int64_t>(f);
}

const Slot kX = {.name = "X", .doc = "tensor"};
const Slot kIndex = {.name = "Index", .doc = "int32 or int64", .no_grad = true};

// ---- gather, index_select -----------------------------------------------------------------------

template <typename Context>
IntSource axis_source(const Context& c) {
  if (c.op().type().starts_with("index_select")) return {.attr = "dim"};
  return {.tensor = "Axis", .attr = "axis"};
}

void infer_gather(InferContext& c) {
  check_labels(c, "Index");
  const VarMeta& x = c.in("X");
  const Shape& index = c.in("Index").shape;
  const bool column = index.rank() == 2 && index[1] == 1;
  require(index.rank() <= 1 || column, "Index of {} must be a vector or a column, but has shape {}",
          c.op().type(), index);
  const int64_t axis = x.shape.axis(known_int(c, axis_source(c)).value_or(0));
  Ints dims(x.shape.begin(), x.shape.begin() + axis);
  if (index.rank() > 0) dims.push_back(index[0]);
  dims.insert(dims.end(), x.shape.begin() + axis + 1, x.shape.end());
  if (dims.empty()) dims.push_back(1);
  c.out("Out") = VarMeta::tensor(x.dtype, Shape(std::move(dims)));
}

void infer_gather_grad(InferContext& c) {
  known_int(c, axis_source(c));  // or the run waits for it
  c.out("X@GRAD") = like(c.in("X"));
}

RowsAlongAxis rows_of(PrepareContext& c, std::string_view whole) {
  const Shape& x = c.shape(whole);
  return RowsAlongAxis(c, "Index", x, x.axis(known_int(c, axis_source(c))));
}

Step gather_forward(PrepareContext& c) { return take_rows(c, "X", "Out", rows_of(c, "X")); }

constexpr auto gather_backward = []<typename T>(PrepareContext& c) -> Step {
  const bool overwrite = c.op().type() == "gather_grad" && c.attr<bool>("overwrite");
  return give_back<T>(c, "Out@GRAD", "X@GRAD", rows_of(c, "X@GRAD"), overwrite);
};

void define_gather(const std::string& type, const std::vector<Slot>& inputs,
                   std::vector<AttrSpec> attrs) {
  define_op({.type = type,
             .doc = "The rows of X with the numbers in Index.",
             .inputs = inputs,
             .outputs = {{.name = "Out", .doc = "one row for each number"}},
             .attrs = std::move(attrs),
             .infer = infer_gather,
             .grad = grad_op(shape_and_others(inputs),
                             {.kernels = arithmetic(gather_backward), .infer = infer_gather_grad}),
             .kernels = every_dtype(gather_forward),
             .dtype_slot = "X"});
}

const bool kDefined = [] {
  define_gather("gather", with_slots_of({{.tensor = "Axis", .attr = "axis"}}, {kX, kIndex}),
                {{"axis", 0, "the axis whose rows are taken"},
                 {"overwrite", false, "of 1.x: a number's last gradient stays, not the sum"}});
  define_gather("index_select", {kX, kIndex}, {{"dim", 0, "the axis whose rows are taken"}});
  return true;
}();

// ---- gather_nd ----------------------------------------------------------------------------------

void infer_gather_nd(InferContext& c) {
  check_labels(c, "Index");
  c.out("Out") =
      VarMeta::tensor(c.dtype("X"), shape_by_entry(c.in("X").shape, c.in("Index").shape));
}

Step gather_nd_forward(PrepareContext& c) {
  return take_rows(c, "X", "Out", RowsByEntry(c, "Index", c.shape("X")));
}

constexpr auto gather_nd_backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, "Out@GRAD", "X@GRAD", RowsByEntry(c, "Index", c.shape("X@GRAD")));
};

const OpDef& gather_nd = define_op({
    .type = "gather_nd",
    .doc = "The rows of X whose first axes the entries of Index name.",
    .inputs = {kX, kIndex},
    .outputs = {{.name = "Out", .doc = "one row for each entry"}},
    .infer = infer_gather_nd,
    .grad = grad_op({shape_of("X"), "Index"}, {.kernels = arithmetic(gather_nd_backward)}),
    .kernels = every_dtype(gather_nd_forward),
    .dtype_slot = "X",
});

// ---- take_along_axis, index_sample --------------------------------------------------------------

void infer_along(InferContext& c) {
  check_named_elements(c);
  c.out("Result") = VarMeta::tensor(c.dtype("Input"), c.in("Index").shape);
}

void infer_sample(InferContext& c) {
  check_labels(c, "Index");
  const Shape &x = c.in("X").shape, &index = c.in("Index").shape;
  require(x.rank() == 2 && index.rank() == 2 && (x[0] == index[0] || x[0] == -1 || index[0] == -1),
          "X and Index must be matrices with as many rows, but have shapes {} and {}", x, index);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), index);
}

NamedElements elements_of(PrepareContext& c, std::string_view whole) {
  const bool samples = c.op().type().starts_with("index_sample");
  const int64_t axis = samples ? 1 : c.attr<int64_t>("Axis");
  return NamedElements(c, "Index", c.shape(whole), axis, !samples);
}

constexpr auto take_along = []<typename T>(PrepareContext& c) -> Step {
  return take_rows(c, "Input", "Result", elements_of(c, "Input"));
};
constexpr auto along_backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, "Result@GRAD", "Input@GRAD", elements_of(c, "Input@GRAD"));
};
constexpr auto sample = []<typename T>(PrepareContext& c) -> Step {
  return take_rows(c, "X", "Out", elements_of(c, "X"));
};
constexpr auto sample_backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back<T>(c, "Out@GRAD", "X@GRAD", elements_of(c, "X@GRAD"));
};

const OpDef& take_along_axis = define_op({
    .type = "take_along_axis",
    .doc = "The elements of Input that Index names along an axis.",
    .inputs = {{.name = "Input", .doc = "tensor"}, kIndex},
    .outputs = {{.name = "Result", .doc = "the shape of Index"}},
    .attrs = {{"Axis", 0, "the axis that Index counts along; negative numbers from its end"}},
    .infer = infer_along,
    .grad = grad_op({shape_of("Input"), "Index"},
                    {.kernels = kernels_for<float, double>(along_backward)}),
    .kernels = kernels_for_all(take_along),
    .dtype_slot = "Input",
});

const OpDef& index_sample = define_op({
    .type = "index_sample",
    .doc = "From each row of X the elements with the numbers in the same row of Index.",
    .inputs = {kX, kIndex},
    .outputs = {{.name = "Out", .doc = "same shape as Index"}},
    .infer = infer_sample,
    .grad =
        grad_op({shape_of("X"), "Index"}, {.kernels = kernels_for<float, double>(sample_backward)}),
    .kernels = arithmetic(sample),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
