// flotilla/ops/tensor/diagonal.cc
//
// Diagonals: of two axes the places where the index along the second is that along the first and
// `offset` more.
//
//   diagonal      takes one out of a tensor: the other axes, then the diagonal
//   trace         sums it up
//   diag_embed    the way back: the last axis of Input becomes a diagonal among zeros
//   diag_v2       both ways of a matrix; what is not on the diagonal is `padding_value`
//   diag          a vector becomes the main diagonal of a matrix
//   fill_diagonal X but for one number on a diagonal of all its axes

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

struct Axes {
  int64_t first = 0, second = 1, offset = 0;
};

// Inside a tensor of `whole` extents, of which some may be unknown.
Box diagonal_of(const Shape& whole, const Axes& axes) {
  const int64_t rows = whole[axes.first], columns = whole[axes.second];
  const int64_t down = std::max<int64_t>(0, -axes.offset),
                right = std::max<int64_t>(0, axes.offset);
  const Ints strides = dense_strides(whole);
  const int64_t by_row = strides[static_cast<size_t>(axes.first)];
  const int64_t by_column = strides[static_cast<size_t>(axes.second)];
  Box box{.first = down * by_row + right * by_column};
  for (int64_t a = 0; a < whole.rank(); ++a) {
    if (a == axes.first || a == axes.second) continue;
    box.extents.push_back(whole[a]);
    box.strides.push_back(strides[static_cast<size_t>(a)]);
  }
  const int64_t length = std::max<int64_t>(0, std::min(rows - down, columns - right));
  box.extents.push_back(rows < 0 || columns < 0 ? -1 : length);
  box.strides.push_back(by_row + by_column);
  return box;
}

// ---- diagonal, trace ----------------------------------------------------------------------------

template <typename Context>
Axes axes_of(const Context& c, const Shape& whole, const char* first, const char* second) {
  const Axes axes = {whole.axis(c.template attr<int64_t>(first)),
                     whole.axis(c.template attr<int64_t>(second)),
                     c.template attr<int64_t>("offset")};
  require(axes.first != axes.second, "{} and {} of {} must be different axes, but both are {}",
          first, second, c.op().type(), axes.first);
  return axes;
}

Shape diagonal_shape(const InferContext& c) {
  const Shape& input = c.in("Input").shape;
  require(input.rank() >= 2, "{} takes tensors with two axes or more, but Input has shape {}",
          c.op().type(), input);
  return Shape(diagonal_of(input, axes_of(c, input, "axis1", "axis2")).extents);
}

void infer_diagonal(InferContext& c) {
  c.out("Out") = VarMeta::tensor(c.dtype("Input"), diagonal_shape(c));
}

Box diagonal_in(const PrepareContext& c, std::string_view slot) {
  return diagonal_of(c.shape(slot), axes_of(c, c.shape(slot), "axis1", "axis2"));
}

Step diagonal_forward(PrepareContext& c) {
  return take_box(c, "Input", "Out", diagonal_in(c, "Input"));
}
Step diagonal_backward(PrepareContext& c) {
  return put_box(c, "Out@GRAD", "Input@GRAD", diagonal_in(c, "Input@GRAD"));
}

// Never without an axis.
void infer_trace(InferContext& c) {
  Ints dims = diagonal_shape(c).dims();
  dims.pop_back();
  c.out("Out") = VarMeta::tensor(c.dtype("Input"), dims.empty() ? Shape{1} : Shape(dims));
}

void lower_trace(LowerContext& c) {
  const std::string diagonal = c.append("diagonal", {{"Input", {c.in("Input")}}},
                                        {{"offset", c.attr<int32_t>("offset")},
                                         {"axis1", c.attr<int32_t>("axis1")},
                                         {"axis2", c.attr<int32_t>("axis2")}});
  c.result("Out", c.apply("reduce_sum", diagonal, {{"dim", std::vector<int32_t>{-1}}}));
}

const std::vector<Slot> kInput = {{.name = "Input", .doc = "tensor"}};
const AttrSpec kOffset = {"offset", int32_t{0}, "which diagonal; above the main one if positive"};
const std::vector<AttrSpec> kAxes = {kOffset,
                                     {"axis1", int32_t{0}, "axis of the rows"},
                                     {"axis2", int32_t{1}, "axis of the columns"}};

