// flotilla/ops/nn/fold_unfold.cu
//
// fold and unfold on a GPU.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/nn/fold_unfold.h"

namespace flotilla::ops {
namespace {

// One element of the columns.
template <typename T>
struct TakeColumn {
  SlidingWindows w;
  const T* images;
  T* columns;

  __device__ void operator()(int64_t at) const {
    const int64_t row = at / w.places(), place = at - row * w.places();
    const int64_t channel = row / w.size(), k = row - channel * w.size();
    const int64_t i = k / w.right.window.size, j = k - i * w.right.window.size;
    const int64_t y = w.down.pixel_of(i, place / w.right.places);
    const int64_t x = w.right.pixel_of(j, place % w.right.places);
    const bool outside = y < 0 || x < 0;
    columns[at] = outside ? T{0} : images[channel * w.pixels() + y * w.right.extent + x];
  }
};

// One element of the images, from the windows that it is in, element by element of a window.
template <typename T>
struct AddColumns {
  SlidingWindows w;
  const T* columns;
  T* images;

  __device__ void operator()(int64_t at) const {
    const int64_t channel = at / w.pixels(), pixel = at - channel * w.pixels();
    const int64_t y = pixel / w.right.extent, x = pixel - y * w.right.extent;
    T sum{0};
    for (int64_t i = 0; i < w.down.window.size; ++i) {
      const int64_t row = w.down.place_of(i, y);
      for (int64_t j = 0; row >= 0 && j < w.right.window.size; ++j) {
        const int64_t column = w.right.place_of(j, x);
        if (column < 0) continue;
        const int64_t k = channel * w.size() + i * w.right.window.size + j;
        sum += columns[k * w.places() + row * w.right.places + column];
      }
    }
    images[at] = sum;
  }
};

template <typename T>
Step take(PrepareContext& c, const SlidingWindows& w, int64_t channels, const char* images,
          const char* columns) {
  return [w, n = channels * w.size() * w.places(), stream = c.around().stream,
          processors = c.around().gpu->info().processors, in = c.in<T>(images),
          out = c.out<T>(columns)] {
    cuda::each(stream, processors, n, TakeColumn<T>{w, in.data(), out.data()});
  };
}

template <typename T>
Step add(PrepareContext& c, const SlidingWindows& w, int64_t channels, const char* columns,
         const char* images) {
  return [w, n = channels * w.pixels(), stream = c.around().stream,
          processors = c.around().gpu->info().processors, in = c.in<T>(columns),
          out = c.out<T>(images)] {
    cuda::each(stream, processors, n, AddColumns<T>{w, in.data(), out.data()});
  };
}

[[maybe_unused]] const bool kFilled = [] {
  gpu_columns<float> = {.take = take<float>, .add = add<float>};
  gpu_columns<double> = {.take = take<double>, .add = add<double>};
  return true;
}();

[[maybe_unused]] const bool kWindows =
    add_as_on_cpu<float, double>({"unfold", "unfold_grad", "fold", "fold_grad"});

}  // namespace
}  // namespace flotilla::ops
