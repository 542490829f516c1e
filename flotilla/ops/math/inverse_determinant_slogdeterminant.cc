// flotilla/ops/math/inverse_determinant_slogdeterminant.cc
//
// inverse, determinant, slogdeterminant: of the matrices in the last two axes, by elimination with
// the largest pivot of a column.
//
//   d inverse = -inverse^T dOut inverse^T
//   d determinant = dOut determinant inverse^T;  of its logarithm, dOut inverse^T

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

// The shape of the axes before the last two.
Shape check_square(const InferContext& c) {
  const Shape& x = c.in("Input").shape;
  const int64_t rank = x.rank();
  require(rank >= 2 && (x[rank - 1] == x[rank - 2] || x[rank - 1] < 0 || x[rank - 2] < 0),
          "{} takes square matrices, but Input has shape {}", c.op().type(), x);
  return Shape(std::vector<int64_t>(x.begin(), x.end() - 2));
}

void infer_inverse(InferContext& c) {
  check_square(c);
  c.out("Output") = like(c.in("Input"));
}

void infer_determinant(InferContext& c) {
  const Shape out = check_square(c);
  c.out("Out") = VarMeta::tensor(c.dtype("Input"), out.rank() == 0 ? Shape{1} : out);
}

void infer_log(InferContext& c) {
  Shape out = {2};
  for (const int64_t extent : check_square(c)) out.push_back(extent);
  c.out("Out") = VarMeta::tensor(c.dtype("Input"), std::move(out));
}

// The rows of a matrix.
template <typename T>
struct Rows {
  T* data = nullptr;
  int64_t columns = 0;

  T* operator[](int64_t row) const { return data + row * columns; }
  void swap(int64_t i, int64_t j) const {
    std::swap_ranges((*this)[i], (*this)[i] + columns, (*this)[j]);
  }
  void subtract(int64_t from, T factor, int64_t row) const {
    for (int64_t i = 0; i < columns; ++i) (*this)[from][i] -= factor * (*this)[row][i];
  }
};

// Makes a matrix of n rows triangular. What becomes of its rows becomes of those of `beside`. The
// sign of the exchanges.
template <typename T>
T triangulate(Rows<T> a, int64_t n, Rows<T> beside) {
  T sign = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    if (pivot != k) {
      a.swap(k, pivot);
      beside.swap(k, pivot);
      sign = -sign;
    }
    for (int64_t i = k + 1; i < n && a[k][k] != 0; ++i) {
      const T factor = a[i][k] / a[k][k];
      a.subtract(i, factor, k);
      beside.subtract(i, factor, k);
    }
  }
  return sign;
}

// The matrices of Input, and room for a copy of each.
template <typename T>
struct Matrices {
  int64_t n, count;
  In<T> in;
  Out<T> copies;

  explicit Matrices(PrepareContext& c)
      : n(c.shape("Input")[c.shape("Input").rank() - 1]),
        count(c.shape("Input").numel(0, c.shape("Input").rank() - 2)),
        in(c.in<T>("Input")),
        copies(c.workspace<T>(n * n * count)) {}
  Rows<T> copy(int64_t i) const {
    std::copy_n(in.data() + i * n * n, n * n, copies.data() + i * n * n);
    return {copies.data() + i * n * n, n};
  }
};

constexpr auto inverse_forward = []<typename T>(PrepareContext& c) -> Step {
  return [all = Matrices<T>(c), out = c.out<T>("Output")] {
    parallel_for(all.count, all.n * all.n * all.n * 2, [&, n = all.n](int64_t i) {
      const Rows<T> a = all.copy(i), made = {out.data() + i * n * n, n};
      std::fill_n(made.data, n * n, T{0});
      for (int64_t k = 0; k < n; ++k) made[k][k] = 1;
      triangulate(a, n, made);
      for (int64_t k = n; k-- > 0;) {
        require(a[k][k] != 0, "Input holds a matrix that has no inverse");
        for (int64_t j = 0; j < n; ++j) made[k][j] /= a[k][k];
        for (int64_t above = 0; above < k; ++above) made.subtract(above, a[above][k], k);
      }
    });
  };
};

