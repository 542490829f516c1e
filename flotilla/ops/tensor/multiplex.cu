// flotilla/ops/tensor/multiplex.cu
//
// multiplex on a GPU. A number that is no input's gives zeros.

#include <algorithm>
#include <vector>

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/row_moves.cuh"

namespace flotilla::ops {
namespace {

// Rows from up to kMost inputs, of which `first` is the first one.
template <typename T>
struct ChooseRows {
  static constexpr int kMost = 64;

  int64_t width, first, count, all;
  Numbers ids;
  T* out;
  const T* inputs[kMost];

  __device__ void operator()(int64_t i) const {
    const int64_t id = ids[i / width];
    if (first <= id && id < first + count) {
      out[i] = inputs[id - first][i];
    } else if (first == 0 && (id < 0 || id >= all)) {
      out[i] = T{0};
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Shape& shape = c.shape("X");
  std::vector<In<T>> inputs;
  for (size_t i = 0; i < c.count("X"); ++i) inputs.push_back(c.in<T>("X", i));
  return [inputs, n = shape.numel(), width = shape.numel(1, shape.rank()), ids = LabelsIn(c, "Ids"),
          queue = GpuQueue(c), out = c.out<T>("Out")] {
    const int64_t all = std::ssize(inputs);
    for (int64_t first = 0; first < all; first += ChooseRows<T>::kMost) {
      ChooseRows<T> rows = {
          width, first,           std::min<int64_t>(ChooseRows<T>::kMost, all - first),
          all,   numbers_at(ids), out.data(),
          {}};
      for (int64_t k = 0; k < rows.count; ++k) {
        rows.inputs[k] = inputs[static_cast<size_t>(first + k)].data();
      }
      cuda::each(queue.stream, queue.processors, n, rows);
    }
  };
};

template <typename T>
struct RowsOfOne {
  int64_t width, input;
  Numbers ids;
  const T* dout;
  T* dx;

  __device__ void operator()(int64_t i) const { dx[i] = ids[i / width] == input ? dout[i] : T{0}; }
};

constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const Shape& shape = c.shape("Out@GRAD");
  std::vector<Out<T>> grads;
  for (size_t i = 0; i < c.count("X@GRAD"); ++i) {
    grads.push_back(c.has("X@GRAD", i) ? c.out<T>("X@GRAD", i) : Out<T>());
  }
  return [grads, n = shape.numel(), width = shape.numel(1, shape.rank()), ids = LabelsIn(c, "Ids"),
          queue = GpuQueue(c), dout = c.in<T>("Out@GRAD")] {
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i]) continue;
      cuda::each(queue.stream, queue.processors, n,
                 RowsOfOne<T>{width, static_cast<int64_t>(i), numbers_at(ids), dout.data(),
                              grads[i].data()});
    }
  };
};

[[maybe_unused]] const bool kMultiplex =
    add_kernels("multiplex", cuda_kernels_for<float, double, int32_t, int64_t>(forward)) &&
    add_kernels("multiplex_grad", cuda_kernels_for<float, double>(backward));

}  // namespace
}  // namespace flotilla::ops
