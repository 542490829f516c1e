// flotilla/ops/tensor/scatter.cc
//
// Operators that put rows where numbers say:
//
//   scatter          rows of X are replaced; of several rows for one place the last one stays, or
//                    without `overwrite` their sum
//   scatter_nd_add   rows are added, where entries of Index name the first axes of X
//   index_add        rows are added along an axis
//   put_along_axis   elements are replaced or added along an axis, as take_along_axis takes them
//
// The gradient of what was replaced is zero; what was put gets that of its place.

#include "flotilla/base/element_count.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/named_rows.h"

namespace flotilla::ops {
namespace {

enum class Put { kReplace, kReplaceBySum, kAdd };

template <typename T, typename Rows>
Step put(PrepareContext& c, std::string_view in, std::string_view list, std::string_view out,
         const Rows& rows, Put how) {
  c.in_place(in, out);
  return [rows, how, bytes = c.shape(in).numel() * static_cast<int64_t>(sizeof(T)), x = c.in<T>(in),
          updates = c.in<T>(list), to = c.out<T>(out)] {
    copy_bytes(to.data(), x.data(), bytes);
    if (how == Put::kReplaceBySum) clear_rows(rows, to.data());
    put_rows(rows, updates.data(), to.data(), how == Put::kReplace);
  };
}

// The gradients of `in` and `list`, as far as they are wanted, from that of the result.
template <typename T, typename Rows>
Step put_backward(PrepareContext& c, std::string_view dout, std::string_view din,
                  std::string_view dlist, const Rows& rows, Put how) {
  const Step of_list = c.has(dlist) ? take_rows(c, dout, dlist, rows) : Step();
  Step of_whole;
  if (c.has(din) && how == Put::kAdd) {
    of_whole = pass_through(c, dout, din);
  } else if (c.has(din)) {
    c.in_place(dout, din);
    of_whole = [rows, bytes = c.shape(dout).numel() * static_cast<int64_t>(sizeof(T)),
                from = c.in<T>(dout), to = c.out<T>(din)] {
      copy_bytes(to.data(), from.data(), bytes);
      clear_rows(rows, to.data());
    };
  }
  return [of_list, of_whole] {
    if (of_list) of_list();
    if (of_whole) of_whole();
  };
}

template <typename F>
std::vector<Kernel> arithmetic(F f) {
  return kernels_for<float, double, int32_t, int64_t>(f);
}

Slot numbers_slot(std::string name) {
  return {.name = std::move(name), .doc = "int32 or int64", .no_grad = true};
}

const Slot kX = {.name = "X", .doc = "tensor"};
const Slot kUpdates = {.name = "Updates", .doc = "the rows to put"};
const Slot kOut = {.name = "Out", .doc = "same shape as X", .like = "X"};

// ---- scatter ------------------------------------------------------------------------------------

void infer_scatter(InferContext& c) {
  check_labels(c, "Ids");
  const Shape &x = c.in("X").shape, &updates = c.in("Updates").shape, &ids = c.in("Ids").shape;
  require(x.rank() > 0, "scatter needs an X with at least one axis");
  require(ids.numel() < 0 || updates.rank() == 0 || updates[0] < 0 || ids.numel() == updates[0],
          "Updates must hold a row for each of the {} Ids, but has shape {}", ids.numel(), updates);
  require(!ids.known() || !updates.known() || !x.known() ||
              updates.numel() == checked_product(ids.numel(), x.numel(1, x.rank())),
          "the rows of Updates must be as wide as those of X, but they have the shapes {} and {}",
          updates, x);
  c.out("Out") = like(c.in("X"));
}

constexpr auto scatter_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "X", "Updates", "Out", RowsAlongAxis(c, "Ids", c.shape("X"), 0),
                c.attr<bool>("overwrite") ? Put::kReplace : Put::kReplaceBySum);
};

constexpr auto scatter_backward = []<typename T>(PrepareContext& c) -> Step {
  return put_backward<T>(c, "Out@GRAD", "X@GRAD", "Updates@GRAD",
                         RowsAlongAxis(c, "Ids", c.shape("Out@GRAD"), 0), Put::kReplace);
};

const OpDef& scatter = define_op({
    .type = "scatter",
    .doc = "X with the rows of the numbers in Ids replaced.",
    .inputs = {kX, numbers_slot("Ids"), kUpdates},
    .outputs = {kOut},
    .attrs = {{"overwrite", true, "rows replace those of X; otherwise they add up"}},
    .infer = infer_scatter,
    .grad = grad_op({"Ids", shape_of("Updates")}, {.kernels = arithmetic(scatter_backward)}),
    .kernels = arithmetic(scatter_forward),
    .dtype_slot = "X",
});

// ---- scatter_nd_add -----------------------------------------------------------------------------

void infer_scatter_nd_add(InferContext& c) {
  check_labels(c, "Index");
  const Shape& updates = c.in("Updates").shape;
  const Shape named = shape_by_entry(c.in("X").shape, c.in("Index").shape);
  require(updates.numel() == named.numel() || !named.known() || !updates.known(),
          "Updates must have shape {}, but has {}", named, updates);
  c.out("Out") = like(c.in("X"));
}

constexpr auto scatter_nd_add_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "X", "Updates", "Out", RowsByEntry(c, "Index", c.shape("X")), Put::kAdd);
};

