// flotilla/ops/math/sum.cu
//
// sum of dense tensors on a GPU; sum.cc defines it. The tensors are added in the order in which
// they are listed, as on a CPU.

#include <algorithm>
#include <vector>

#include "flotilla/base/half.h"
#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/dense_order.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

constexpr size_t kAtOnce = 16;

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

template <typename T>
Step forward(PrepareContext& c) {
  Layout layout;
  for (size_t i = 0; i < c.count("X"); ++i) {
    if (layout.plain()) layout = dense_order(c.layout("X", i));
  }
  if (c.count("X") == 1) return pass_through(c, "X", "Out", layout);
  c.in_place("X", "Out");
  std::vector<In<T>> tensors;
  for (size_t i = 0; i < c.count("X"); ++i) tensors.push_back(c.in<T>("X", i, layout));
  return [stream = c.around().stream, processors = c.around().gpu->info().processors,
          n = c.shape("Out").numel(), tensors, out = c.out<T>("Out", 0, layout)] {
    if (n == 0) return;
    Summands<T> in;
    for (const In<T>& tensor : tensors) {
      if (in.count == static_cast<int>(kAtOnce)) {
        add_up(stream, processors, n, in, out.data());
        in.from[0] = out.data();
        in.count = 1;
      }
      in.from[in.count++] = tensor.data();
    }
    add_up(stream, processors, n, in, out.data());
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
