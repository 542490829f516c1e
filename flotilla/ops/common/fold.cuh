// flotilla/ops/common/fold.cuh
//
// Folds of a dense tensor over some of its axes on a GPU, as FoldPlan (reduce_engine.h) does on a
// CPU, and the way back, where each result is repeated. Orders depend on shapes alone.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/reduce.cuh"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/walk.h"

namespace flotilla::ops {

inline constexpr int kMostFoldAxes = 10;

// Axes that are walked together: where number i of their indices lies, in two tensors.
struct FoldAxes {
  struct Place {
    int64_t from = 0, to = 0;
  };

  int count = 0;
  int64_t extent[kMostFoldAxes] = {}, from[kMostFoldAxes] = {}, to[kMostFoldAxes] = {};

  void add(int64_t axis_extent, int64_t axis_from, int64_t axis_to) {
    invariant(count < kMostFoldAxes, "a fold on a GPU has more than {} axes", kMostFoldAxes);
    extent[count] = axis_extent;
    from[count] = axis_from;
    to[count++] = axis_to;
  }
  int64_t numel() const {
    int64_t n = 1;
    for (int a = 0; a < count; ++a) n *= extent[a];
    return n;
  }
  __device__ Place at(int64_t index) const {
    Place place;
    for (int a = count - 1; a > 0; --a) {
      const int64_t rest = cuda::quotient(index, extent[a]), own = index - rest * extent[a];
      place.from += own * from[a];
      place.to += own * to[a];
      index = rest;
    }
    place.from += index * from[0];
    place.to += index * to[0];
    return place;
  }
};

// Where folds of pieces are put, to be folded again; null: there is one piece, the result.
template <typename Acc>
struct Parts {
  Acc* data = nullptr;
  int64_t result_step = 0, piece_step = 0;
};

// Folds piece blockIdx.y of each result.
template <typename Fold, typename Acc, typename Load, typename Store>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    fold_kernel(cuda::GroupShape shape, FoldAxes keep, FoldAxes fold, int64_t results,
                int64_t elements, int64_t piece, Load load, Store store, Parts<Acc> parts_to) {
  const cuda::Group group(shape);
  const int64_t result = group.number(), step = group.lanes();
  const bool here = result < results;
  const FoldAxes::Place at = here ? keep.at(result) : FoldAxes::Place{};
  const int64_t begin = blockIdx.y * piece, limit = begin + piece;
  const int64_t end = !here ? 0 : limit < elements ? limit : elements;
  const auto one = [&](int64_t i) { return load(at.from + fold.at(i).from, at.to, i); };
  // Several at a time, so that loads do not wait for each other.
  constexpr int kAhead = 4;
  Acc parts[kAhead];
#pragma unroll
  for (int k = 0; k < kAhead; ++k) parts[k] = Fold::template start<Acc>();
  int64_t i = begin + group.lane();
  for (; i + (kAhead - 1) * step < end; i += kAhead * step) {
#pragma unroll
    for (int k = 0; k < kAhead; ++k) parts[k] = Fold::fold(parts[k], one(i + k * step));
  }
  for (; i < end; i += step) parts[0] = Fold::fold(parts[0], one(i));
  const Acc total = group.template fold<Fold>(
      Acc(Fold::fold(Acc(Fold::fold(parts[0], parts[1])), Acc(Fold::fold(parts[2], parts[3])))));
  if (!here || group.lane() != 0) return;
  if (parts_to.data == nullptr) {
    store(at.to, total);
  } else {
    parts_to.data[result * parts_to.result_step + blockIdx.y * parts_to.piece_step] = total;
  }
}

template <typename Acc>
struct LoadPart {
  const Acc* parts;
  __device__ Acc operator()(int64_t from, int64_t, int64_t) const { return parts[from]; }
};

class GpuFold {
 public:
  // Of a dense tensor of shape `from`; `to` has the same rank, with extent 1 where an axis is
  // folded. Results lie row by row.
  GpuFold(const Shape& from, const Shape& to, const Layout& layout = {}) {
    bool adjacent = true;
    for (const WalkAxis& axis : walk_axes(from, layout, from, to)) {
      adjacent = axis.y == 0;
      (adjacent ? fold_ : keep_).add(axis.extent, axis.x, axis.y);
    }
    results_ = to.numel();
    elements_ = results_ == 0 ? 0 : from.numel() / results_;
    if (keep_.count == 0) keep_.add(1, 0, 0);
    if (fold_.count == 0) fold_.add(elements_, 0, 0);
    cut(adjacent);
  }

  // Elements of workspace that run needs.
  int64_t workspace() const { return pieces_ == 1 ? 0 : pieces_ * results_; }

  // store(to, fold of load(from, to, i)...) for every result, where `from` and `to` are places in
  // the tensors and i counts the elements of a result. Fold::start<Acc>() is what it starts from.
  template <typename Fold, typename Acc, typename Load, typename Store>
  void run(Stream stream, Load load, Store store, Acc* workspace) const {
    if (results_ == 0) return;
    if (pieces_ == 1) {
      launch<Fold>(stream, shape_, 1, keep_, fold_, elements_, load, store, Parts<Acc>());
      return;
    }
    launch<Fold>(
        stream, shape_, pieces_, keep_, fold_, piece_, load, store,
        shape_.across ? Parts<Acc>{workspace, 1, results_} : Parts<Acc>{workspace, pieces_, 1});
    launch<Fold>(stream, last_shape_, 1, last_keep_, last_fold_, pieces_, LoadPart<Acc>{workspace},
                 store, Parts<Acc>());
  }

