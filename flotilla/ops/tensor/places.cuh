// flotilla/ops/tensor/places.cuh
//
// The way back of gradients to chosen places (places.h), on a GPU. A place that is not there is
// passed over.

#pragma once

#include "flotilla/device/cuda/memory.h"
#include "flotilla/ops/common/slices.cuh"
#include "flotilla/ops/tensor/places.h"

namespace flotilla::ops {

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    give_back_kernel(GpuSlices whole, int64_t k, const int64_t* places, const T* dy, T* dx) {
  const int64_t at = cuda::thread_number();  // in Indices
  if (at >= whole.count * k) return;
  const int64_t row = cuda::quotient(at, whole.stride), outer = cuda::quotient(row, k);
  const int64_t begin = outer * whole.n * whole.stride + (at - row * whole.stride);
  const int64_t place = places[at];
  if (0 <= place && place < whole.n) dx[begin + place * whole.stride] = dy[at];
}

// X@GRAD of an op that took k elements of each slice of X from the places in Indices.
template <typename T>
Step gpu_give_back(PrepareContext& c, const Slices& slices, int64_t k) {
  return
      [whole = GpuSlices(slices), k, stream = c.around().stream, indices = c.in<int64_t>("Indices"),
       dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
        cuda::fill(din.data(), 0, whole.numel() * static_cast<int64_t>(sizeof(T)), stream);
        cuda::launch_each(stream, whole.count * k, give_back_kernel<T>, whole, k, indices.data(),
                          dout.data(), din.data());
      };
}

}  // namespace flotilla::ops