// finish(number, sign of the exchanges, the pivots as rows of a triangle)
template <typename T, typename Finish>
Step over_pivots(PrepareContext& c, Finish finish) {
  return [all = Matrices<T>(c), finish, out = c.out<T>("Out")] {
    parallel_for(all.count, all.n * all.n * all.n, [&](int64_t i) {
      const Rows<T> a = all.copy(i);
      const T sign = triangulate(a, all.n, Rows<T>());
      finish(all, a, sign, out.data() + i);
    });
  };
}

constexpr auto determinant_forward = []<typename T>(PrepareContext& c) -> Step {
  return over_pivots<T>(c, [](const Matrices<T>& all, Rows<T> a, T sign, T* out) {
    *out = sign;
    for (int64_t k = 0; k < all.n; ++k) *out *= a[k][k];
  });
};

// All signs, then the logarithms of what they are the signs of.
constexpr auto log_forward = []<typename T>(PrepareContext& c) -> Step {
  return over_pivots<T>(c, [](const Matrices<T>& all, Rows<T> a, T sign, T* out) {
    T& log = out[all.count] = 0;
    for (int64_t k = 0; k < all.n; ++k) {
      sign *= static_cast<T>((a[k][k] > 0) - (a[k][k] < 0));
      log += std::log(std::abs(a[k][k]));
    }
    *out = sign;
  });
};

std::string product(LowerContext& c, const std::string& x, bool trans_x, const std::string& y,
                    bool trans_y) {
  return c.apply("matmul_v2", x, y, {{"trans_x", trans_x}, {"trans_y", trans_y}});
}

void lower_inverse_grad(LowerContext& c) {
  const std::string left = product(c, c.in("Output"), true, c.in("Output@GRAD"), false);
  c.result("Input@GRAD", c.scale(product(c, left, false, c.in("Output"), true), -1));
}

// `factors`, one for each matrix, times the transposed inverse.
void give_transposed(LowerContext& c, std::string factors) {
  // It refuses what holds no matrices.
  const std::string inverse = c.append("inverse", {{"Input", {c.in("Input")}}});
  const auto rank = static_cast<int32_t>(c.shape("Input").rank());
  const std::vector<int32_t> ends = {rank - 2, rank - 1};
  std::vector<int32_t> axes;
  for (int32_t a = 0; a < rank; ++a) axes.push_back(a);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  if (rank > 2) factors = c.apply("unsqueeze2", factors, {{"axes", ends}});
  c.result("Input@GRAD", c.mul(c.apply("transpose2", inverse, {{"axis", axes}}), factors));
}

void lower_determinant_grad(LowerContext& c) {
  give_transposed(c, c.mul(c.in("Out@GRAD"), c.in("Out")));
}

// The sign has no slope.
void lower_log_grad(LowerContext& c) {
  give_transposed(c, c.slice(c.in("Out@GRAD"), 0, 1, 2, c.shape("Input").rank() > 2));
}

const Slot kInput = {.name = "Input", .doc = "square matrices in the last two axes"};

const OpDef& inverse = define_op({
    .type = "inverse",
    .doc = "The inverse of matrices.",
    .inputs = {kInput},
    .outputs = {{.name = "Output", .doc = "same shape as Input"}},
    .infer = infer_inverse,
    .grad = grad_op({"Output"},
                    {.lower = lower_inverse_grad,
                     .infer = [](InferContext& c) { c.out("Input@GRAD") = like(c.in("Output")); }}),
    .kernels = kernels_for<float, double>(inverse_forward),
});

const OpDef& define(std::string type, std::string doc, std::string out,
                    void (*infer)(InferContext&), void (*lower_grad)(LowerContext&),
                    std::vector<Kernel> kernels) {
  return define_op({.type = std::move(type),
                    .doc = std::move(doc),
                    .inputs = {kInput},
                    .outputs = {{.name = "Out", .doc = std::move(out)}},
                    .infer = infer,
                    .grad = grad_op({"Input", "Out"}, {.lower = lower_grad}),
                    .kernels = std::move(kernels)});
}

const OpDef& determinant = define(
    "determinant", "The determinant of matrices.", "a number for each matrix", infer_determinant,
    lower_determinant_grad, kernels_for<float, double>(determinant_forward));

const OpDef& slogdeterminant = define(
    "slogdeterminant", "The sign of the determinant of matrices, and the logarithm of its size.",
    "[2, a number for each matrix]: signs, logarithms", infer_log, lower_log_grad,
    kernels_for<float, double>(log_forward));

}  // namespace
}  // namespace flotilla::ops
