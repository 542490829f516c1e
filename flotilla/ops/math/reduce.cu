// flotilla/ops/math/reduce.cu
//
// The operators of reduce.cc on a GPU, from the same formulas.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/math/folded_axes.h"

namespace flotilla::ops {
namespace {

Shape folded_shape(const PrepareContext& c) {
  const Shape& x = c.shape("X");
  return FoldedAxes(c, x, "dim").with_ones();
}

// ---- Forward ------------------------------------------------------------------------------------

// Elements as another type.
template <typename T, typename To>
struct LoadAs {
  const T* x;
  __device__ To operator()(int64_t from, int64_t, int64_t) const {
    return static_cast<To>(widen(x[from]));
  }
};

template <typename T>
struct LoadSquare {
  const T* x;
  __device__ Compute<T> operator()(int64_t from, int64_t, int64_t) const {
    return widen(x[from]) * widen(x[from]);
  }
};

struct Root {
  template <typename T>
  FLT_FN T operator()(T total) const {
    return std::sqrt(total);
  }
};

// Out = finish(fold of load(X)); `Load` is made from the address of X.
template <typename Fold, typename Load, typename T, typename R, typename Finish>
Step folding(PrepareContext& c, const Shape& x, const Shape& to, Finish finish,
             const Layout& layout = {}) {
  using Acc = Compute<R>;
  const GpuFold fold(x, to);
  return [fold, finish, stream = c.around().stream, in = c.in<T>("X", 0, layout),
          work = c.workspace<Acc>(fold.workspace()), out = c.out<R>("Out")] {
    fold.run<Fold, Acc>(stream, Load{in.data()}, StoreFinished<R, Finish>{out.data(), finish},
                        work.data());
  };
}

template <typename Fold, typename T>
Step forward(PrepareContext& c) {
  return folding<Fold, LoadElement<T>, T, T>(c, c.shape("X"), folded_shape(c), AsItIs());
}

template <typename T, typename To>
Step converting(PrepareContext& c, Divided end) {
  return folding<SumFold, LoadAs<T, To>, T, To>(c, c.shape("X"), folded_shape(c), end);
}

constexpr auto sum_or_mean = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Shape& x = c.shape("X");
  const Shape to = folded_shape(c);
  const bool is_mean = c.op().type() == "reduce_mean";
  const Divided end = is_mean ? Divided::mean(to.numel(), x.numel()) : Divided();
  const DType out = c.dtype("Out");
  if (out != dtype_of<T>) {
    if (out == f32) return converting<T, float>(c, end);
    if (out == f64) return converting<T, double>(c, end);
    if (out == i32) return converting<T, int32_t>(c, end);
    if (out == i64) return converting<T, int64_t>(c, end);
  }
  if constexpr (std::is_same_v<T, bool>) {
    refuse("{} of bool cannot give {}", c.op().type(), out);
  } else {
    return folding<SumFold, LoadElement<T>, T, T>(c, x, to, end);
  }
};

constexpr auto norm_forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return folding<SumFold, LoadSquare<T>, T, T>(c, c.shape("X"), folded_shape(c), Root());
};

// Padding is zero and adds nothing, so any layout will do.
constexpr auto mean_forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Layout layout = c.layout("X");
  return folding<SumFold, LoadElement<T>, T, T>(c, {layout.physical_numel(c.shape("X"))}, {1},
                                                Divided{c.shape("X").numel()}, layout);
};

// ---- Backward -----------------------------------------------------------------------------------

// Sum and mean: every element of X gets its result's gradient, times `factor`.
template <typename T>
struct Repeat {
  const T* dout;
  T* dx;
  Compute<T> factor;
  __device__ void operator()(int64_t i, int64_t to) const {
    dx[i] = narrow<T>(widen(dout[to]) * factor);
  }
};

template <typename T>
Step repeating(PrepareContext& c, const Shape& to, Compute<T> factor) {
  return [spread = GpuSpread(c, c.shape("X@GRAD"), to), factor, dout = c.in<T>("Out@GRAD"),
          dx = c.out<T>("X@GRAD")] {
    spread.run(Repeat<T>{dout.data(), dx.data(), factor});
  };
}

constexpr auto sum_backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return repeating<T>(c, folded_shape(c), 1);
};

