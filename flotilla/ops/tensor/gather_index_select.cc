// gather and index_select: the rows of X with the numbers in Index, along an axis. What is taken
// several times gets several gradients, which are added up in order.

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/tensor/named_rows.h"

namespace flotilla::ops {
namespace {

const Slot kX = {.name = "X", .doc = "tensor"};
const Slot kIndex = {.name = "Index", .doc = "int32 or int64", .no_grad = true};

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

const OpDef& define_gather(const std::string& type, const std::vector<Slot>& inputs,
                           std::vector<AttrSpec> attrs) {
  return define_op(
      {.type = type,
       .doc = "The rows of X with the numbers in Index.",
       .inputs = inputs,
       .outputs = {{.name = "Out", .doc = "one row for each number"}},
       .attrs = std::move(attrs),
       .infer = infer_gather,
       .grad = grad_op(shape_and_others(inputs),
                       {.kernels = kernels_for<float, double, int32_t, int64_t>(gather_backward),
                        .infer = infer_gather_grad}),
       .kernels = every_dtype(gather_forward),
       .dtype_slot = "X"});
}

const OpDef& gather =
    define_gather("gather", with_slots_of({{.tensor = "Axis", .attr = "axis"}}, {kX, kIndex}),
                  {{"axis", 0, "the axis whose rows are taken"},
                   {"overwrite", false, "of 1.x: a number's last gradient stays, not the sum"}});
const OpDef& index_select =
    define_gather("index_select", {kX, kIndex}, {{"dim", 0, "the axis whose rows are taken"}});

}  // namespace
}  // namespace flotilla::ops
