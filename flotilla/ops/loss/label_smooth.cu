// label_smooth on a GPU; label_smooth.cc defines it.

#include <vector>

#include "flotilla/device/cuda/broadcast.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/walk.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct TowardsPrior {
  T epsilon;
  __device__ T operator()(T x, T prior) const { return (1 - epsilon) * x + epsilon * prior; }
};

template <typename T>
struct TowardsSame {
  T epsilon, same;
  __device__ T operator()(T x) const { return (1 - epsilon) * x + same; }
};

template <typename T>
Step forward(PrepareContext& c) {
  const Shape& shape = c.shape("X");
  const int64_t n = shape.numel(), classes = shape[shape.rank() - 1];
  const std::vector<WalkAxis> axes = {{classes > 0 ? n / classes : 0, classes, 0}, {classes, 1, 1}};
  c.in_place("X", "Out");
  return [stream = c.around().stream, processors = c.around().gpu->info().processors, n, classes,
          b = cuda::broadcast_of(axes), epsilon = static_cast<T>(c.attr<float>("epsilon")),
          x = c.in<T>("X"), prior = given<T>(c, "PriorDist"), out = c.out<T>("Out")] {
    if (prior) {
      cuda::broadcast_map(stream, processors, b, TowardsPrior<T>{epsilon}, out.data(),
                          cuda::Operand<T>{x.data()}, cuda::Operand<T>{prior.data(), b.side_y});
    } else {
      const TowardsSame<T> f = {epsilon, epsilon / static_cast<T>(classes)};
      cuda::map(stream, processors, n, f, out.data(), x.data());
    }
  };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("label_smooth", {{kCuda, f32, forward<float>}, {kCuda, f64, forward<double>}});

}  // namespace
}  // namespace flotilla::ops