Step scatter_nd_add_backward(PrepareContext& c) {
  return put_backward<float>(c, "Out@GRAD", "X@GRAD", "Updates@GRAD",
                             RowsByEntry(c, "Index", c.shape("Out@GRAD")), Put::kAdd);
}

const OpDef& scatter_nd_add = define_op({
    .type = "scatter_nd_add",
    .doc = "X with rows added where the entries of Index say.",
    .inputs = {kX, numbers_slot("Index"), kUpdates},
    .outputs = {kOut},
    .infer = infer_scatter_nd_add,
    .grad =
        grad_op({"Index", shape_of("Updates")}, {.kernels = every_dtype(scatter_nd_add_backward)}),
    .kernels = arithmetic(scatter_nd_add_forward),
    .dtype_slot = "X",
});

// ---- index_add ----------------------------------------------------------------------------------

void infer_index_add(InferContext& c) {
  check_labels(c, "Index");
  const Shape &x = c.in("X").shape, &index = c.in("Index").shape, &added = c.in("AddValue").shape;
  require(index.rank() == 1, "Index of index_add must be a vector, but has shape {}", index);
  Shape rows = x;
  rows[x.axis(c.attr<int64_t>("axis"))] = index[0];
  require(fits(added, rows), "AddValue must have shape {}, but has {}", rows, added);
  c.out("Out") = like(c.in("X"));
}

RowsAlongAxis added_rows(PrepareContext& c, const Shape& whole) {
  return RowsAlongAxis(c, "Index", whole, whole.axis(c.attr<int64_t>("axis")));
}

constexpr auto index_add_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "X", "AddValue", "Out", added_rows(c, c.shape("X")), Put::kAdd);
};

Step index_add_backward(PrepareContext& c) {
  return put_backward<float>(c, "Out@GRAD", "X@GRAD", "AddValue@GRAD",
                             added_rows(c, c.shape("Out@GRAD")), Put::kAdd);
}

const OpDef& index_add = define_op({
    .type = "index_add",
    .doc = "X with rows added at the numbers in Index.",
    .inputs = {kX, numbers_slot("Index"), {.name = "AddValue", .doc = "a row for each number"}},
    .outputs = {kOut},
    .attrs = {{"axis", 0, "the axis whose rows are meant"}},
    .infer = infer_index_add,
    .grad = grad_op({"Index", shape_of("AddValue")}, {.kernels = every_dtype(index_add_backward)}),
    .kernels = arithmetic(index_add_forward),
    .dtype_slot = "X",
});

// ---- put_along_axis -----------------------------------------------------------------------------

Put put_of(const PrepareContext& c) {
  const std::string name = c.attr<std::string>("Reduce");
  if (name == "assign") return Put::kReplace;
  require(name == "add", "Reduce must be assign or add, but is \"{}\"", name);
  return c.attr<bool>("Include_self") ? Put::kAdd : Put::kReplaceBySum;
}

void infer_put_along(InferContext& c) {
  check_named_elements(c);
  const Shape &value = c.in("Value").shape, &index = c.in("Index").shape;
  require(fits(value, index), "Value must have the shape {} of Index, but has {}", index, value);
  c.out("Result") = like(c.in("Input"));
}

NamedElements elements_of(PrepareContext& c, std::string_view whole) {
  return NamedElements(c, "Index", c.shape(whole), c.attr<int64_t>("Axis"), true);
}

constexpr auto put_along_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "Input", "Value", "Result", elements_of(c, "Input"), put_of(c));
};

// What a later element replaced has no part in the result, which has `size` elements.
template <typename T>
void clear_replaced(const NamedElements& elements, int64_t size, T* list) {
  std::vector<bool> taken(static_cast<size_t>(size));
  for (int64_t i = elements.count; i-- > 0;) {
    const auto place = static_cast<size_t>(elements.of(i));
    if (taken[place]) list[i] = T{0};
    taken[place] = true;
  }
}

constexpr auto put_along_backward = []<typename T>(PrepareContext& c) -> Step {
  const NamedElements elements = elements_of(c, "Result@GRAD");
  const Put how = put_of(c);
  Step both = put_backward<T>(c, "Result@GRAD", "Input@GRAD", "Value@GRAD", elements, how);
  if (how != Put::kReplace || !c.has("Value@GRAD")) return both;
  return [both, elements, size = c.shape("Result@GRAD").numel(), list = c.out<T>("Value@GRAD")] {
    both();
    clear_replaced(elements, size, list.data());
  };
};

const OpDef& put_along_axis = define_op({
    .type = "put_along_axis",
    .doc = "Input with the elements that Index names along an axis replaced, or added to.",
    .inputs = {{.name = "Input", .doc = "tensor"},
               numbers_slot("Index"),
               {.name = "Value", .doc = "an element for each number"}},
    .outputs = {{.name = "Result", .doc = "same shape as Input", .like = "Input"}},
    .attrs = {{"Axis", 0, "the axis that Index counts along; negative numbers from its end"},
              {"Reduce", std::string("assign"), "assign or add"},
              {"Include_self", true, "whether what Input holds there is a part of the sum"}},
    .infer = infer_put_along,
    .grad = grad_op({shape_of("Input"), "Index", shape_of("Value"), shape_of("Result")},
                    {.kernels = kernels_for<float, double>(put_along_backward)}),
    .kernels = arithmetic(put_along_forward),
    .dtype_slot = "Input",
});

}  // namespace
}  // namespace flotilla::ops
