// flotilla/ops/nn/pool2d.cu
//
// pool2d on a GPU, on images as they lie: channels first or last. A gradient is gathered: each
// element of X looks at the windows that hold it, in their order.

#include <limits>
#include <tuple>

#include "flotilla/base/half.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/nn/channels.h"
#include "flotilla/ops/nn/pool.cuh"

namespace flotilla::ops {
namespace {

template <typename T>
constexpr T kLowest = std::numeric_limits<T>::lowest();

template <typename T>
__device__ T share_of(const PoolRange& rows, const PoolRange& columns) {
  const int64_t counted = rows.counted * columns.counted;
  return 1 / static_cast<T>(counted < 1 ? 1 : counted);
}

template <typename T>
__global__ void __launch_bounds__(kPoolThreads) pool_max(Pools p, const T* in, T* out) {
  using C = Compute<T>;
  for_each_place(p.outer, p.rows.places, p.columns.places, p.lanes,
                 [&](int64_t image, int64_t i, int64_t j, int64_t lane) {
                   const T* x = in + image * p.elements() + lane;
                   const PoolRange rows = p.rows.range(i), columns = p.columns.range(j);
                   C found = rows.size() > 0 && columns.size() > 0 ? kLowest<C> : C{0};
                   for_each_in_window(p, rows, columns, [&](int64_t at) {
                     const C value = widen(x[at]);
                     found = found > value ? found : value;
                   });
                   out[image * p.windows() + (i * p.columns.places + j) * p.lanes + lane] =
                       narrow<T>(found);
                 });
}

template <typename T>
__global__ void __launch_bounds__(kPoolThreads) pool_mean(Pools p, const T* in, T* out) {
  using C = Compute<T>;
  for_each_place(p.outer, p.rows.places, p.columns.places, p.lanes,
                 [&](int64_t image, int64_t i, int64_t j, int64_t lane) {
                   const T* x = in + image * p.elements() + lane;
                   const PoolRange rows = p.rows.range(i), columns = p.columns.range(j);
                   C sum = 0;
                   for_each_in_window(p, rows, columns, [&](int64_t at) { sum += widen(x[at]); });
                   out[image * p.windows() + (i * p.columns.places + j) * p.lanes + lane] =
                       narrow<T>(sum * share_of<C>(rows, columns));
                 });
}

// Whether `at` is the first place of its window that holds `most`. REQUIRES: it holds that
template <typename T>
__device__ bool is_first(const Pools& p, const T* x, int64_t at, Compute<T> most,
                         const PoolRange& rows, const PoolRange& columns) {
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      const int64_t place = (y * p.columns.extent + c) * p.lanes;
      if (place == at) return true;
      if (widen(x[place]) == most) return false;
    }
  }
  return true;
}

template <typename T>
__global__ void __launch_bounds__(kPoolThreads)
    pool_max_gradient(Pools p, const T* in, const T* out, const T* dout, T* din) {
  using C = Compute<T>;
  for_each_place(p.outer, p.rows.extent, p.columns.extent, p.lanes,
                 [&](int64_t image, int64_t row, int64_t column, int64_t lane) {
                   const T* x = in + image * p.elements() + lane;
                   const int64_t at = (row * p.columns.extent + column) * p.lanes;
                   const C value = widen(x[at]);
                   C sum = 0;
                   for_each_window_of(
                       p, row, column,
                       [&](int64_t i, int64_t j, const PoolRange& rows, const PoolRange& columns) {
                         const int64_t window =
                             image * p.windows() + (i * p.columns.places + j) * p.lanes + lane;
                         const C most = widen(out[window]);
                         if (value == most && is_first(p, x, at, most, rows, columns)) {
                           sum += widen(dout[window]);
                         }
                       });
                   din[image * p.elements() + lane + at] = narrow<T>(sum);
                 });
}

