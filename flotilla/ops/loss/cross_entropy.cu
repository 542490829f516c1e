// flotilla/ops/loss/cross_entropy.cu
//
// cross_entropy and cross_entropy2 on a GPU.

#include "flotilla/ops/common/cuda_kernels.h"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/labels.cuh"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slices.cuh"

namespace flotilla::ops {
namespace {

// `x` names a slot that is as X.
GpuSlices rows_of(const PrepareContext& c, const char* x) { return slices(c.shape(x), -1); }

// ---- Soft labels --------------------------------------------------------------------------------

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    soft_kernel(cuda::GroupShape shape, GpuSlices rows, const T* x, const T* chances, T* y) {
  const GroupSlice row(shape, rows);
  const T sum = row.fold<SumFold, T>([&](int64_t at) { return chances[at] * minus_log(x[at]); });
  if (row.leads()) y[row.number()] = sum;
}

template <typename T>
Step forward_soft(PrepareContext& c) {
  return [rows = rows_of(c, "X"), stream = c.around().stream, x = c.in<T>("X"),
          label = c.in<T>("Label"), y = c.out<T>("Y")] {
    const cuda::GroupShape groups = rows.groups();
    cuda::launch_groups(stream, rows.count, groups, soft_kernel<T>, groups, rows, x.data(),
                        label.data(), y.data());
  };
}

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    soft_grad_kernel(GpuSlices rows, const T* x, const T* chances, const T* dy, T* dx) {
  const int64_t at = cuda::thread_number();
  if (at < rows.numel()) dx[at] = -chances[at] / x[at] * dy[rows.place(at).slice];
}

template <typename T>
Step backward_soft(PrepareContext& c) {
  return [rows = rows_of(c, "X"), stream = c.around().stream, x = c.in<T>("X"),
          label = c.in<T>("Label"), dy = c.in<T>("Y@GRAD"), dx = c.out<T>("X@GRAD")] {
    cuda::launch_each(stream, rows.numel(), soft_grad_kernel<T>, rows, x.data(), label.data(),
                      dy.data(), dx.data());
  };
}

// ---- Class numbers ------------------------------------------------------------------------------

template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    hard_kernel(GpuSlices rows, Labels labels, int64_t ignored, const T* x, T* y, T* match) {
  const int64_t row = cuda::thread_number();
  if (row >= rows.count) return;
  const int64_t label = labels.counted(row, rows.n, ignored);
  const T chance = label < 0 ? T{0} : x[row * rows.n + label];
  y[row] = label < 0 ? T{0} : minus_log(chance);
  if (match != nullptr) match[row] = chance;
}

// cross_entropy2 keeps the probability itself.
template <typename T>
Step forward_hard(PrepareContext& c) {
  return [rows = rows_of(c, "X"), labels = GpuLabels(c, "Label"),
          ignored = c.attr<int64_t>("ignore_index"), stream = c.around().stream, x = c.in<T>("X"),
          y = c.out<T>("Y"), match = wanted<T>(c, "MatchX")] {
    cuda::launch_each(stream, rows.count, hard_kernel<T>, rows, labels.get(), ignored, x.data(),
                      y.data(), match ? match.data() : nullptr);
  };
}

// `matched`: x holds the probabilities of the labels alone.
template <typename T>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    hard_grad_kernel(GpuSlices rows, Labels labels, int64_t ignored, bool matched, const T* x,
                     const T* dy, T* dx) {
  const int64_t at = cuda::thread_number();
  if (at >= rows.numel()) return;
  const auto [row, i] = rows.place(at);
  const bool found = labels.counted(row, rows.n, ignored) == i;
  dx[at] = found ? -dy[row] / x[matched ? row : at] : T{0};
}

template <typename T>
Step backward_hard(PrepareContext& c) {
  const bool matched = c.has("MatchX");
  return [rows = rows_of(c, "X@GRAD"), labels = GpuLabels(c, "Label"),
          ignored = c.attr<int64_t>("ignore_index"), matched, stream = c.around().stream,
          x = c.in<T>(matched ? "MatchX" : "X"), dy = c.in<T>("Y@GRAD"), dx = c.out<T>("X@GRAD")] {
    cuda::launch_each(stream, rows.numel(), hard_grad_kernel<T>, rows, labels.get(), ignored,
                      matched, x.data(), dy.data(), dx.data());
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return c.attr<bool>("soft_label") ? forward_soft<T>(c) : forward_hard<T>(c);
};
constexpr auto backward = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  return c.attr<bool>("soft_label") ? backward_soft<T>(c) : backward_hard<T>(c);
};
constexpr auto forward2 = []<typename T>(PrepareContext& c, Of<T>) { return forward_hard<T>(c); };
constexpr auto backward2 = []<typename T>(PrepareContext& c, Of<T>) { return backward_hard<T>(c); };

[[maybe_unused]] const bool kLosses =
    add_kernels("cross_entropy", cuda_kernels_for<float, double>(forward)) &&
    add_kernels("cross_entropy_grad", cuda_kernels_for<float, double>(backward)) &&
    add_kernels("cross_entropy2", cuda_kernels_for<float, double>(forward2)) &&
    add_kernels("cross_entropy_grad2", cuda_kernels_for<float, double>(backward2));

}  // namespace
}  // namespace flotilla::ops
