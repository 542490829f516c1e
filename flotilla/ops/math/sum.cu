// flotilla/ops/math/sum.cu
//
// sum on a GPU; sum.cc defines it. Tensors are added in the order in which they are listed, as on a
// CPU, and then the sparse rows, each in the order in which it came.

#include <algorithm>
#include <vector>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/dense_order.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/sparse_rows.cuh"

namespace flotilla::ops {
namespace {

constexpr int kAtOnce = 16;

template <typename T>
struct Summands {
  const T* from[kAtOnce];
  int count = 0;
};

template <int N, typename T>
__global__ void __launch_bounds__(cuda::kMapThreads)
    sum_kernel(int64_t n, int64_t packs, Summands<T> in, T* to) {
  const int64_t first = int64_t{blockIdx.x} * cuda::kMapThreads + threadIdx.x;
  const int64_t stride = int64_t{gridDim.x} * cuda::kMapThreads;
  for (int64_t p = first; p < packs; p += stride) {
    using Pack = cuda::Pack<T, N>;
    Compute<T> sums[N] = {};
    for (int j = 0; j < in.count; ++j) {
      const Pack pack = reinterpret_cast<const Pack*>(in.from[j])[p];
#pragma unroll
      for (int k = 0; k < N; ++k) {
        sums[k] = j == 0 ? widen(pack.lane[k]) : sums[k] + widen(pack.lane[k]);
      }
    }
    Pack result;
#pragma unroll
    for (int k = 0; k < N; ++k) result.lane[k] = narrow<T>(sums[k]);
    reinterpret_cast<Pack*>(to)[p] = result;
  }
  for (int64_t i = packs * N + first; i < n; i += stride) {
    Compute<T> sum = widen(in.from[0][i]);
    for (int j = 1; j < in.count; ++j) sum += widen(in.from[j][i]);
    to[i] = narrow<T>(sum);
  }
}

template <typename T>
void add_up(Stream stream, int processors, int64_t n, const Summands<T>& in, T* to) {
  constexpr int kLanes = 16 / sizeof(T);
  bool aligned = cuda::begins_pack<kLanes>(to);
  for (int j = 0; j < in.count; ++j) aligned = aligned && cuda::begins_pack<kLanes>(in.from[j]);
  const int64_t packs = aligned ? n / kLanes : 0;
  const int64_t work = aligned ? std::max<int64_t>(packs, 1) : n;
  const int64_t blocks = std::min<int64_t>((work + cuda::kMapThreads - 1) / cuda::kMapThreads,
                                           int64_t{processors} * cuda::kMapBlocksEach);
  sum_kernel<kLanes><<<static_cast<unsigned>(blocks), cuda::kMapThreads, 0,
                       static_cast<cudaStream_t>(stream.handle)>>>(n, packs, in, to);
  cuda::check(cudaGetLastError(), "launch a kernel that adds up {} tensors", in.count);
}

// to = the sum of all
template <typename T>
void add_tensors(Stream stream, int processors, int64_t n, const std::vector<In<T>>& tensors,
                 T* to) {
  Summands<T> in;
  for (const In<T>& tensor : tensors) {
    if (in.count == kAtOnce) {
      add_up(stream, processors, n, in, to);
      in.from[0] = to;
      in.count = 1;
    }
    in.from[in.count++] = tensor.data();
  }
  add_up(stream, processors, n, in, to);
}

// Adds sparse rows to a dense tensor; one thread for each column of a run.
template <typename T>
struct AddRows {
  RowRuns runs;
  const T* values;
  T* to;

  __device__ void operator()(int64_t i) const {
    const int64_t p = i / runs.width, column = i % runs.width, row = runs.row(p);
    if (row >= runs.height || !runs.begins(p)) return;
    T* const at = to + row * runs.width + column;
    *at = narrow<T>(runs.add_run(p, column, values, widen(*at)));
  }
};

template <typename T>
Step sparse_sum(PrepareContext& c) {
  std::vector<SparseIn<T>> from;
  for (size_t i = 0; i < c.count("X"); ++i) from.push_back(c.sparse_in<T>("X", i));
  return [stream = c.around().stream, from, out = c.sparse_out<T>("Out")] {
    int64_t* rows = out.rows.data();
    T* values = out.value.data();
    for (const SparseIn<T>& x : from) {
      copy_elements(stream, rows, x.rows.data(), x.count);
      copy_elements(stream, values, x.value.data(), x.count * x.width);
      rows += x.count;
      values += x.count * x.width;
    }
  };
}

template <typename T>
Step forward(PrepareContext& c) {
  if (c.is_sparse("Out")) return sparse_sum<T>(c);
  Layout layout;
  bool any_sparse = false;
  for (size_t i = 0; i < c.count("X"); ++i) {
    any_sparse = any_sparse || c.is_sparse("X", i);
    if (layout.plain() && !c.is_sparse("X", i)) layout = dense_order(c.layout("X", i));
  }
  if (any_sparse) layout = {};
  if (c.count("X") == 1) return pass_through(c, "X", "Out", layout);
  std::vector<In<T>> dense;
  std::vector<SortedRows<T>> sparse;
  for (size_t i = 0; i < c.count("X"); ++i) {
    if (c.is_sparse("X", i)) {
      sparse.emplace_back(c, c.sparse_in<T>("X", i));
    } else {
      if (dense.empty()) c.in_place("X", "Out", i);
      dense.push_back(c.in<T>("X", i, layout));
    }
  }
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("Out").numel(), dense, sparse, out = c.out<T>("Out", 0, layout)] {
    if (n == 0) return;
    if (dense.size() == 1) {
      copy_elements(stream, out.data(), dense[0].data(), n);
    } else {
      add_tensors(stream, processors, n, dense, out.data());
    }
    for (const SortedRows<T>& rows : sparse) {
      if (rows.numel() == 0) continue;
      const AddRows<T> add = {rows.sort(stream), rows.rows().value.data(), out.data()};
      cuda::each(stream, processors, rows.numel(), add);
    }
  };
}

[[maybe_unused]] const bool kAdded = add_kernels("sum", {{kCuda, f32, forward<float>},
                                                         {kCuda, f64, forward<double>},
                                                         {kCuda, f16, forward<Half>},
                                                         {kCuda, bf16, forward<BFloat16>},
                                                         {kCuda, i32, forward<int32_t>},
                                                         {kCuda, i64, forward<int64_t>}});

}  // namespace
}  // namespace flotilla::ops
