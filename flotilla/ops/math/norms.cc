// flotilla/ops/math/norms.cc
//
// squared_l2_norm and clip_by_norm, which gradient clipping stands on, and dot.

#include <cmath>

#include "flotilla/ops/common/binary_formulas.h"
#include "flotilla/ops/math/elementwise.h"
#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

// The sum of n squares, piece by piece as FoldPlan adds: the same bits on any number of threads.
template <typename T>
class SquareSum {
 public:
  SquareSum(PrepareContext& c, int64_t n) : n_(n), work_(c.workspace<T>((n + kRun - 1) / kRun)) {}

  T of(const T* x) const {
    T* sums = work_.data();
    const int64_t runs = (n_ + kRun - 1) / kRun;
    parallel_ranges(runs, 2, [=, this](int64_t begin, int64_t end) {
      simd([=, this] {
        T squares[kRun];
        for (int64_t run = begin; run < end; ++run) {
          const T* from = x + run * kRun;
          const int64_t size = std::min(kRun, n_ - run * kRun);
          for (int64_t i = 0; i < size; ++i) squares[i] = from[i] * from[i];
          sums[run] = fold_run<SumFold>(squares, size);
        }
      });
    });
    return fold_run<SumFold>(sums, runs);
  }

 private:
  int64_t n_;
  Out<T> work_;
};

// ---- squared_l2_norm ----------------------------------------------------------------------------

void infer_one(InferContext& c) { c.out("Out") = VarMeta::tensor(c.dtype("X"), {1}); }

// Padding is zero and adds nothing, so any layout will do.
constexpr auto squared_forward = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("X");
  return [sum = SquareSum<T>(c, layout.physical_numel(c.shape("X"))), in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out")] { *out.data() = sum.of(in.data()); };
};

constexpr auto squared_backward = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("X");
  const int64_t n = layout.physical_numel(c.shape("X"));
  return [walk = Walk({n}, {}, {n}, {1}), in = c.in<T>("X", 0, layout), dout = c.in<T>("Out@GRAD"),
          din = c.out<T>("X@GRAD", 0, layout)] {
    const T factor = T{2} * *dout.data();
    apply<binary::Mul>(walk, in.data(), &factor, din.data());
  };
};

const OpDef& squared_l2_norm = define_op({
    .type = "squared_l2_norm",
    .doc = "The sum of the squares of all elements.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of shape [1]"}},
    .infer = infer_one,
    .grad = grad_op({"X"}, {.kernels = kernels_for<float, double>(squared_backward)}),
    .kernels = kernels_for<float, double>(squared_forward),
});

// ---- clip_by_norm -------------------------------------------------------------------------------

void infer_clip(InferContext& c) { c.out("Out") = like(c.in("X")); }

constexpr auto clip_forward = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.layout("X");
  const int64_t n = layout.physical_numel(c.shape("X"));
  c.in_place("X", "Out");
  return [walk = Walk({n}, {}, {n}, {1}), sum = SquareSum<T>(c, n),
          most = static_cast<T>(c.attr<float>("max_norm")), in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out", 0, layout)] {
    const T norm = std::sqrt(sum.of(in.data()));
    const T factor = norm > most ? most / norm : T{1};
    apply<binary::Mul>(walk, in.data(), &factor, out.data());
  };
};

const OpDef& clip_by_norm = define_op({
    .type = "clip_by_norm",
    .doc = "X, made shorter where its length exceeds `max_norm`.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"max_norm", 1.0f, "the largest length"}},
    .infer = infer_clip,
    .kernels = kernels_for<float, double>(clip_forward),
});

// ---- dot ----------------------------------------------------------------------------------------

// The last axis disappears; a product of two vectors has shape [1].
Shape dot_shape(const Shape& x) {
  Shape out(std::vector<int64_t>(x.begin(), x.begin() + std::max<int64_t>(0, x.rank() - 1)));
  if (out.rank() == 0) out.push_back(1);
  return out;
}

void infer_dot(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  bool alike = x.shape.rank() == y.shape.rank() && x.shape.rank() > 0 && x.dtype == y.dtype;
  for (int64_t a = 0; alike && a < x.shape.rank(); ++a) {
    alike = x.shape[a] == y.shape[a] || x.shape[a] == -1 || y.shape[a] == -1;
  }
  require(alike, "X and Y of dot must be alike, but are {}{} and {}{}", x.dtype, x.shape, y.dtype,
          y.shape);
  c.out("Out") = VarMeta::tensor(x.dtype, dot_shape(x.shape));
}

constexpr auto dot_forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const int64_t n = x[x.rank() - 1], rows = x.numel(0, x.rank() - 1);
  return [n, rows, x = c.in<T>("X"), y = c.in<T>("Y"), out = c.out<T>("Out")] {
    const T *a = x.data(), *b = y.data();
    T* to = out.data();
    parallel_for(rows, n, [=](int64_t row) {
      T sum = 0;
      for (int64_t i = row * n; i < (row + 1) * n; ++i) sum += a[i] * b[i];
      to[row] = sum;
    });
  };
};

// dX = dOut Y, dY = dOut X, row by row.
constexpr auto dot_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X");
  const int64_t n = x[x.rank() - 1], rows = x.numel(0, x.rank() - 1);
  const Walk walk({rows, n}, {}, {rows, n}, {rows, 1});
  const auto side = [&](std::string_view other, std::string_view grad) -> Step {
    if (!c.has(grad)) return {};
    return [walk, from = c.in<T>(other), dout = c.in<T>("Out@GRAD"), to = c.out<T>(grad)] {
      apply<binary::Mul>(walk, from.data(), dout.data(), to.data());
    };
  };
  return [dx = side("Y", "X@GRAD"), dy = side("X", "Y@GRAD")] {
    if (dx) dx();
    if (dy) dy();
  };
};

const OpDef& dot = define_op({
    .type = "dot",
    .doc = "The inner product of X and Y along the last axis.",
    .inputs = {{.name = "X", .doc = "vector or rows"}, {.name = "Y", .doc = "the same"}},
    .outputs = {{.name = "Out", .doc = "X without its last axis"}},
    .infer = infer_dot,
    .grad = grad_op({"X", "Y"}, {.kernels = kernels_for<float, double>(dot_backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(dot_forward),
});

}  // namespace
}  // namespace flotilla::ops
