// p_norm: the p-norm of each slice along an axis.

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/infer.h"
#include "flotilla/ops/common/p_norm_formulas.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

void infer_norm(InferContext& c) {
  const VarMeta& x = c.in("X");
  c.out("Out") =
      VarMeta::tensor(x.dtype, without_axis(x.shape, c.attr<int64_t>("axis"),
                                            c.attr<bool>("asvector"), c.attr<bool>("keepdim")));
}

// Added up as doubles: a long row has too many for floats.
template <typename T>
T norm_of(const T* x, int64_t n, int64_t stride, const PNorm& norm) {
  double total = norm.start();
  for (int64_t i = 0; i < n; ++i) total = norm.fold(total, norm.term(x[i * stride]));
  return static_cast<T>(norm.end(total));
}

constexpr auto norm_forward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("asvector"));
  return [s, p = PNorm{c.attr<double>("porder")}, in = c.in<T>("X"), out = c.out<T>("Out")] {
    const T* x = in.data();
    T* to = out.data();
    parallel_for(s.count(), s.n,
                 [=](int64_t slice) { to[slice] = norm_of(x + s.begin(slice), s.n, s.stride, p); });
  };
};

constexpr auto norm_backward = []<typename T>(PrepareContext& c) -> Step {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("asvector"));
  return [s, p = static_cast<T>(c.attr<float>("porder")),
          epsilon = static_cast<T>(c.attr<float>("epsilon")), in = c.in<T>("X"),
          out = c.in<T>("Out"), dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T *x = in.data(), *norm = out.data(), *g = dout.data();
    T* dx = din.data();
    parallel_for(s.count(), s.n, [=](int64_t slice) {
      const int64_t begin = s.begin(slice);
      for (int64_t i = begin; i < begin + s.n * s.stride; i += s.stride) {
        dx[i] = g[slice] * norm_slope(x[i], norm[slice], p, epsilon);
      }
    });
  };
};

const OpDef& p_norm = define_op({
    .type = "p_norm",
    .doc = "The p-norm of each slice.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "X without the axis"}},
    .attrs = {{"porder", 2.0f,
               "p; 0 counts elements that are not zero, infinity takes the largest"},
              {"axis", int32_t{-1}, "direction of a slice"},
              {"epsilon", 1e-12f, "keeps the gradient finite at zero"},
              {"keepdim", false, "the axis stays, with extent 1"},
              {"asvector", false, "X as one long row"}},
    .infer = infer_norm,
    .grad = grad_op({"X", "Out"}, {.kernels = kernels_for<float, double>(norm_backward)}),
    .kernels = kernels_for<float, double>(norm_forward),
});

}  // namespace
}  // namespace flotilla::ops
