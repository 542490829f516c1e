// flotilla/ops/math/cumprod.cc
//
// cumprod: each element times all that come before it along an axis. The gradient divides by
// nothing, so that zeros in X need no care:
//
//   Out[i] = X[0] ... X[i]
//   S[i]   = dOut[i] + X[i + 1] S[i + 1]
//   dX[i]  = Out[i - 1] S[i]

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  if (x.shape.rank() > 0) check_axis("X", x.shape, c.attr<int64_t>("dim"));
  c.out("Out") = like(x);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return
      [s = slices(c.shape("X"), c.attr<int64_t>("dim")), in = c.in<T>("X"), out = c.out<T>("Out")] {
        const T* x = in.data();
        T* y = out.data();
        parallel_for(s.count(), s.n, [=](int64_t slice) {
          T product = 1;
          for (int64_t i = s.begin(slice); i < s.end(slice); i += s.stride) {
            product *= x[i];
            y[i] = product;
          }
        });
      };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [s = slices(c.shape("X"), c.attr<int64_t>("dim")), in = c.in<T>("X"), out = c.in<T>("Out"),
          dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T *x = in.data(), *y = out.data(), *dy = dout.data();
    T* dx = din.data();
    parallel_for(s.count(), s.n * 2, [=](int64_t slice) {
      const int64_t begin = s.begin(slice);
      T after = 0;  // X[i + 1] S[i + 1]
      for (int64_t i = s.end(slice) - s.stride; i >= begin; i -= s.stride) {
        const T sum = dy[i] + after;
        dx[i] = i == begin ? sum : y[i - s.stride] * sum;
        after = x[i] * sum;
      }
    });
  };
};

const OpDef& cumprod = define_op({
    .type = "cumprod",
    .doc = "Each element times all that come before it along the axis.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"dim", int32_t{-1}, "direction of the products"}},
    .infer = infer,
    .grad = grad_op({"X", "Out"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
