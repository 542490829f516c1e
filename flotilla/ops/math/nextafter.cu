// nextafter on a GPU; nextafter.cc defines it.

#include <cmath>

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {
namespace {

struct NextAfter {
  template <typename T>
  __device__ T operator()(T from, T to) const {
    return std::nextafter(from, to);
  }
};

template <typename T>
Step forward(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("x").numel(), x = c.in<T>("x"), y = c.in<T>("y"), out = c.out<T>("out")] {
    cuda::map(stream, processors, n, NextAfter{}, out.data(), x.data(), y.data());
  };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("nextafter", {{kCuda, f32, forward<float>}, {kCuda, f64, forward<double>}});

}  // namespace
}  // namespace flotilla::ops