 private:
  // Blocks that are worth having, and elements of a thread that make a piece worth a block: fixed,
  // so that an order does not depend on the GPU.
  static constexpr int64_t kBlocks = 1024, kEach = 16;

  void cut(bool adjacent) {
    shape_ = cuda::group_shape(results_, elements_, adjacent);
    const int64_t worth = elements_ / (shape_.lanes * kEach);
    pieces_ = std::clamp<int64_t>(kBlocks / std::max<int64_t>(shape_.blocks, 1), 1,
                                  std::max<int64_t>(worth, 1));
    piece_ = (elements_ + pieces_ - 1) / pieces_;
    if (pieces_ == 1) return;
    last_shape_ = cuda::group_shape(results_, pieces_, adjacent);
    last_keep_ = keep_;
    int64_t step = adjacent ? pieces_ : 1;
    for (int a = keep_.count - 1; a >= 0; step *= keep_.extent[a], --a) last_keep_.from[a] = step;
    last_fold_.add(pieces_, adjacent ? 1 : results_, 0);
  }

  template <typename Fold, typename Acc, typename Load, typename Store>
  void launch(Stream stream, const cuda::GroupShape& shape, int64_t pieces, const FoldAxes& keep,
              const FoldAxes& fold, int64_t piece, Load load, Store store, Parts<Acc> parts) const {
    const dim3 grid(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(pieces));
    fold_kernel<Fold, Acc><<<grid, cuda::kGroupThreads, 0, cuda::native(stream)>>>(
        shape, keep, fold, results_, fold.numel(), piece, load, store, parts);
    cuda::check(cudaGetLastError(), "launch a fold of {} elements", results_ * elements_);
  }

  FoldAxes keep_, fold_, last_keep_, last_fold_;
  cuda::GroupShape shape_, last_shape_;
  int64_t results_ = 0, elements_ = 0;  // elements: of one result
  int64_t pieces_ = 1, piece_ = 0;      // of a result, for which there is a block each
};

template <typename T>
struct LoadElement {
  const T* x;
  __device__ Compute<T> operator()(int64_t from, int64_t, int64_t) const { return widen(x[from]); }
};

// y = finish(total)
template <typename T, typename Finish>
struct StoreFinished {
  T* y;
  Finish finish;
  template <typename Acc>
  __device__ void operator()(int64_t to, Acc total) const {
    y[to] = narrow<T>(finish(total));
  }
};

struct AsItIs {
  template <typename T>
  FLT_FN T operator()(T value) const {
    return value;
  }
};

// ---- The way back -------------------------------------------------------------------------------

template <typename F>
__global__ void __launch_bounds__(cuda::kGroupThreads)
    spread_kernel(int64_t n, FoldAxes axes, F f) {
  const int64_t stride = int64_t{gridDim.x} * cuda::kGroupThreads;
  for (int64_t i = cuda::thread_number(); i < n; i += stride) f(i, axes.at(i).to);
}

// Calls f(i, to) for each element i of a plain tensor of shape `x`, whose result lies at `to`.
class GpuSpread {
 public:
  GpuSpread(const PrepareContext& c, const Shape& x, const Shape& to)
      : stream_(c.around().stream), n_(x.numel()) {
    for (const WalkAxis& axis : walk_axes(x, {}, x, to)) axes_.add(axis.extent, 0, axis.y);
    if (axes_.count == 0) axes_.add(1, 0, 0);
  }

  template <typename F>
  void run(F f) const {
    if (n_ == 0) return;
    const int64_t blocks =
        std::min<int64_t>((n_ + cuda::kGroupThreads - 1) / cuda::kGroupThreads, int64_t{1} << 20);
    spread_kernel<<<static_cast<unsigned>(blocks), cuda::kGroupThreads, 0, cuda::native(stream_)>>>(
        n_, axes_, f);
    cuda::check(cudaGetLastError(), "launch a kernel over {} elements", n_);
  }

 private:
  Stream stream_;
  int64_t n_ = 0;
  FoldAxes axes_;
};

// dx = F::f(o, g, x, x), with o and g repeated over the folded axes.
template <typename F, typename T>
struct SpreadFold {
  const T *out, *dout, *x;
  T* dx;
  __device__ void operator()(int64_t i, int64_t to) const {
    const Compute<T> value = widen(x[i]);
    dx[i] = narrow<T>(F::f(widen(out[to]), widen(dout[to]), value, value));
  }
};

// X@GRAD = F::f(Out, Out@GRAD, X, X). `to` is the shape of X with extent 1 where it is folded.
template <typename F, typename T>
Step gpu_fold_backward(PrepareContext& c, const Shape& to) {
  return [spread = GpuSpread(c, c.shape("X"), to), x = c.in<T>("X"), out = c.in<T>("Out"),
          dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    spread.run(SpreadFold<F, T>{out.data(), dout.data(), x.data(), dx.data()});
  };
}

}  // namespace flotilla::ops