constexpr auto mean_backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Shape to = folded_shape(c);
  return repeating<T>(c, to, mean_factor<T>(to.numel(), c.shape("X").numel()));
};

constexpr auto mean_all_backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Shape& x = c.shape("X");
  return repeating<T>(c, Shape(std::vector<int64_t>(x.dims().size(), 1)),
                      mean_factor<T>(1, x.numel()));
};

// The elements that are the extreme, counted and then given their share.
template <typename T>
struct LoadIsExtreme {
  const T *x, *out;
  __device__ Compute<T> operator()(int64_t from, int64_t to, int64_t) const {
    const Compute<T> value = widen(x[from]);
    return IsExtreme::f(widen(out[to]), Compute<T>{}, value, value);
  }
};

template <typename T>
struct Share {
  const T *x, *out, *dout;
  const Compute<T>* counts;
  T* dx;
  __device__ void operator()(int64_t i, int64_t to) const {
    const Compute<T> value = widen(x[i]), g = widen(dout[to]);
    const Compute<T> extreme = IsExtreme::f(widen(out[to]), g, value, value);
    dx[i] = narrow<T>(ExtremeShare::f(counts[to], g, extreme, value));
  }
};

constexpr auto shared_backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  using C = Compute<T>;
  const Shape& x = c.shape("X");
  const Shape to = folded_shape(c);
  const GpuFold fold(x, to);
  return [fold, spread = GpuSpread(c, x, to), stream = c.around().stream, in = c.in<T>("X"),
          out = c.in<T>("Out"), dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD"),
          work = c.workspace<C>(fold.workspace()), counts = c.workspace<C>(to.numel())] {
    fold.run<SumFold, C>(stream, LoadIsExtreme<T>{in.data(), out.data()},
                         StoreFinished<C, AsItIs>{counts.data(), {}}, work.data());
    spread.run(Share<T>{in.data(), out.data(), dout.data(), counts.data(), dx.data()});
  };
};

template <typename F>
constexpr auto element_backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return gpu_fold_backward<F, T>(c, folded_shape(c));
};

// ---- Kernels ------------------------------------------------------------------------------------

template <typename Fold>
std::vector<Kernel> numbers() {
  return cuda_kernels_for<float, double, Half, BFloat16, int32_t, int64_t>(
      []<typename T>(PrepareContext& c, Of<T>) { return forward<Fold, T>(c); });
}

[[maybe_unused]] const bool kReductions = [] {
  std::vector<Kernel> sums =
      cuda_kernels_for<float, double, Half, BFloat16, int32_t, int64_t>(sum_or_mean);
  add_kernels("reduce_mean", sums);
  sums.push_back(cuda_kernels_for<bool>(sum_or_mean).front());
  add_kernels("reduce_sum", std::move(sums));
  add_kernels("reduce_sum_grad", cuda_floats(sum_backward));
  add_kernels("reduce_mean_grad", cuda_floats(mean_backward));
  for (const char* type : {"reduce_max", "reduce_amax"}) add_kernels(type, numbers<MaxFold>());
  for (const char* type : {"reduce_min", "reduce_amin"}) add_kernels(type, numbers<MinFold>());
  for (const char* type : {"reduce_max_grad", "reduce_min_grad"}) {
    add_kernels(type, cuda_floats(element_backward<ExtremeGrad>));
  }
  for (const char* type : {"reduce_amax_grad", "reduce_amin_grad"}) {
    add_kernels(type, cuda_floats(shared_backward));
  }
  add_kernels("reduce_prod", numbers<ProductFold>());
  add_kernels("reduce_prod_grad", cuda_floats(element_backward<ProductGrad>));
  add_kernels("frobenius_norm", cuda_floats(norm_forward));
  add_kernels("frobenius_norm_grad", cuda_floats(element_backward<NormGrad>));
  add_kernels("reduce_all", {{kCuda, boolean, forward<AllFold, bool>}});
  add_kernels("reduce_any", {{kCuda, boolean, forward<AnyFold, bool>}});
  add_kernels("mean", cuda_floats(mean_forward));
  return add_kernels("mean_grad", cuda_floats(mean_all_backward));
}();

}  // namespace
}  // namespace flotilla::ops