const OpDef& diagonal = define_op({
    .type = "diagonal",
    .doc = "The diagonals of two axes.",
    .inputs = kInput,
    .outputs = {{.name = "Out", .doc = "the other axes, then the diagonal"}},
    .attrs = kAxes,
    .infer = infer_diagonal,
    .grad = grad_op({shape_of("Input")}, {.kernels = every_dtype(diagonal_backward)}),
    .kernels = every_dtype(diagonal_forward),
});

// 1.8 has other names for the axes.
void read_release(Op& op) {
  for (const auto& [old, now] : {std::pair("dim1", "axis1"), std::pair("dim2", "axis2")}) {
    if (const Attr* axis = op.find_attr(old); axis != nullptr && !op.attrs().contains(now)) {
      op.set_attr(now, Attr(*axis));
    }
    op.remove_attr(old);
  }
}

const OpDef& trace = define_op({
    .type = "trace",
    .doc = "The sums of the diagonals of two axes.",
    .inputs = kInput,
    .outputs = {{.name = "Out", .doc = "the other axes"}},
    .attrs = kAxes,
    .infer = infer_trace,
    .grad = grad_of_body(),
    .lower = lower_trace,
    .from_paddle = read_release,
});

// ---- diag_embed ---------------------------------------------------------------------------------

void infer_embed(InferContext& c) {
  const Shape& input = c.in("Input").shape;
  require(input.rank() >= 1,
          "diag_embed takes tensors with an axis or more, but Input is a number");
  Shape out = input;
  out.push_back(-1);
  const Axes axes = axes_of(c, out, "dim1", "dim2");
  const int64_t length = input[input.rank() - 1];
  auto other = input.begin();
  for (int64_t a = 0; a < out.rank(); ++a) {
    const bool one = a == axes.first || a == axes.second;
    out[a] = !one ? *other++ : length < 0 ? -1 : length + std::abs(axes.offset);
  }
  c.out("Out") = VarMeta::tensor(c.dtype("Input"), out);
}

Step embed(PrepareContext& c) {
  const Shape& out = c.shape("Out");
  return put_box(c, "Input", "Out", diagonal_of(out, axes_of(c, out, "dim1", "dim2")));
}

const OpDef& diag_embed = define_op({
    .type = "diag_embed",
    .doc = "The last axis of Input as a diagonal, zeros elsewhere.",
    .inputs = {{.name = "Input", .doc = "tensor", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "one axis more than Input"}},
    .attrs = {kOffset,
              {"dim1", int32_t{-2}, "axis of the rows"},
              {"dim2", int32_t{-1}, "axis of the columns"}},
    .infer = infer_embed,
    .kernels = every_dtype(embed),
});

// ---- diag_v2, diag ------------------------------------------------------------------------------

void infer_diag_v2(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t offset = c.attr<int64_t>("offset");
  require(x.rank() == 1 || x.rank() == 2, "diag_v2 takes a vector or a matrix, but X has shape {}",
          x);
  const int64_t size = x[0] < 0 ? -1 : x[0] + std::abs(offset);
  c.out("Out") =
      VarMeta::tensor(c.dtype("X"), x.rank() == 1 ? Shape{size, size}
                                                  : Shape(diagonal_of(x, {0, 1, offset}).extents));
}

// Puts a vector onto the diagonal of a matrix, or takes it from there.
template <typename T>
Step move_diagonal(PrepareContext& c, std::string_view in, std::string_view out, int64_t offset,
                   float rest) {
  const Axes axes = {0, 1, offset};
  if (c.shape(in).rank() == 2) return take_box(c, in, out, diagonal_of(c.shape(in), axes));
  return put_box<T>(c, in, out, diagonal_of(c.shape(out), axes), static_cast<T>(rest));
}

