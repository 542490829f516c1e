// atan2 on a GPU; atan2.cc defines it.

#include <cmath>
#include <type_traits>

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {
namespace {

template <typename Angle>
struct AngleOf {
  template <typename T>
  __device__ Angle operator()(T x1, T x2) const {
    return std::atan2(static_cast<Angle>(x1), static_cast<Angle>(x2));
  }
};

template <typename T>
Step forward(PrepareContext& c) {
  using Angle = std::conditional_t<std::is_floating_point_v<T>, T, double>;
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("X1").numel(), x1 = c.in<T>("X1"), x2 = c.in<T>("X2"),
          out = c.out<Angle>("Out")] {
    cuda::map(stream, processors, n, AngleOf<Angle>{}, out.data(), x1.data(), x2.data());
  };
}

[[maybe_unused]] const bool kAdded = add_kernels("atan2", {{kCuda, f32, forward<float>},
                                                           {kCuda, f64, forward<double>},
                                                           {kCuda, i32, forward<int32_t>},
                                                           {kCuda, i64, forward<int64_t>}});

}  // namespace
}  // namespace flotilla::ops
