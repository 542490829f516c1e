// flotilla/ops/math/addmm.cc
//
// addmm: Out = Beta Input + Alpha X Y for matrices X and Y; Input is repeated where it is smaller.

#include "flotilla/ops/math/elementwise.h"
#include "flotilla/ops/math/product.h"
#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &y = c.in("Y").shape;
  require(x.rank() == 2 && y.rank() == 2 && (x[1] == y[0] || x[1] == -1 || y[0] == -1),
          "addmm multiplies an m x k with a k x n matrix, but X is {} and Y is {}", x, y);
  const Shape out = {x[0], y[1]};
  const Shape& input = c.in("Input").shape;
  require(input.rank() <= 2 && broadcast(out, input, -1).rank() == 2 &&
              (!out.known() || broadcast(out, input, -1) == out),
          "Input must repeat to the shape {} of the product, but has shape {}", out, input);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), out);
}

template <typename T>
void scale_by(T* values, int64_t n, T factor) {
  if (factor == T{1}) return;
  for (int64_t i = 0; i < n; ++i) values[i] *= factor;
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape &x = c.shape("X"), &out = c.shape("Out");
  const T alpha = c.attr<float>("Alpha"), beta = c.attr<float>("Beta");
  const Walk walk(out, {}, out, aligned(c.shape("Input"), -1, 2));
  return [product = Product<T>(c, {.m = x[0], .n = out[1], .k = x[1]}), walk, alpha, beta,
          in = c.in<T>("Input"), a = c.in<T>("X"), b = c.in<T>("Y"), to = c.out<T>("Out")] {
    T* y = to.data();
    const T* input = in.data();
    product.run(a.data(), b.data(), y);
    const BlockStrides s = strides_of(walk);
    walk.run([=](const WalkBlock& block) {
      for (int64_t r = 0; r < block.rows; ++r) {
        T* row = y + block.out + r * block.columns;
        const T* add = input + block.y + r * s.y_row;
        for (int64_t i = 0; i < block.columns; ++i) {
          row[i] = alpha * row[i] + beta * add[i * s.y_column];
        }
      }
    });
  };
};

// dInput = Beta fold(dOut), dX = Alpha dOut Y^T, dY = Alpha X^T dOut
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape &x = c.shape("X"), &y = c.shape("Y"), &out = c.shape("Out@GRAD");
  const int64_t m = x[0], k = x[1], n = y[1];
  const T alpha = c.attr<float>("Alpha"), beta = c.attr<float>("Beta");
  Step input, dx, dy;
  if (c.has("Input@GRAD")) {
    const FoldPlan fold(out, {}, aligned(c.shape("Input"), -1, 2));
    input = [fold, beta, work = c.workspace<T>(fold.workspace()), dout = c.in<T>("Out@GRAD"),
             to = c.out<T>("Input@GRAD")] {
      fold.run<SumFold>(dout.data(), to.data(), work.data(), [=](T sum) { return beta * sum; });
    };
  }
  if (c.has("X@GRAD")) {
    dx = [product = Product<T>(c, {.m = m, .n = k, .k = n, .transpose_b = true}), count = m * k,
          alpha, dout = c.in<T>("Out@GRAD"), other = c.in<T>("Y"), to = c.out<T>("X@GRAD")] {
      product.run(dout.data(), other.data(), to.data());
      scale_by(to.data(), count, alpha);
    };
  }
  if (c.has("Y@GRAD")) {
    dy = [product = Product<T>(c, {.m = k, .n = n, .k = m, .transpose_a = true}), count = k * n,
          alpha, dout = c.in<T>("Out@GRAD"), other = c.in<T>("X"), to = c.out<T>("Y@GRAD")] {
      product.run(other.data(), dout.data(), to.data());
      scale_by(to.data(), count, alpha);
    };
  }
  return [input, dx, dy] {
    if (input) input();
    if (dx) dx();
    if (dy) dy();
  };
};

const std::vector<AttrSpec> kAttrs = {{"Alpha", 1.0f, "factor of the product"},
                                      {"Beta", 1.0f, "factor of Input"}};

const OpDef& addmm = define_op({
    .type = "addmm",
    .doc = "Out = Beta * Input + Alpha * X Y.",
    .inputs = {{.name = "Input", .doc = "repeats to the shape of the product"},
               {.name = "X", .doc = "m x k"},
               {.name = "Y", .doc = "k x n"}},
    .outputs = {{.name = "Out", .doc = "m x n"}},
    .attrs = kAttrs,
    .infer = infer,
    .grad =
        grad_op({shape_of("Input"), "X", "Y"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
