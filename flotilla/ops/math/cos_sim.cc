// flotilla/ops/math/cos_sim.cc
//
// cos_sim: Out[n] = X[n] . Y[n] / (|X[n]| |Y[n]|), the cosine of the angle between two rows; one
// row of Y meets all of X. XNorm and YNorm are the lengths, at least 1e-4.

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.shape.rank() >= 2 && x.shape.rank() == y.shape.rank(),
          "X and Y must have one rank of 2 or more, but have shapes {} and {}", x.shape, y.shape);
  for (int64_t a = 0; a < x.shape.rank(); ++a) {
    const int64_t of_x = x.shape[a], of_y = y.shape[a];
    require(of_x < 0 || of_y < 0 || of_x == of_y || (a == 0 && of_y == 1),
            "Y must have the shape of X, or one row of it, but they are {} and {}", y.shape,
            x.shape);
  }
  c.out("Out") = like(x, {x.shape[0], 1});
  c.out("XNorm") = VarMeta::tensor(x.dtype, {x.shape[0], 1});
  c.out("YNorm") = VarMeta::tensor(x.dtype, {y.shape[0], 1});
}

struct Rows {
  int64_t count = 0, width = 0;
  bool single = false;  // one row of Y for all of X

  explicit Rows(const PrepareContext& c)
      : count(c.shape("X")[0]),
        width(c.shape("X").numel(1, c.shape("X").rank())),
        single(c.shape("Y")[0] == 1 && count != 1) {}
  int64_t y_row(int64_t row) const { return single ? 0 : row; }
};

template <typename T>
T dot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename T>
T length_of(const T* row, int64_t n) {
  return std::sqrt(std::max(dot(row, row, n), T{1e-8}));
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = Rows(c), in_x = c.in<T>("X"), in_y = c.in<T>("Y"), out = c.out<T>("Out"),
          x_norm = c.out<T>("XNorm"), y_norm = c.out<T>("YNorm")] {
    const T *x = in_x.data(), *y = in_y.data();
    if (rows.single) *y_norm.data() = length_of(y, rows.width);
    parallel_for(rows.count, rows.width * 6, [&](int64_t row) {
      const T* a = x + row * rows.width;
      const T* b = y + rows.y_row(row) * rows.width;
      T* of_y = y_norm.data() + rows.y_row(row);
      if (!rows.single) *of_y = length_of(b, rows.width);
      x_norm.data()[row] = length_of(a, rows.width);
      out.data()[row] = dot(a, b, rows.width) / (x_norm.data()[row] * *of_y);
    });
  };
};

// to += scale * (other / (|own| |other|) - out * own / |own|^2)
template <typename T>
struct Side {
  const T* own;
  const T* other;
  T own_norm, other_norm, out, scale;

  void add_to(T* to, int64_t n) const {
    const T across = scale / (own_norm * other_norm), along = scale * out / (own_norm * own_norm);
    for (int64_t i = 0; i < n; ++i) to[i] += across * other[i] - along * own[i];
  }
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [rows = Rows(c), in_x = c.in<T>("X"), in_y = c.in<T>("Y"), out = c.in<T>("Out"),
          x_norm = c.in<T>("XNorm"), y_norm = c.in<T>("YNorm"), dout = c.in<T>("Out@GRAD"),
          dx = wanted<T>(c, "X@GRAD"), dy = wanted<T>(c, "Y@GRAD")] {
    const int64_t width = rows.width;
    if (dx) std::fill_n(dx.data(), rows.count * width, T{0});
    if (dy) std::fill_n(dy.data(), (rows.single ? 1 : rows.count) * width, T{0});
    const auto row_of = [&](int64_t row) {
      const int64_t y_row = rows.y_row(row);
      const T *x = in_x.data() + row * width, *y = in_y.data() + y_row * width;
      const T a = x_norm.data()[row], b = y_norm.data()[y_row];
      const T cosine = out.data()[row], scale = dout.data()[row];
      if (dx) Side<T>{x, y, a, b, cosine, scale}.add_to(dx.data() + row * width, width);
      if (dy) Side<T>{y, x, b, a, cosine, scale}.add_to(dy.data() + y_row * width, width);
    };
    // Gradients of a single row add up: in order, in one thread.
    if (rows.single && dy) {
      for (int64_t row = 0; row < rows.count; ++row) row_of(row);
    } else {
      parallel_for(rows.count, width * 8, row_of);
    }
  };
};

const std::vector<AttrSpec> kAttrs = {
    {"@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true, "of programs of 1.8; not used"}};

const OpDef& cos_sim = define_op({
    .type = "cos_sim",
    .doc = "The cosines of the angles between the rows of X and of Y.",
    .inputs = {{.name = "X", .doc = "[rows, ...]"}, {.name = "Y", .doc = "as X, or one row"}},
    .outputs = {{.name = "Out", .doc = "[rows, 1]"},
                {.name = "XNorm", .doc = "lengths of the rows of X", .no_grad = true},
                {.name = "YNorm", .doc = "lengths of the rows of Y", .no_grad = true}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op({"X", "Y", "XNorm", "YNorm", "Out"},
                    {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
