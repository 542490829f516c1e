// flotilla/ops/tensor/gather.cc
//
// Operators that take or put rows by number: gather, index_select, gather_nd, scatter,
// scatter_nd_add. A row is what lies behind one index: `width` adjacent elements.
//
// Every number is checked while the op runs; a bad one is refused with its place.

#include <algorithm>
#include <cstring>

#include "flotilla/base/element_count.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

// Row numbers of either width.
class Numbers {
 public:
  Numbers() = default;
  Numbers(PrepareContext& c, std::string_view slot) {
    require(c.dtype(slot) == i32 || c.dtype(slot) == i64,
            "{} of {} must hold int32 or int64, but holds {}", slot, c.op().type(), c.dtype(slot));
    if (c.dtype(slot) == i32) {
      narrow_ = c.in<int32_t>(slot);
    } else {
      wide_ = c.in<int64_t>(slot);
    }
  }
  int64_t at(int64_t i) const { return wide_ ? wide_.data()[i] : narrow_.data()[i]; }

 private:
  In<int64_t> wide_;
  In<int32_t> narrow_;
};

int64_t checked(int64_t number, int64_t place, int64_t extent) {
  require(0 <= number && number < extent, "the index at place {} must lie in [0, {}), but is {}",
          place, extent, number);
  return number;
}

constexpr int64_t kGrainBytes = 64 << 10;

int64_t grain_of(int64_t bytes) {
  return std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(bytes, 1));
}

// ---- gather, index_select -----------------------------------------------------------------------

// X seen as [outer, extent, width]; Out as [outer, count, width].
struct Rows {
  int64_t outer = 1, extent = 1, width = 1, count = 1;
};

Rows rows_of(const Shape& x, int64_t axis, int64_t count) {
  return {x.numel(0, axis), x[axis], x.numel(axis + 1, x.rank()), count};
}

const IntSource kGatherAxis = {.tensor = "Axis", .attr = "axis"};

template <typename Context>
int64_t axis_of(const Context& c, const Shape& x) {
  if (c.op().type().starts_with("index_select")) return x.axis(c.template attr<int64_t>("dim"));
  if constexpr (std::is_same_v<Context, InferContext>) {
    return x.axis(known_int(c, kGatherAxis).value_or(0));
  } else {
    return x.axis(known_int(c, kGatherAxis));
  }
}

void infer_gather(InferContext& c) {
  const VarMeta& x = c.in("X");
  const Shape& index = c.in("Index").shape;
  const bool column = index.rank() == 2 && index[1] == 1;
  require(index.rank() <= 1 || column, "Index of {} must be a vector or a column, but has shape {}",
          c.op().type(), index);
  const int64_t axis = axis_of(c, x.shape);
  Ints dims(x.shape.begin(), x.shape.begin() + axis);
  if (index.rank() > 0) dims.push_back(index[0]);
  dims.insert(dims.end(), x.shape.begin() + axis + 1, x.shape.end());
  if (dims.empty()) dims.push_back(1);
  c.out("Out") = VarMeta::tensor(x.dtype, Shape(std::move(dims)));
}

Step gather_forward(PrepareContext& c) {
  const Shape& x = c.shape("X");
  const Rows r = rows_of(x, axis_of(c, x), c.shape("Index").numel());
  const int64_t bytes = r.width * size_of(c.dtype("X"));
  return [r, bytes, numbers = Numbers(c, "Index"), in = c.in_bytes("X"), out = c.out_bytes("Out")] {
    const char* from = in.data();
    char* to = out.data();
    parallel_ranges(r.outer * r.count, grain_of(bytes), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = checked(numbers.at(i % r.count), i % r.count, r.extent);
        std::memcpy(to + i * bytes, from + (i / r.count * r.extent + row) * bytes,
                    static_cast<size_t>(bytes));
      }
    });
  };
}

template <typename T>
void add_row(T* to, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

template <typename T>
void put_row(T* to, const T* from, int64_t n, bool overwrite) {
  if (overwrite) {
    std::copy_n(from, n, to);
  } else {
    add_row(to, from, n);
  }
}

// Rows may repeat, so they are added in order; what lies before the axis is independent. With
// `overwrite` the last of a number's gradients stays instead of their sum.
constexpr auto gather_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X@GRAD");
  const Rows r = rows_of(x, axis_of(c, x), c.shape("Index").numel());
  const bool overwrite = c.op().type() == "gather_grad" && c.attr<bool>("overwrite");
  return [r, overwrite, numbers = Numbers(c, "Index"), dout = c.in<T>("Out@GRAD"),
          din = c.out<T>("X@GRAD")] {
    const T* from = dout.data();
    T* to = din.data();
    zero_bytes(to, r.outer * r.extent * r.width * static_cast<int64_t>(sizeof(T)));
    parallel_for(r.outer, r.count * r.width, [&](int64_t o) {
      for (int64_t i = 0; i < r.count; ++i) {
        T* row = to + (o * r.extent + checked(numbers.at(i), i, r.extent)) * r.width;
        put_row(row, from + (o * r.count + i) * r.width, r.width, overwrite);
      }
    });
  };
};

