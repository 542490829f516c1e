// flotilla/ops/nn/max_pool2d_with_index_unpool.cu
//
// max_pool2d_with_index on a GPU. unpool stays on the CPU: where two elements name one place, the
// last of them stays there.

#include "flotilla/base/half.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/nn/pool.cuh"

namespace flotilla::ops {
namespace {

template <typename T>
__global__ void __launch_bounds__(kPoolThreads)
    pool_indexed(Pools p, const T* in, T* out, int32_t* mask) {
  for_each_place(p.outer, p.rows.places, p.columns.places, 1,
                 [&](int64_t image, int64_t i, int64_t j, int64_t) {
                   const T* x = in + image * p.elements();
                   const PoolRange rows = p.rows.range(i), columns = p.columns.range(j);
                   int64_t best = rows.begin * p.columns.extent + columns.begin;
                   Compute<T> most = widen(x[best]);
                   for_each_in_window(p, rows, columns, [&](int64_t at) {
                     const Compute<T> value = widen(x[at]);
                     // NaN is passed over, where there is anything else.
                     if (value > most || (most != most && value == value)) {
                       most = value;
                       best = at;
                     }
                   });
                   const int64_t to = image * p.windows() + i * p.columns.places + j;
                   out[to] = x[best];
                   mask[to] = static_cast<int32_t>(best);
                 });
}

template <typename T>
__global__ void __launch_bounds__(kPoolThreads)
    pool_indexed_gradient(Pools p, const int32_t* mask, const T* dout, T* din) {
  for_each_place(p.outer, p.rows.extent, p.columns.extent, 1,
                 [&](int64_t image, int64_t row, int64_t column, int64_t) {
                   const int64_t at = row * p.columns.extent + column;
                   Compute<T> sum = 0;
                   for_each_window_of(
                       p, row, column,
                       [&](int64_t i, int64_t j, const PoolRange&, const PoolRange&) {
                         const int64_t window = image * p.windows() + i * p.columns.places + j;
                         if (mask[window] == at) sum += widen(dout[window]);
                       });
                   din[image * p.elements() + at] = narrow<T>(sum);
                 });
}

Pools pools_of(const PrepareContext& c) {
  const Shape& x = c.shape("X");
  return {.rows = indexed_pool_rule(c, x, 0),
          .columns = indexed_pool_rule(c, x, 1),
          .outer = x.numel() == 0 ? 0 : x[0] * x[1]};
}

template <typename T>
Step forward(PrepareContext& c) {
  return
      [p = pools_of(c), stream = c.around().stream, processors = c.around().gpu->info().processors,
       x = c.in<T>("X"), out = c.out<T>("Out"), mask = c.out<int32_t>("Mask")] {
        launch_pool(stream, processors, p.outer, p.rows.places, p.columns.places, pool_indexed<T>,
                    p, x.data(), out.data(), mask.data());
      };
}

template <typename T>
Step backward(PrepareContext& c) {
  const Shape &mask = c.shape("Mask"), &dout = c.shape("Out@GRAD");
  require(mask == dout, "Mask must have the shape {}, but has {}", dout, mask);
  return
      [p = pools_of(c), stream = c.around().stream, processors = c.around().gpu->info().processors,
       mask = c.in<int32_t>("Mask"), dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
        launch_pool(stream, processors, p.outer, p.rows.extent, p.columns.extent,
                    pool_indexed_gradient<T>, p, mask.data(), dout.data(), dx.data());
      };
}

[[maybe_unused]] const bool kForward =
    add_kernels("max_pool2d_with_index", {{kCuda, f32, forward<float>},
                                          {kCuda, f64, forward<double>},
                                          {kCuda, f16, forward<Half>},
                                          {kCuda, bf16, forward<BFloat16>}});
[[maybe_unused]] const bool kBackward =
    add_kernels("max_pool2d_with_index_grad", {{kCuda, f32, backward<float>},
                                               {kCuda, f64, backward<double>},
                                               {kCuda, f16, backward<Half>},
                                               {kCuda, bf16, backward<BFloat16>}});

}  // namespace
}  // namespace flotilla::ops
