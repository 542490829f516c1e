// diag and diag_v2: a vector becomes a diagonal of a matrix; diag_v2 also takes one from there.
// diag_embed: the last axis of Input becomes a diagonal among zeros.

#include <cstdlib>

#include "flotilla/op/lower.h"
#include "flotilla/ops/tensor/diagonal.h"

namespace flotilla::ops {
namespace {

void infer_embed(InferContext& c) {
  const Shape& input = c.in("Input").shape;
  require(input.rank() >= 1,
          "diag_embed takes tensors with an axis or more, but Input is a number");
  Shape out = input;
  out.push_back(-1);
  const DiagonalAxes axes = axes_of(c, out, "dim1", "dim2");
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
  const DiagonalAxes axes = {0, 1, offset};
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

}  // namespace
}  // namespace flotilla::ops
