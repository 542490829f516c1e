// flotilla/ops/math/qr.cc
//
// qr: matrices as products of columns at right angles and a triangle, by Householder's reflections
// (Golub and Van Loan, Matrix Computations, 5.2). The signs are LAPACK's: a column of which nothing
// stands below the diagonal stays as it is.
//
//   dX = (dQ + Q copyltu(R dR^T - dQ^T Q)) R^-T, where copyltu mirrors what is below the diagonal
//   (Walter and Lehmann, Algorithmic Differentiation of Linear Algebra Functions, 2012)

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

enum class Mode { kReduced, kComplete, kTriangle };

Mode mode_of(const std::string& mode) {
  require(mode == "reduced" || mode == "complete" || mode == "r",
          "mode must be reduced, complete or r, but is \"{}\"", mode);
  return mode == "reduced"    ? Mode::kReduced
         : mode == "complete" ? Mode::kComplete
                              : Mode::kTriangle;
}

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t rank = x.rank();
  require(rank >= 2, "qr takes matrices, but X has shape {}", x);
  const Mode mode = mode_of(c.attr<std::string>("mode"));
  const int64_t rows = x[rank - 2], columns = x[rank - 1];
  const int64_t common = rows < 0 || columns < 0 ? -1 : std::min(rows, columns);
  Shape q = x, r = x;
  q[rank - 1] = mode == Mode::kComplete ? rows : common;
  r[rank - 2] = mode == Mode::kComplete ? rows : common;
  c.out("Q") = VarMeta::tensor(c.dtype("X"), mode == Mode::kTriangle ? Shape{0} : std::move(q));
  c.out("R") = VarMeta::tensor(c.dtype("X"), std::move(r));
}

// A matrix of which the elements of a column lie side by side.
template <typename T>
struct Columns {
  T* data = nullptr;
  int64_t rows = 0;

  T* operator[](int64_t column) const { return data + column * rows; }
};

// column -= factor * v (v^T column), where v is 1 at its place k and `tail` behind it.
template <typename T>
void reflect(const T* v, T factor, int64_t k, int64_t rows, T* column) {
  T sum = column[k];
  for (int64_t i = k + 1; i < rows; ++i) sum += v[i] * column[i];
  sum *= factor;
  column[k] -= sum;
  for (int64_t i = k + 1; i < rows; ++i) column[i] -= sum * v[i];
}

// Makes `a` triangular. Below its diagonal stand the vectors of the reflections, in `factors` what
// they are multiplied by.
template <typename T>
void triangulate(Columns<T> a, int64_t columns, T* factors) {
  for (int64_t k = 0; k < std::min(a.rows, columns); ++k) {
    T* const v = a[k];
    T below = 0;
    for (int64_t i = k + 1; i < a.rows; ++i) below = std::hypot(below, v[i]);
    factors[k] = 0;
    if (below == 0) continue;
    const T length = -std::copysign(std::hypot(v[k], below), v[k]);
    factors[k] = (length - v[k]) / length;
    for (int64_t i = k + 1; i < a.rows; ++i) v[i] /= v[k] - length;
    v[k] = length;
    for (int64_t j = k + 1; j < columns; ++j) reflect(v, factors[k], k, a.rows, a[j]);
  }
}

// Column `j` of Q, in `column`.
template <typename T>
void column_of_q(Columns<T> a, const T* factors, int64_t reflections, int64_t j, T* column) {
  std::fill_n(column, a.rows, T{0});
  column[j] = 1;
  for (int64_t k = reflections; k-- > 0;) reflect(a[k], factors[k], k, a.rows, column);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const int64_t rank = x.rank(), m = x[rank - 2], n = x[rank - 1], k = std::min(m, n);
  const bool wants_q = mode_of(c.attr<std::string>("mode")) != Mode::kTriangle;
  const int64_t q_columns = wants_q ? c.shape("Q")[rank - 1] : 0, r_rows = c.shape("R")[rank - 2];
  const int64_t count = x.numel(0, rank - 2);
  // Of each matrix: the matrix by columns, the factors, one column of Q.
  const int64_t room = m * n + k + m;
  return [=, in = c.in<T>("X"), q = c.out<T>("Q"), r = c.out<T>("R"),
          work = c.workspace<T>(room * count)] {
    parallel_for(count, 2 * m * n * k, [&](int64_t matrix) {
      const Columns<T> a = {work.data() + matrix * room, m};
      T *const factors = a.data + m * n, *const column = factors + k;
      for (int64_t i = 0; i < m * n; ++i) a[i % n][i / n] = in.data()[matrix * m * n + i];
      triangulate(a, n, factors);
      for (int64_t i = 0; i < r_rows * n; ++i) {
        r.data()[matrix * r_rows * n + i] = i / n <= i % n ? a[i % n][i / n] : T{0};
      }
      for (int64_t j = 0; j < q_columns; ++j) {
        column_of_q(a, factors, k, j, column);
        for (int64_t i = 0; i < m; ++i) q.data()[(matrix * m + i) * q_columns + j] = column[i];
      }
    });
  };
};

std::string product(LowerContext& c, const std::string& x, const std::string& y, bool trans_x,
                    bool trans_y) {
  return c.apply("matmul_v2", x, y, {{"trans_x", trans_x}, {"trans_y", trans_y}});
}

// What is on and below the diagonal of a square, and the mirror of what is below.
std::string mirrored(LowerContext& c, const std::string& square, int64_t rank) {
  std::vector<int32_t> axes;
  for (int32_t a = 0; a < rank; ++a) axes.push_back(a);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  const std::string below =
      c.apply("tril_triu", square, {{"lower", true}, {"diagonal", int32_t{-1}}});
  return c.add(c.apply("tril_triu", square, {{"lower", true}}),
               c.apply("transpose2", below, {{"axis", axes}}));
}

void lower_grad(LowerContext& c) {
  const Shape& x = c.shape("X");
  const int64_t rank = x.rank();
  require(mode_of(c.attr<std::string>("mode")) == Mode::kReduced && x[rank - 2] >= x[rank - 1],
          "gradients of qr need the mode reduced and as many rows as columns or more, but the mode "
          "is {} and X has shape {}",
          c.attr<std::string>("mode"), x);
  const std::string q = c.in("Q"), r = c.in("R");
  std::string square;
  if (c.has("R@GRAD")) square = product(c, r, c.in("R@GRAD"), false, true);
  if (c.has("Q@GRAD")) {
    const std::string turned = c.scale(product(c, c.in("Q@GRAD"), q, true, false), -1);
    square = square.empty() ? turned : c.add(square, turned);
  }
  std::string sum = product(c, q, mirrored(c, square, rank), false, false);
  if (c.has("Q@GRAD")) sum = c.add(c.in("Q@GRAD"), sum);
  c.result("X@GRAD", product(c, sum, c.append("inverse", {{"Input", {r}}}), false, true));
}

const OpDef& qr = define_op({
    .type = "qr",
    .doc = "Matrices as products of columns at right angles and a triangle.",
    .inputs = {{.name = "X", .doc = "matrices in the last two axes"}},
    .outputs = {{.name = "Q", .doc = "columns of length 1 at right angles; empty in the mode r"},
                {.name = "R", .doc = "zero below the diagonal"}},
    .attrs =
        {{"mode", std::string("reduced"),
          "reduced: as many columns of Q as rows of R are needed; complete: Q is square; r: no "
          "Q"}},
    .infer = infer,
    .grad = grad_op({shape_of("X"), "Q", "R"}, {.lower = lower_grad}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