template <typename T>
__global__ void __launch_bounds__(kPoolThreads) pool_mean_gradient(Pools p, const T* dout, T* din) {
  using C = Compute<T>;
  for_each_place(p.outer, p.rows.extent, p.columns.extent, p.lanes,
                 [&](int64_t image, int64_t row, int64_t column, int64_t lane) {
                   C sum = 0;
                   for_each_window_of(
                       p, row, column,
                       [&](int64_t i, int64_t j, const PoolRange& rows, const PoolRange& columns) {
                         const int64_t window =
                             image * p.windows() + (i * p.columns.places + j) * p.lanes + lane;
                         sum += widen(dout[window]) * share_of<C>(rows, columns);
                       });
                   din[image * p.elements() + (row * p.columns.extent + column) * p.lanes + lane] =
                       narrow<T>(sum);
                 });
}

// How X and Out lie, and what that makes of the pool.
struct Plan {
  Pools pools;
  Layout x, out;
  bool max = false;

  Plan(const PrepareContext& c, const Shape& out_shape)
      : max(c.attr<std::string>("pooling_type") == "max") {
    const DataFormat format(c.attr<std::string>("data_format"));
    const Shape shape = format.first(c.shape("X"));
    std::tie(pools.rows, pools.columns) = pool2d_rules(c, shape);
    const Layout given = format.first(c.layout("X"), 4);
    bool last = given == Layout({0, 2, 3, 1}, {});
    if (last || given.plain()) {
      x = c.layout("X");
    } else {
      last = format.channels_last();
    }
    pools.outer = last ? shape[0] : shape[0] * shape[1];
    pools.lanes = last ? shape[1] : 1;
    // One place lies the same either way.
    const Shape places = format.first(out_shape);
    out = places[2] * places[3] == 1 ? Layout() : x;
  }
};

template <typename T>
Step forward(PrepareContext& c) {
  const Plan plan(c, c.shape("Out"));
  const Pools p = plan.pools;
  return [p, max = plan.max, stream = c.around().stream,
          processors = c.around().gpu->info().processors, x = c.in<T>("X", 0, plan.x),
          out = c.out<T>("Out", 0, plan.out)] {
    launch_pool(stream, processors, p.outer, p.rows.places, p.columns.places * p.lanes,
                max ? pool_max<T> : pool_mean<T>, p, x.data(), out.data());
  };
}

template <typename T>
Step backward(PrepareContext& c) {
  const Plan plan(c, c.shape("Out@GRAD"));
  const Pools p = plan.pools;
  const auto launch = [p, stream = c.around().stream,
                       processors = c.around().gpu->info().processors](auto kernel,
                                                                       auto... addresses) {
    launch_pool(stream, processors, p.outer, p.rows.extent, p.columns.extent * p.lanes, kernel, p,
                addresses...);
  };
  const auto dout = c.in<T>("Out@GRAD", 0, plan.out);
  const auto dx = c.out<T>("X@GRAD", 0, plan.x);
  if (!plan.max) {
    return [=] { launch(pool_mean_gradient<T>, dout.data(), dx.data()); };
  }
  return [=, x = c.in<T>("X", 0, plan.x), out = c.in<T>("Out", 0, plan.out)] {
    launch(pool_max_gradient<T>, x.data(), out.data(), dout.data(), dx.data());
  };
}

[[maybe_unused]] const bool kForward = add_kernels("pool2d", {{kCuda, f32, forward<float>},
                                                              {kCuda, f64, forward<double>},
                                                              {kCuda, f16, forward<Half>},
                                                              {kCuda, bf16, forward<BFloat16>}});
[[maybe_unused]] const bool kBackward =
    add_kernels("pool2d_grad", {{kCuda, f32, backward<float>},
                                {kCuda, f64, backward<double>},
                                {kCuda, f16, backward<Half>},
                                {kCuda, bf16, backward<BFloat16>}});

}  // namespace
}  // namespace flotilla::ops
