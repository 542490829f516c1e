// flotilla/ops/tensor/diagonal.cc
//
// diagonal takes one out of a tensor: the other axes, then the diagonal. fill_diagonal gives X but
// for one number on a diagonal of all its axes.

#include "flotilla/ops/tensor/diagonal.h"

#include <numeric>

#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

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

const OpDef& diagonal = define_op({
    .type = "diagonal",
    .doc = "The diagonals of two axes.",
    .inputs = {{.name = "Input", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "the other axes, then the diagonal"}},
    .attrs = kDiagonalAxes,
    .infer = infer_diagonal,
    .grad = grad_op({shape_of("Input")}, {.kernels = every_dtype(diagonal_backward)}),
    .kernels = every_dtype(diagonal_forward),
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