constexpr auto diag_v2_forward = []<typename T>(PrepareContext& c) -> Step {
  return move_diagonal<T>(c, "X", "Out", c.attr<int64_t>("offset"), c.attr<float>("padding_value"));
};
constexpr auto diag_v2_backward = []<typename T>(PrepareContext& c) -> Step {
  return move_diagonal<T>(c, "Out@GRAD", "X@GRAD", c.attr<int64_t>("offset"), 0);
};

const OpDef& diag_v2 = define_op({
    .type = "diag_v2",
    .doc = "A matrix with the vector X on a diagonal, or a diagonal of the matrix X.",
    .inputs = {{.name = "X", .doc = "vector or matrix"}},
    .outputs = {{.name = "Out", .doc = "matrix or vector"}},
    .attrs = {kOffset, {"padding_value", 0.0f, "what a matrix made of a vector holds elsewhere"}},
    .infer = infer_diag_v2,
    .grad = grad_op({shape_of("X")}, {.kernels = kernels_for<float, double>(diag_v2_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(diag_v2_forward),
});

void infer_diag(InferContext& c) {
  const VarMeta& diagonal = c.in("Diagonal");
  require(diagonal.shape.rank() == 1, "Diagonal must be a vector, but has shape {}",
          diagonal.shape);
  c.out("Out") = VarMeta::tensor(diagonal.dtype, Shape{diagonal.shape[0], diagonal.shape[0]});
}

void lower_diag(LowerContext& c) { c.result("Out", c.apply("diag_v2", c.in("Diagonal"))); }

const OpDef& diag = define_op({
    .type = "diag",
    .doc = "A square matrix with a vector on its diagonal and zeros elsewhere.",
    .inputs = {{.name = "Diagonal", .doc = "vector", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "matrix", .no_grad = true}},
    .infer = infer_diag,
    .lower = lower_diag,
});

// ---- fill_diagonal ------------------------------------------------------------------------------

void check_cube(const Shape& x) {
  bool cube = x.rank() == 2;
  if (x.rank() > 2) cube = std::ranges::all_of(x, [&](int64_t n) { return fits(n, x[0]); });
  require(cube, "fill_diagonal takes a matrix, or more axes of one extent, but X has shape {}", x);
}

void infer_filled(InferContext& c) {
  check_cube(c.in("X").shape);
  c.out("Out") = like(c.in("X"));
}

// The diagonal begins anew below a tall matrix if it wraps; otherwise it ends with the square that
// the columns span, whatever the offset.
template <typename T>
Step fill_diagonal(PrepareContext& c, std::string_view in, std::string_view out, float value) {
  const Shape& x = c.shape(in);
  check_cube(x);
  const Ints strides = dense_strides(x);
  const int64_t columns = x[x.rank() - 1], n = x.numel();
  c.in_place(in, out);
  return [n, columns, offset = int64_t{c.attr<int32_t>("offset")}, value = static_cast<T>(value),
          step = std::accumulate(strides.begin(), strides.end(), int64_t{0}),
          end = c.attr<bool>("wrap") ? n : std::min(n, columns * columns), from = c.in<T>(in),
          to = c.out<T>(out)] {
    copy_bytes(to.data(), from.data(), n * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = 0; i < end; i += step) {
      const int64_t column = i % columns + offset;
      if (0 <= column && column < columns) to.data()[i + offset] = value;
    }
  };
}

constexpr auto filled = []<typename T>(PrepareContext& c) {
  return fill_diagonal<T>(c, "X", "Out", c.attr<float>("value"));
};
constexpr auto filled_backward = []<typename T>(PrepareContext& c) {
  return fill_diagonal<T>(c, "Out@GRAD", "X@GRAD", 0);
};

const OpDef& fill_diagonal_op = define_op({
    .type = "fill_diagonal",
    .doc = "X with one number on a diagonal.",
    .inputs = {{.name = "X", .doc = "a matrix, or as many rows along each of more axes"}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
    .attrs = {{"value", 0.0f, "the number"},
              kOffset,
              {"wrap", false, "the diagonal begins anew where the columns end"}},
    .infer = infer_filled,
    .grad = grad_op({}, {.kernels = kernels_for<float, double>(filled_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t, bool>(filled),
});

}  // namespace
}  // namespace flotilla::ops