// ---- gather_nd, scatter_nd_add ------------------------------------------------------------------

// Each entry of Index names the first `depth` axes of a tensor.
struct Entries {
  Ints extents = {};  // of the named axes
  int64_t count = 0;  // entries
  int64_t width = 1;  // elements behind one

  int64_t row(const Numbers& numbers, int64_t entry) const {
    const int64_t depth = static_cast<int64_t>(extents.size());
    int64_t row = 0;
    for (int64_t a = 0; a < depth; ++a) {
      const int64_t place = entry * depth + a;
      row = row * extents[static_cast<size_t>(a)] +
            checked(numbers.at(place), place, extents[static_cast<size_t>(a)]);
    }
    return row;
  }
};

Entries entries_of(const Shape& x, const Shape& index) {
  const int64_t depth = index[index.rank() - 1];
  return {Ints(x.begin(), x.begin() + depth), index.numel(0, index.rank() - 1),
          x.numel(depth, x.rank())};
}

// The shape of what Index names in X: one row for each entry.
Shape named_shape(const Shape& x, const Shape& index) {
  require(index.rank() > 0, "Index must have at least one axis, but has shape []");
  const int64_t depth = index[index.rank() - 1];
  require(0 <= depth && depth <= x.rank(),
          "the last axis of Index must name at most {} axes of X, but Index is {} and X is {}",
          x.rank(), index, x);
  Ints dims(index.begin(), index.end() - 1);
  dims.insert(dims.end(), x.begin() + depth, x.end());
  if (dims.empty()) dims.push_back(1);
  return Shape(std::move(dims));
}

void infer_gather_nd(InferContext& c) {
  c.out("Out") = VarMeta::tensor(c.dtype("X"), named_shape(c.in("X").shape, c.in("Index").shape));
}

Step take_entries(PrepareContext& c, std::string_view in, std::string_view out) {
  const Entries e = entries_of(c.shape(in), c.shape("Index"));
  const int64_t bytes = e.width * size_of(c.dtype(in));
  return [e, bytes, numbers = Numbers(c, "Index"), from = c.in_bytes(in), to = c.out_bytes(out)] {
    parallel_ranges(e.count, grain_of(bytes), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(to.data() + i * bytes, from.data() + e.row(numbers, i) * bytes,
                    static_cast<size_t>(bytes));
      }
    });
  };
}

Step gather_nd_forward(PrepareContext& c) { return take_entries(c, "X", "Out"); }

constexpr auto gather_nd_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X@GRAD");
  return [e = entries_of(x, c.shape("Index")), n = x.numel(), numbers = Numbers(c, "Index"),
          dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    zero_bytes(din.data(), n * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = 0; i < e.count; ++i) {
      add_row(din.data() + e.row(numbers, i) * e.width, dout.data() + i * e.width, e.width);
    }
  };
};

void infer_scatter_nd_add(InferContext& c) {
  const Shape named = named_shape(c.in("X").shape, c.in("Index").shape);
  require(c.in("Updates").shape.numel() == named.numel() || !named.known() ||
              !c.in("Updates").shape.known(),
          "Updates must have shape {}, but has {}", named, c.in("Updates").shape);
  c.out("Out") = like(c.in("X"));
}

constexpr auto scatter_nd_add_forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  c.in_place("X", "Out");
  return [e = entries_of(x, c.shape("Index")), n = x.numel(), numbers = Numbers(c, "Index"),
          in = c.in<T>("X"), updates = c.in<T>("Updates"), out = c.out<T>("Out")] {
    copy_bytes(out.data(), in.data(), n * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = 0; i < e.count; ++i) {
      add_row(out.data() + e.row(numbers, i) * e.width, updates.data() + i * e.width, e.width);
    }
  };
};

Step both(Step first, Step second) {
  if (!first) return second;
  if (!second) return first;
  return [first, second] {
    first();
    second();
  };
}

Step scatter_nd_add_backward(PrepareContext& c) {
  Step dx, updates;
  if (c.has("Updates@GRAD")) updates = take_entries(c, "Out@GRAD", "Updates@GRAD");
  if (c.has("X@GRAD")) dx = pass_through(c, "Out@GRAD", "X@GRAD");
  return both(updates, dx);
}

// ---- scatter ------------------------------------------------------------------------------------

void infer_scatter(InferContext& c) {
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

// With `overwrite` the last row of a number stays. Without, the rows of a number are added up, and
// what X held there is dropped.
constexpr auto scatter_forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const Rows r = rows_of(x, 0, c.shape("Ids").numel());
  c.in_place("X", "Out");
  return [r, overwrite = c.attr<bool>("overwrite"), numbers = Numbers(c, "Ids"), in = c.in<T>("X"),
          updates = c.in<T>("Updates"), out = c.out<T>("Out")] {
    const T* from = updates.data();
    T* to = out.data();
    copy_bytes(to, in.data(), r.extent * r.width * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = 0; i < r.count && !overwrite; ++i) {
      std::fill_n(to + checked(numbers.at(i), i, r.extent) * r.width, r.width, T{0});
    }
    for (int64_t i = 0; i < r.count; ++i) {
      T* row = to + checked(numbers.at(i), i, r.extent) * r.width;
      put_row(row, from + i * r.width, r.width, overwrite);
    }
  };
};

