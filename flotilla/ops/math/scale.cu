// scale on a GPU; scale.cc defines it. A scale that comes from a tensor is read there.

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/dense_order.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/sparse_rows.cuh"
#include "flotilla/ops/math/scaling.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct ScaledByTensor {
  using C = Compute<T>;
  const T* factor;
  C bias;
  bool bias_after;

  __device__ T operator()(T x) const {
    return Scaling<T>::line(widen(*factor), bias, bias_after)(x);
  }
};

template <typename T>
void scale_all(Stream stream, int processors, int64_t n, const Scaling<T>& scaling, T* to,
               const T* from) {
  if (scaling.tensor) {
    const ScaledByTensor<T> f = {scaling.tensor.data(), scaling.bias, scaling.bias_after};
    cuda::map(stream, processors, n, f, to, from);
  } else {
    cuda::map(stream, processors, n, scaling.get(), to, from);
  }
}

template <typename T>
Step sparse_forward(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          scaling = Scaling<T>(c), x = c.sparse_in<T>("X"), out = c.sparse_out<T>("Out")] {
    copy_elements(stream, out.rows.data(), x.rows.data(), x.count);
    scale_all(stream, processors, x.count * x.width, scaling, out.value.data(), x.value.data());
  };
}

template <typename T>
Step forward(PrepareContext& c) {
  if (c.is_sparse("X")) return sparse_forward<T>(c);
  const Scaling<T> scaling(c);
  const Layout layout = dense_order(c.layout("X"));
  if (scaling.does_nothing()) return pass_through(c, "X", "Out", layout);
  c.in_place("X", "Out");
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("X").numel(), scaling, in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out", 0, layout)] {
    scale_all(stream, processors, n, scaling, out.data(), in.data());
  };
}

[[maybe_unused]] const bool kAdded = add_kernels("scale", {{kCuda, f32, forward<float>},
                                                           {kCuda, f64, forward<double>},
                                                           {kCuda, f16, forward<Half>},
                                                           {kCuda, bf16, forward<BFloat16>},
                                                           {kCuda, i32, forward<int32_t>},
                                                           {kCuda, i64, forward<int64_t>},
                                                           {kCuda, u8, forward<uint8_t>},
                                                           {kCuda, i8, forward<int8_t>},
                                                           {kCuda, i16, forward<int16_t>}});

}  // namespace
}  // namespace flotilla::ops
