// flotilla/ops/loss/pointwise.cu
//
// Losses of a prediction and a label on a GPU: kernels for the operators that pointwise.cc defines,
// from the same list of formulas.

#include <string>

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/loss_formulas.h"
#include "flotilla/ops/common/unary_params.h"

namespace flotilla::ops {
namespace {

template <typename F, typename T>
Step forward(PrepareContext& c) {
  using Function = loss::LossForward<F, Compute<T>>;
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape(F::kInfo.x).numel(), f = Function{ParamSource<F, T>(c).get()},
          x = c.in<T>(F::kInfo.x), y = c.in<T>(F::kInfo.y), out = c.out<T>(F::kInfo.out)] {
    cuda::map(stream, processors, n, f, out.data(), x.data(), y.data());
  };
}

template <typename F, typename T>
Step backward(PrepareContext& c) {
  using Function = loss::LossBackward<F, Compute<T>>;
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape(F::kInfo.x).numel(), f = Function{ParamSource<F, T>(c).get()},
          x = c.in<T>(F::kInfo.x), y = c.in<T>(F::kInfo.y), dout = c.in<T>(grad_name(F::kInfo.out)),
          dx = c.out<T>(grad_name(F::kInfo.x))] {
    cuda::map(stream, processors, n, f, dx.data(), x.data(), y.data(), dout.data());
  };
}

template <typename F, typename... T>
bool add() {
  return add_kernels(F::kInfo.type, {{kCuda, dtype_of<T>, forward<F, T>}...}) &&
         add_kernels(std::string(F::kInfo.type) + "_grad",
                     {{kCuda, dtype_of<T>, backward<F, T>}...});
}

template <typename... F>
bool add_all(Types<F...>) {
  return (add<F, float, double, Half, BFloat16>() && ...);
}

[[maybe_unused]] const bool kAdded = add_all(loss::PointwiseLosses{});

}  // namespace
}  // namespace flotilla::ops