// X gets the gradient but for the rows that were written; Updates get theirs.
constexpr auto scatter_backward = []<typename T>(PrepareContext& c) -> Step {
  const Rows r = rows_of(c.shape("Out@GRAD"), 0, c.shape("Ids").numel());
  Step dx, updates;
  if (c.has("Updates@GRAD")) {
    updates = [r, numbers = Numbers(c, "Ids"), dout = c.in<T>("Out@GRAD"),
               to = c.out<T>("Updates@GRAD")] {
      for (int64_t i = 0; i < r.count; ++i) {
        std::copy_n(dout.data() + checked(numbers.at(i), i, r.extent) * r.width, r.width,
                    to.data() + i * r.width);
      }
    };
  }
  if (c.has("X@GRAD")) {
    c.in_place("Out@GRAD", "X@GRAD");
    dx = [r, numbers = Numbers(c, "Ids"), dout = c.in<T>("Out@GRAD"), to = c.out<T>("X@GRAD")] {
      copy_bytes(to.data(), dout.data(), r.extent * r.width * static_cast<int64_t>(sizeof(T)));
      for (int64_t i = 0; i < r.count; ++i) {
        std::fill_n(to.data() + checked(numbers.at(i), i, r.extent) * r.width, r.width, T{0});
      }
    };
  }
  return both(updates, dx);
};

// ---- Definitions --------------------------------------------------------------------------------

Slot numbers_slot(std::string name) {
  return {.name = std::move(name), .doc = "int32 or int64", .no_grad = true};
}

template <typename F>
std::vector<Kernel> arithmetic(F f) {
  return kernels_for<float, double, int32_t, int64_t>(f);
}

const Slot kX = {.name = "X", .doc = "tensor"};
const Slot kUpdates = {.name = "Updates", .doc = "the rows to put"};

const OpDef& gather = define_op({
    .type = "gather",
    .doc = "The rows of X with the numbers in Index.",
    .inputs = {kX,
               numbers_slot("Index"),
               {.name = "Axis", .doc = "instead of `axis`", .optional = true, .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "one row for each number"}},
    .attrs = {{"axis", int32_t{0}, "the axis whose rows are taken"},
              {"overwrite", false, "of 1.x: a number's last gradient stays instead of the sum"}},
    .infer = infer_gather,
    .grad = grad_op({shape_of("X"), "Index", "Axis"}, {.kernels = arithmetic(gather_backward)}),
    .kernels = every_dtype(gather_forward),
    .dtype_slot = "X",
});

const OpDef& index_select = define_op({
    .type = "index_select",
    .doc = "The rows of X with the numbers in Index.",
    .inputs = {kX, numbers_slot("Index")},
    .outputs = {{.name = "Out", .doc = "one row for each number"}},
    .attrs = {{"dim", int32_t{0}, "the axis whose rows are taken"}},
    .infer = infer_gather,
    .grad = grad_op({shape_of("X"), "Index"}, {.kernels = arithmetic(gather_backward)}),
    .kernels = every_dtype(gather_forward),
    .dtype_slot = "X",
});

const OpDef& gather_nd = define_op({
    .type = "gather_nd",
    .doc = "The rows of X whose first axes the entries of Index name.",
    .inputs = {kX, numbers_slot("Index")},
    .outputs = {{.name = "Out", .doc = "one row for each entry"}},
    .infer = infer_gather_nd,
    .grad = grad_op({shape_of("X"), "Index"}, {.kernels = arithmetic(gather_nd_backward)}),
    .kernels = every_dtype(gather_nd_forward),
    .dtype_slot = "X",
});

const OpDef& scatter = define_op({
    .type = "scatter",
    .doc = "X with the rows of the numbers in Ids replaced.",
    .inputs = {kX, numbers_slot("Ids"), kUpdates},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .attrs = {{"overwrite", true, "rows replace those of X; otherwise they add up"}},
    .infer = infer_scatter,
    .grad = grad_op({"Ids", shape_of("Updates")}, {.kernels = arithmetic(scatter_backward)}),
    .kernels = arithmetic(scatter_forward),
    .dtype_slot = "X",
});

const OpDef& scatter_nd_add = define_op({
    .type = "scatter_nd_add",
    .doc = "X with rows added where the entries of Index say.",
    .inputs = {kX, numbers_slot("Index"), kUpdates},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .infer = infer_scatter_nd_add,
    .grad =
        grad_op({"Index", shape_of("Updates")}, {.kernels = every_dtype(scatter_nd_add_backward)}),
    .kernels = arithmetic(scatter_nd_add_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
