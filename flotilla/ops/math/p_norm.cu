// flotilla/ops/math/p_norm.cu
//
// p_norm on a GPU, from the same formulas.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/p_norm_formulas.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

// X as [outer, n, stride], and the same with its slices folded.
struct Folded {
  Shape x, to;

  explicit Folded(const PrepareContext& c) {
    const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("asvector"));
    x = {s.outer, s.n, s.stride};
    to = {s.outer, 1, s.stride};
  }
};

template <typename T>
struct LoadTerm {
  const T* x;
  PNorm norm;
  __device__ double operator()(int64_t from, int64_t, int64_t) const { return norm.term(x[from]); }
};

template <typename T>
struct StoreNorm {
  T* y;
  PNorm norm;
  __device__ void operator()(int64_t to, double total) const {
    // The norm of nothing is what the CPU starts from.
    y[to] = static_cast<T>(norm.end(norm.fold(norm.start(), total)));
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Folded shapes(c);
  const GpuFold fold(shapes.x, shapes.to);
  return [fold, norm = PNorm{c.attr<double>("porder")}, stream = c.around().stream,
          in = c.in<T>("X"), work = c.workspace<double>(fold.workspace()), out = c.out<T>("Out")] {
    const LoadTerm<T> load = {in.data(), norm};
    const StoreNorm<T> store = {out.data(), norm};
    if (!std::isinf(norm.p)) {
      fold.run<SumFold, double>(stream, load, store, work.data());
    } else if (norm.p > 0) {
      fold.run<MaxFold, double>(stream, load, store, work.data());
    } else {
      fold.run<MinFold, double>(stream, load, store, work.data());
    }
  };
};

template <typename T>
struct Slope {
  const T *x, *norm, *dout;
  T* dx;
  T p, epsilon;
  __device__ void operator()(int64_t i, int64_t to) const {
    dx[i] = dout[to] * norm_slope(x[i], norm[to], p, epsilon);
  }
};

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Folded shapes(c);
  return [spread = GpuSpread(c, shapes.x, shapes.to), p = static_cast<T>(c.attr<float>("porder")),
          epsilon = static_cast<T>(c.attr<float>("epsilon")), in = c.in<T>("X"),
          out = c.in<T>("Out"), dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    spread.run(Slope<T>{in.data(), out.data(), dout.data(), dx.data(), p, epsilon});
  };
};

[[maybe_unused]] const bool kPNorm =
    add_kernels("p_norm", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("p_norm_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
