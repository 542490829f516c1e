// where and its gradient on a GPU; where.cc defines them.

#include <cstdint>

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/optional_slots.h"

namespace flotilla::ops {
namespace {

struct Choose {
  template <typename T>
  __device__ T operator()(bool chosen, T x, T y) const {
    return chosen ? x : y;
  }
};

// The gradient of one side.
template <bool kOfX>
struct Keep {
  template <typename T>
  __device__ T operator()(bool chosen, T g) const {
    return chosen == kOfX ? g : T{0};
  }
};

template <typename T>
Step forward(PrepareContext& c) {
  c.in_place("X", "Out");
  c.in_place("Y", "Out");
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("X").numel(), condition = c.in<bool>("Condition"), x = c.in<T>("X"),
          y = c.in<T>("Y"), out = c.out<T>("Out")] {
    cuda::map(stream, processors, n, Choose{}, out.data(), condition.data(), x.data(), y.data());
  };
}

template <typename T>
Step backward(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("Out@GRAD").numel(), condition = c.in<bool>("Condition"),
          dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"), dy = wanted<T>(c, "Y@GRAD")] {
    const bool* chosen = condition.data();
    if (dx) cuda::map(stream, processors, n, Keep<true>{}, dx.data(), chosen, dout.data());
    if (dy) cuda::map(stream, processors, n, Keep<false>{}, dy.data(), chosen, dout.data());
  };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("where", {{kCuda, f32, forward<float>},
                          {kCuda, f64, forward<double>},
                          {kCuda, i32, forward<int32_t>},
                          {kCuda, i64, forward<int64_t>},
                          {kCuda, boolean, forward<bool>},
                          {kCuda, u8, forward<uint8_t>},
                          {kCuda, i8, forward<int8_t>},
                          {kCuda, i16, forward<int16_t>}}) &&
    add_kernels("where_grad", {{kCuda, f32, backward<float>}, {kCuda, f64, backward<double>}});

}  // namespace
}  // namespace flotilla::ops
