// flotilla/ops/math/bilinear_tensor_product.cc
//
// bilinear_tensor_product: Out[n, k] = X[n] Weight[k] Y[n]^T + Bias[k], Weight of [size, width of
// X, width of Y].

#include <algorithm>
#include <vector>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape, &w = c.in("Weight").shape;
  require(x.rank() == 2 && y.rank() == 2 && w.rank() == 3 && (x[1] < 0 || x[1] == w[1]) &&
              (y[1] < 0 || y[1] == w[2]),
          "Weight must have shape [size, {}, {}] for X {} and Y {}, but has {}",
          x.rank() > 1 ? x[1] : -1, y.rank() > 1 ? y[1] : -1, x, y, w);
  require(x[0] < 0 || y[0] < 0 || x[0] == y[0],
          "X and Y must have as many rows, but have shapes {} and {}", x, y);
  require(!c.has_in("Bias") || c.in("Bias").shape.numel() == w[0],
          "Bias must hold {} numbers, but has shape {}", w[0],
          c.has_in("Bias") ? c.in("Bias").shape : Shape());
  c.out("Out") = VarMeta::tensor(c.dtype("X"), Shape{x[0], w[0]});
}

struct Sizes {
  int64_t rows, size, left, right;

  explicit Sizes(PrepareContext& c)
      : rows(c.shape("X")[0]),
        size(c.shape("Weight")[0]),
        left(c.shape("Weight")[1]),
        right(c.shape("Weight")[2]) {}
  int64_t work() const { return left * right; }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Sizes(c), x = c.in<T>("X"), y = c.in<T>("Y"), w = c.in<T>("Weight"),
          b = given<T>(c, "Bias"), out = c.out<T>("Out")] {
    parallel_for(s.rows * s.size, s.work(), [&](int64_t at) {
      const int64_t n = at / s.size, k = at % s.size;
      const T* right = y.data() + n * s.right;
      T sum = b ? b.data()[k] : T{0};
      for (int64_t i = 0; i < s.left; ++i) {
        const T* row = w.data() + (k * s.left + i) * s.right;
        T part = 0;
        for (int64_t j = 0; j < s.right; ++j) part += row[j] * right[j];
        sum += x.data()[n * s.left + i] * part;
      }
      out.data()[at] = sum;
    });
  };
};

// dX[n, i] = sum of dOut[n, k] Weight[k, i, j] Y[n, j], and likewise dY.
template <typename T>
Step sides(PrepareContext& c, const Sizes& s) {
  return [s, x = c.in<T>("X"), y = c.in<T>("Y"), w = c.in<T>("Weight"), g = c.in<T>("Out@GRAD"),
          dx = wanted<T>(c, "X@GRAD"), dy = wanted<T>(c, "Y@GRAD")] {
    parallel_for(s.rows, s.size * s.work() * 2, [&](int64_t n) {
      const T *left = x.data() + n * s.left, *right = y.data() + n * s.right;
      if (dx) std::fill_n(dx.data() + n * s.left, s.left, T{0});
      if (dy) std::fill_n(dy.data() + n * s.right, s.right, T{0});
      for (int64_t k = 0; k < s.size; ++k) {
        const T factor = g.data()[n * s.size + k];
        for (int64_t i = 0; i < s.left; ++i) {
          const T* row = w.data() + (k * s.left + i) * s.right;
          T part = 0;
          for (int64_t j = 0; j < s.right; ++j) part += row[j] * right[j];
          if (dx) dx.data()[n * s.left + i] += factor * part;
          if (!dy) continue;
          for (int64_t j = 0; j < s.right; ++j) {
            dy.data()[n * s.right + j] += factor * left[i] * row[j];
          }
        }
      }
    });
  };
}

// dWeight[k, i, j] = sum over rows of dOut[n, k] X[n, i] Y[n, j]; dBias = sum of dOut.
template <typename T>
Step parameters(PrepareContext& c, const Sizes& s) {
  return [s, x = c.in<T>("X"), y = c.in<T>("Y"), g = c.in<T>("Out@GRAD"),
          dw = wanted<T>(c, "Weight@GRAD"), db = wanted<T>(c, "Bias@GRAD")] {
    parallel_for(dw ? s.size * s.left : 0, s.rows * s.right, [&](int64_t at) {
      T* to = dw.data() + at * s.right;
      std::fill_n(to, s.right, T{0});
      for (int64_t n = 0; n < s.rows; ++n) {
        const T factor = g.data()[n * s.size + at / s.left] * x.data()[n * s.left + at % s.left];
        for (int64_t j = 0; j < s.right; ++j) to[j] += factor * y.data()[n * s.right + j];
      }
    });
    for (int64_t k = 0; db && k < s.size; ++k) {
      T sum = 0;
      for (int64_t n = 0; n < s.rows; ++n) sum += g.data()[n * s.size + k];
      db.data()[k] = sum;
    }
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Sizes s(c);
  return [sides = sides<T>(c, s), parameters = parameters<T>(c, s)] {
    sides();
    parameters();
  };
};

const OpDef& bilinear_tensor_product = define_op({
    .type = "bilinear_tensor_product",
    .doc = "Numbers that are linear in X and in Y.",
    .inputs = {{.name = "X", .doc = "[rows, width]"},
               {.name = "Y", .doc = "[rows, another width]"},
               {.name = "Weight", .doc = "[size, width, other width]"},
               {.name = "Bias", .doc = "[1, size]", .optional = true}},
    .outputs = {{.name = "Out", .doc = "[rows, size]"}},
    .infer = infer,
    .grad = grad_op({"X", "Y", "Weight", shape_of("Bias")},
                    {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
