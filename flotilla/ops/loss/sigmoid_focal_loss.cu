// flotilla/ops/loss/sigmoid_focal_loss.cu
//
// sigmoid_focal_loss on a GPU; sigmoid_focal_loss.cc defines it.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/labels.cuh"
#include "flotilla/ops/common/loss_formulas.h"

namespace flotilla::ops {
namespace {

// One element: its row has `label`, and it is that of class k + 1.
template <typename T>
struct Element {
  T gamma, alpha;
  Labels labels, count;

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
struct Fill {
  int64_t classes;
  Element<T> element;
  const T *x, *dout;
  T* to;

  __device__ void operator()(int64_t i) const {
    to[i] = element.at(i / classes, i % classes, [&](T sign, T factor) {
      if constexpr (kBackward) {
        return sign * factor * loss::FocalLoss::slope(sign * x[i], element.gamma) * dout[i];
      } else {
        return factor * loss::FocalLoss::f(sign * x[i], element.gamma);
      }
    });
  }
};

template <typename T, bool kBackward>
Step prepare(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("X").numel(), classes = c.shape("X")[1],
          gamma = static_cast<T>(c.attr<float>("gamma")),
          alpha = static_cast<T>(c.attr<float>("alpha")), labels = GpuLabels(c, "Label"),
          count = GpuLabels(c, "FgNum"), x = c.in<T>("X"),
          dout = kBackward ? c.in<T>("Out@GRAD") : In<T>(),
          to = c.out<T>(kBackward ? "X@GRAD" : "Out")] {
    const Element<T> element = {gamma, alpha, labels.get(), count.get()};
    cuda::each(stream, processors, n,
               Fill<T, kBackward>{classes, element, x.data(), kBackward ? dout.data() : nullptr,
                                  to.data()});
  };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("sigmoid_focal_loss",
                {{kCuda, f32, prepare<float, false>}, {kCuda, f64, prepare<double, false>}}) &&
    add_kernels("sigmoid_focal_loss_grad",
                {{kCuda, f32, prepare<float, true>}, {kCuda, f64, prepare<double, true>}});

}  // namespace
}  // namespace flotilla::ops
