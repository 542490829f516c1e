// flotilla/ops/math/lerp.cc
//
// lerp: Out = X + Weight (Y - X), each repeated to the shape of all. As in Paddle no gradient goes
// to Weight:
//
//   dX = (1 - Weight) dOut;  dY = Weight dOut

#include "flotilla/ops/math/elementwise.h"
#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

struct Difference {
  template <typename T>
  static T f(T x, T y) {
    return y - x;
  }
};

struct Between {
  template <typename T>
  static T f(T x, T weight, T difference, T) {
    return x + weight * difference;
  }
};

struct ShareOfX {
  template <typename T>
  static T f(T weight, T g) {
    return (1 - weight) * g;
  }
};

struct ShareOfY {
  template <typename T>
  static T f(T weight, T g) {
    return weight * g;
  }
};

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  for (const char* slot : {"Y", "Weight"}) {
    require(c.dtype(slot) == x.dtype, "X and {} must have one dtype, but hold {} and {}", slot,
            x.dtype, c.dtype(slot));
  }
  const Shape both = broadcast(x.shape, c.in("Y").shape, -1);
  c.out("Out") = like(x, broadcast(both, c.in("Weight").shape, -1));
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& out = c.shape("Out");
  const auto seen = [&](std::string_view slot) { return aligned(c.shape(slot), -1, out.rank()); };
  return
      [pairs = Walk(out, {}, seen("X"), seen("Y")), walk = Walk(out, {}, seen("X"), seen("Weight")),
       x = c.in<T>("X"), y = c.in<T>("Y"), weight = c.in<T>("Weight"), to = c.out<T>("Out")] {
        const T *a = x.data(), *w = weight.data();
        T* o = to.data();
        apply<Difference>(pairs, a, y.data(), o);
        const BlockStrides strides = strides_of(walk);
        walk.run([=](const WalkBlock& b) {
          simd([=] {
            apply_grad_rows<Between>(a + b.x, w + b.y, o + b.out, o + b.out, o + b.out, b.rows,
                                     b.columns, strides);
          });
        });
      };
};

// slot@GRAD = fold(F::f(Weight, dOut))
template <typename F, typename T>
Step side(PrepareContext& c, const std::string& slot) {
  if (!c.has(slot + "@GRAD")) return [] {};
  const Shape out = broadcast(broadcast(c.shape("X"), c.shape("Y"), -1), c.shape("Weight"), -1);
  const FoldPlan fold(out, {}, aligned(c.shape(slot), -1, out.rank()));
  return [fold, walk = Walk(out, {}, aligned(c.shape("Weight"), -1, out.rank()), out),
          whole = c.workspace<T>(out.numel()), work = c.workspace<T>(fold.workspace()),
          weight = c.in<T>("Weight"), dout = c.in<T>("Out@GRAD"), to = c.out<T>(slot + "@GRAD")] {
    apply<F>(walk, weight.data(), dout.data(), whole.data());
    fold.run<SumFold>(whole.data(), to.data(), work.data(), [](T sum) { return sum; });
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [dx = side<ShareOfX, T>(c, "X"), dy = side<ShareOfY, T>(c, "Y")] {
    dx();
    dy();
  };
};

const OpDef& lerp = define_op({
    .type = "lerp",
    .doc = "Out = X + Weight * (Y - X), element by element.",
    .inputs = {{.name = "X", .doc = "tensor"},
               {.name = "Y", .doc = "tensor"},
               {.name = "Weight", .doc = "tensor", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "of the common shape"}},
    .infer = infer,
    .grad = grad_op(
        {shape_of("X"), shape_of("Y"), "Weight", "Out"},
        {.kernels = kernels_for<float, double>(backward),
         .inputs =
             {{.name = "Out", .doc = "result of the op", .optional = true, .shape_only = true}}}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
