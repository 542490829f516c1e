// isclose on a GPU; isclose_allclose.cc defines it. Tolerances that come from tensors are read
// there.

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/math/tolerance.h"

namespace flotilla::ops {
namespace {

struct CloseByTensors {
  Close close;
  const double *relative, *absolute;  // null: as `close` has it

  template <typename T>
  __device__ bool operator()(T x, T y) const {
    const Close here = {relative != nullptr ? *relative : close.relative,
                        absolute != nullptr ? *absolute : close.absolute, close.equal_nan};
    return here(x, y);
  }
};

template <typename T>
Step isclose(PrepareContext& c) {
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("Input").numel(), rtol = Tolerance(c, "Rtol", "rtol", 1e-5),
          atol = Tolerance(c, "Atol", "atol", 1e-8), equal_nan = c.attr<bool>("equal_nan"),
          x = c.in<T>("Input"), y = c.in<T>("Other"), out = c.out<bool>("Out")] {
    const CloseByTensors f = {
        {rtol.number(), atol.number(), equal_nan}, rtol.tensor(), atol.tensor()};
    cuda::map(stream, processors, n, f, out.data(), x.data(), y.data());
  };
}

[[maybe_unused]] const bool kAdded = add_kernels("isclose", {{kCuda, f32, isclose<float>},
                                                             {kCuda, f64, isclose<double>},
                                                             {kCuda, i32, isclose<int32_t>},
                                                             {kCuda, i64, isclose<int64_t>}});

}  // namespace
}  // namespace flotilla::ops
