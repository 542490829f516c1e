// increment on a GPU; increment.cc defines it.

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct Plus {
  T step;
  __device__ T operator()(T x) const { return static_cast<T>(x + step); }
};

template <typename T>
Step forward(PrepareContext& c) {
  c.in_place("X", "Out");
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          plus = Plus<T>{static_cast<T>(c.attr<float>("step"))}, x = c.in<T>("X"),
          out = c.out<T>("Out")] { cuda::map(stream, processors, 1, plus, out.data(), x.data()); };
}

[[maybe_unused]] const bool kAdded = add_kernels("increment", {{kCuda, f32, forward<float>},
                                                               {kCuda, f64, forward<double>},
                                                               {kCuda, i32, forward<int32_t>},
                                                               {kCuda, i64, forward<int64_t>}});

}  // namespace
}  // namespace flotilla::ops
