// flotilla/ops/nn/prelu.cu
//
// prelu on a GPU; prelu.cc defines it. Slopes are broadcast, and their gradients added up.

#include <vector>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/broadcast.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/walk.h"
#include "flotilla/ops/nn/slope_sharing.h"

namespace flotilla::ops {
namespace {

// X is one side, the slopes the other.
cuda::Broadcast broadcast_of(int64_t n, const Sharing& sharing) {
  const int64_t image = sharing.count * sharing.inner;
  std::vector<WalkAxis> axes;
  const auto add = [&](const WalkAxis& axis) {
    if (axis.extent != 1) axes.push_back(axis);
  };
  add({image > 0 ? n / image : 0, image, 0});
  add({sharing.count, sharing.inner, 1});
  add({sharing.inner, 1, 0});
  return cuda::broadcast_of(axes);
}

struct Forward {
  template <typename T>
  __device__ T operator()(T x, T slope) const {
    const auto value = widen(x);
    return narrow<T>(value > 0 ? value : widen(slope) * value);
  }
};

struct Backward {
  template <typename T>
  __device__ T operator()(T x, T slope, T dy) const {
    const auto g = widen(dy);
    return narrow<T>(widen(x) > 0 ? g : widen(slope) * g);
  }
};

// What an element adds to the gradient of its slope.
template <typename T>
struct Below {
  const T *x, *dy;
  __device__ double operator()(int64_t i, int64_t, int64_t) const {
    const Compute<T> value = widen(x[i]), product = value * widen(dy[i]);
    return value <= 0 ? static_cast<double>(product) : 0;
  }
};

template <typename T>
Step forward(PrepareContext& c) {
  const int64_t n = c.shape("X").numel();
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          b = broadcast_of(n, sharing_of(c, c.shape("X"))), x = c.in<T>("X"),
          alpha = c.in<T>("Alpha"), out = c.out<T>("Out")] {
    cuda::broadcast_map(stream, processors, b, Forward{}, out.data(), cuda::Operand<T>{x.data()},
                        cuda::Operand<T>{alpha.data(), b.side_y});
  };
}

template <typename T>
Step backward(PrepareContext& c) {
  const int64_t n = c.shape("X").numel();
  const Sharing sharing = sharing_of(c, c.shape("X"));
  const int64_t image = sharing.count * sharing.inner;
  const GpuFold fold({image > 0 ? n / image : 0, sharing.count, sharing.inner},
                     {1, sharing.count, 1});
  const Out<T> dalpha = wanted<T>(c, "Alpha@GRAD");
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          b = broadcast_of(n, sharing), fold, x = c.in<T>("X"), alpha = c.in<T>("Alpha"),
          dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"), dalpha,
          work = dalpha ? c.workspace<double>(fold.workspace()) : Out<double>()] {
    if (dx) {
      cuda::broadcast_map(stream, processors, b, Backward{}, dx.data(), cuda::Operand<T>{x.data()},
                          cuda::Operand<T>{alpha.data(), b.side_y}, cuda::Operand<T>{dout.data()});
    }
    if (dalpha) {
      fold.run<SumFold>(stream, Below<T>{x.data(), dout.data()},
                        StoreFinished<T, AsItIs>{dalpha.data(), {}}, work.data());
    }
  };
}

[[maybe_unused]] const bool kAdded = add_kernels("prelu", {{kCuda, f32, forward<float>},
                                                           {kCuda, f64, forward<double>},
                                                           {kCuda, f16, forward<Half>},
                                                           {kCuda, bf16, forward<BFloat16>}}) &&
                                     add_kernels("prelu_grad", {{kCuda, f32, backward<float>},
                                                                {kCuda, f64, backward<double>},
                                                                {kCuda, f16, backward<Half>},
                                                                {kCuda, bf16, backward<BFloat16>}});

}  // namespace
}  // namespace flotilla::ops
