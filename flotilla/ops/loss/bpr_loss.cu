// flotilla/ops/loss/bpr_loss.cu
//
// bpr_loss on a GPU; bpr_loss.cc defines it. A row whose label is no class has no loss.

#include "flotilla/device/cuda/reduce.cuh"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/labels.cuh"
#include "flotilla/ops/common/scalar.h"

namespace flotilla::ops {
namespace {

// Rows of scores, each worked on by a group of threads.
struct Rows {
  cuda::GroupShape shape;
  int64_t count = 0, classes = 0;
  Labels labels;
};

// The loss of a row, and its gradient where `dx` is there.
template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    row_kernel(Rows rows, const T* scores, const T* dout, T* out, T* dx) {
  const cuda::Group group(rows.shape);
  const int64_t row = group.number(), begin = row * rows.classes;
  const bool here = row < rows.count;
  const int64_t label = here ? rows.labels.counted(row, rows.classes, -1) : -1;
  const T* const x = scores + begin;
  const T others = static_cast<T>(rows.classes - 1);
  const T scale = here && dx != nullptr ? dout[row] / others : T{0};
  T sum = 0;
  for (int64_t j = here ? group.lane() : rows.classes; j < rows.classes; j += group.lanes()) {
    const bool counts = label >= 0 && j != label;
    if (dx == nullptr) {
      sum += counts ? exact::softplus(x[j] - x[label]) : T{0};
    } else if (j != label) {
      sum += dx[begin + j] = counts ? scale * exact::sigmoid(x[j] - x[label]) : T{0};
    }
  }
  sum = group.fold<SumFold>(sum);
  if (!here || group.lane() != 0) return;
  if (dx == nullptr) {
    out[row] = sum / others;
  } else if (label >= 0) {
    dx[begin + label] = -sum;
  }
}

template <typename T, bool kBackward>
Step prepare(PrepareContext& c) {
  const Shape& shape = c.shape("X");
  const int64_t classes = shape[shape.rank() - 1], count = shape.numel(0, shape.rank() - 1);
  return
      [stream = c.around().stream, shape = cuda::group_shape(count, classes, true), count, classes,
       labels = GpuLabels(c, "Label"), x = c.in<T>("X"),
       dout = kBackward ? c.in<T>("Y@GRAD") : In<T>(), to = c.out<T>(kBackward ? "X@GRAD" : "Y")] {
        cuda::launch_groups(stream, count, shape, row_kernel<T>,
                            Rows{shape, count, classes, labels.get()}, x.data(),
                            kBackward ? dout.data() : nullptr, kBackward ? nullptr : to.data(),
                            kBackward ? to.data() : nullptr);
      };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("bpr_loss",
                {{kCuda, f32, prepare<float, false>}, {kCuda, f64, prepare<double, false>}}) &&
    add_kernels("bpr_loss_grad",
                {{kCuda, f32, prepare<float, true>}, {kCuda, f64, prepare<double, true>}});

}  // namespace
}  // namespace flotilla::ops
