// flotilla/ops/math/cummax_cummin.cu
//
// cummax, cummin on a GPU.

#include "flotilla/device/cuda/memory.h"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/math/scan.cuh"

namespace flotilla::ops {
namespace {

// Of equal ones the last. From a NaN on all are NaN.
template <bool kLargest, typename T>
struct Extreme {
  T value;
  int64_t place;  // -1: of nothing

  __device__ static Extreme start() { return {T{0}, -1}; }
  __device__ static Extreme join(const Extreme& a, const Extreme& b) {
    if (b.place < 0) return a;
    if (a.place < 0 || b.value != b.value) return b;
    if (a.value != a.value) return a;
    return (kLargest ? b.value >= a.value : b.value <= a.value) ? b : a;
  }
};

template <bool kLargest, typename T>
struct LoadExtreme {
  const T* x;
  __device__ Extreme<kLargest, T> operator()(int64_t at, int64_t i) const { return {x[at], i}; }
};

template <bool kLargest, typename T, typename Place>
struct EmitExtreme {
  T* y;
  Place* places;
  __device__ void operator()(int64_t at, int64_t, const Extreme<kLargest, T>&,
                             const Extreme<kLargest, T>& after) const {
    y[at] = after.value;
    places[at] = static_cast<Place>(after.place);
  }
};

template <bool kLargest, typename T, typename Place>
Step forward_as(PrepareContext& c) {
  return [walk = ScanWalk(slices(c.shape("x"), c.attr<int64_t>("axis")), false),
          stream = c.around().stream, x = c.in<T>("x"), y = c.out<T>("out"),
          places = c.out<Place>("indices")] {
    scan<Extreme<kLargest, T>>(stream, walk, LoadExtreme<kLargest, T>{x.data()},
                               EmitExtreme<kLargest, T, Place>{y.data(), places.data()});
  };
}

template <bool kLargest>
struct Forward {
  template <typename T>
  Step operator()(PrepareContext& c, Of<T>) const {
    return c.dtype("indices") == i32 ? forward_as<kLargest, T, int32_t>(c)
                                     : forward_as<kLargest, T, int64_t>(c);
  }
};

// A thread for each slice, so that what comes from one place is added in order.
template <typename T, typename Place>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    give_back_kernel(ScanWalk walk, const Place* places, const T* dout, T* dx) {
  const int64_t slice = cuda::thread_number();
  if (slice >= walk.count) return;
  const int64_t begin = walk.first(slice);
  for (int64_t i = 0; i < walk.n; ++i) {
    const int64_t place = places[begin + i * walk.stride];
    if (place < 0 || place >= walk.n) continue;
    dx[begin + place * walk.stride] += dout[begin + i * walk.stride];
  }
}

template <typename T, typename Place>
Step backward_as(PrepareContext& c) {
  return [walk = ScanWalk(slices(c.shape("x"), c.attr<int64_t>("axis")), false),
          stream = c.around().stream, places = c.in<Place>("indices"), dout = c.in<T>("out@GRAD"),
          dx = c.out<T>("x@GRAD")] {
    cuda::fill(dx.data(), 0, walk.count * walk.n * static_cast<int64_t>(sizeof(T)), stream);
    cuda::launch_each(stream, walk.count, give_back_kernel<T, Place>, walk, places.data(),
                      dout.data(), dx.data());
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return c.dtype("indices") == i32 ? backward_as<T, int32_t>(c) : backward_as<T, int64_t>(c);
};

template <bool kLargest>
bool add(const std::string& type) {
  return add_kernels(type,
                     cuda_kernels_for<float, double, int32_t, int64_t>(Forward<kLargest>())) &&
         add_kernels(type + "_grad", cuda_kernels_for<float, double>(backward));
}

[[maybe_unused]] const bool kMax = add<true>("cummax"), kMin = add<false>("cummin");

}  // namespace
}  // namespace flotilla::ops
