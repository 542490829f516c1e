// equal_all on a GPU; equal_all.cc defines it.

#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"

namespace flotilla::ops {
namespace {

// Tensors of other shapes are not equal, whatever they hold.
template <typename T>
struct EqualAt {
  bool same;
  const T *x, *y;
  __device__ bool operator()(int64_t i, int64_t, int64_t) const { return same && x[i] == y[i]; }
};

struct Store {
  bool same;
  bool* to;
  __device__ void operator()(int64_t, bool all) const { *to = same && all; }
};

template <typename T>
Step equal_all(PrepareContext& c) {
  const bool same = c.shape("X") == c.shape("Y");
  const GpuFold fold({c.shape("X").numel()}, {1});
  return [stream = c.around().stream, same, fold, x = c.in<T>("X"), y = c.in<T>("Y"),
          out = c.out<bool>("Out"), work = c.workspace<bool>(fold.workspace())] {
    fold.run<AllFold>(stream, EqualAt<T>{same, x.data(), y.data()}, Store{same, out.data()},
                      work.data());
  };
}

template <typename... T>
bool add() {
  return add_kernels("equal_all", {{kCuda, dtype_of<T>, equal_all<T>}...});
}

[[maybe_unused]] const bool kAdded =
    add<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>();

}  // namespace
}  // namespace flotilla::ops
