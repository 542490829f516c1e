// flotilla/ops/math/arg_max_min.cu
//
// arg_max, arg_min on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/slices.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct Found {
  T value;
  int64_t place;
};

template <typename T>
inline constexpr Found<T> kNoneLargest = {kLowest<T>, 0};
template <typename T>
inline constexpr Found<T> kNoneSmallest = {kHighest<T>, 0};

// Of equal elements the first. What is not beyond the finite numbers' end, like NaN, is passed
// over.
template <bool kLargest, typename T>
struct Best {
  template <typename>
  __device__ static Found<T> start() {
    if constexpr (kLargest) return kNoneLargest<T>;
    return kNoneSmallest<T>;
  }
  __device__ static bool beats(T a, T b) { return kLargest ? a > b : a < b; }
  __device__ static Found<T> fold(Found<T> a, Found<T> b) {
    if (beats(a.value, b.value)) return a;
    if (beats(b.value, a.value)) return b;
    return a.place <= b.place ? a : b;
  }
};

template <bool kLargest, typename T>
struct LoadFound {
  using B = Best<kLargest, T>;
  const T* x;
  __device__ Found<T> operator()(int64_t from, int64_t, int64_t i) const {
    const Found<T> none = B::template start<T>();
    const T value = x[from];
    return B::beats(value, none.value) ? Found<T>{value, i} : none;
  }
};

template <typename Place>
struct StorePlace {
  Place* y;
  template <typename T>
  __device__ void operator()(int64_t to, Found<T> found) const {
    y[to] = static_cast<Place>(found.place);
  }
};

template <bool kLargest, typename Place, typename T>
Step arg_as(PrepareContext& c) {
  const Slices s = slices(c.shape("X"), c.attr<int64_t>("axis"), c.attr<bool>("flatten"));
  require(s.n > 0, "{} of nothing: X has shape {}", c.op().type(), c.shape("X"));
  const GpuFold fold({s.outer, s.n, s.stride}, {s.outer, 1, s.stride});
  return [fold, stream = c.around().stream, in = c.in<T>("X"),
          work = c.workspace<Found<T>>(fold.workspace()), out = c.out<Place>("Out")] {
    fold.run<Best<kLargest, T>, Found<T>>(stream, LoadFound<kLargest, T>{in.data()},
                                          StorePlace<Place>{out.data()}, work.data());
  };
}

template <bool kLargest>
struct Arg {
  template <typename T>
  Step operator()(PrepareContext& c, Of<T>) const {
    return c.dtype("Out") == i32 ? arg_as<kLargest, int32_t, T>(c)
                                 : arg_as<kLargest, int64_t, T>(c);
  }
};

template <bool kLargest>
std::vector<Kernel> kernels() {
  return cuda_kernels_for<float, double, int32_t, int64_t, uint8_t>(Arg<kLargest>());
}

[[maybe_unused]] const bool kArg =
    add_kernels("arg_max", kernels<true>()) && add_kernels("arg_min", kernels<false>());

}  // namespace
}  // namespace flotilla::ops
