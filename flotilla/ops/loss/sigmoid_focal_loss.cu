// flotilla/ops/loss/sigmoid_focal_loss.cu
//
// sigmoid_focal_loss on a GPU; sigmoid_focal_loss.cc defines it.

#include <algorithm>
#include <string_view>

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/loss_formulas.h"

namespace flotilla::ops {
namespace {

// A whole number on the GPU, as i64 or i32.
class NumbersIn {
 public:
  struct There {
    const int64_t* wide;
    const int32_t* narrow;
    __device__ int64_t operator[](int64_t i) const { return wide != nullptr ? wide[i] : narrow[i]; }
  };

  NumbersIn(PrepareContext& c, std::string_view slot)
      : wide_(c.dtype(slot) == i64 ? c.in<int64_t>(slot) : In<int64_t>()),
        narrow_(c.dtype(slot) == i64 ? In<int32_t>() : c.in<int32_t>(slot)) {}
  There there() const {
    return {wide_ ? wide_.data() : nullptr, narrow_ ? narrow_.data() : nullptr};
  }

 private:
  In<int64_t> wide_;
  In<int32_t> narrow_;
};

// One element: its row has `label`, and it is that of class k + 1.
template <typename T>
struct Element {
  T gamma, alpha;
  NumbersIn::There labels, count;

  // to = f(sign of the logit towards what is right, factor), zero in rows that do not count.
  template <typename F>
  __device__ T at(int64_t row, int64_t k, F f) const {
    const int64_t label = labels[row];
    if (label == -1) return 0;
    const bool right = label == k + 1;
    const int64_t counted = count[0] > 1 ? count[0] : 1;
    return f(right ? T{1} : T{-1}, (right ? alpha : 1 - alpha) / static_cast<T>(counted));
  }
};

template <typename T, bool kBackward>
__global__ void __launch_bounds__(cuda::kMapThreads)
    focal_kernel(int64_t n, int64_t classes, Element<T> element, const T* x, const T* dout, T* to) {
  const int64_t first = int64_t{blockIdx.x} * cuda::kMapThreads + threadIdx.x;
  for (int64_t i = first; i < n; i += int64_t{gridDim.x} * cuda::kMapThreads) {
    to[i] = element.at(i / classes, i % classes, [&](T sign, T factor) {
      if constexpr (kBackward) {
        return sign * factor * loss::FocalLoss::slope(sign * x[i], element.gamma) * dout[i];
      } else {
        return factor * loss::FocalLoss::f(sign * x[i], element.gamma);
      }
    });
  }
}

template <typename T, bool kBackward>
Step prepare(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("X").numel(), classes = c.shape("X")[1],
          gamma = static_cast<T>(c.attr<float>("gamma")),
          alpha = static_cast<T>(c.attr<float>("alpha")), labels = NumbersIn(c, "Label"),
          count = NumbersIn(c, "FgNum"), x = c.in<T>("X"),
          dout = kBackward ? c.in<T>("Out@GRAD") : In<T>(),
          to = c.out<T>(kBackward ? "X@GRAD" : "Out")] {
    if (n == 0) return;
    const int64_t blocks = std::min<int64_t>((n + cuda::kMapThreads - 1) / cuda::kMapThreads,
                                             int64_t{processors} * cuda::kMapBlocksEach);
    const Element<T> element = {gamma, alpha, labels.there(), count.there()};
    focal_kernel<T, kBackward><<<static_cast<unsigned>(blocks), cuda::kMapThreads, 0,
                                 static_cast<cudaStream_t>(stream.handle)>>>(
        n, classes, element, x.data(), kBackward ? dout.data() : nullptr, to.data());
    cuda::check(cudaGetLastError(), "launch a kernel over {} elements", n);
  };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("sigmoid_focal_loss",
                {{kCuda, f32, prepare<float, false>}, {kCuda, f64, prepare<double, false>}}) &&
    add_kernels("sigmoid_focal_loss_grad",
                {{kCuda, f32, prepare<float, true>}, {kCuda, f64, prepare<double, true>}});

}  // namespace
}  // namespace flotilla::ops
