// flotilla/ops/optim/update.cuh
//
// One step of an elementwise rule on a GPU, over all parameters of an op at once.

#pragma once

#include <string>
#include <string_view>

#include "flotilla/op/op_def.h"
#include "flotilla/ops/optim/parameters.cuh"

namespace flotilla::ops {

template <typename F, int kStates, typename Table>
__global__ void __launch_bounds__(kUpdateThreads)
    update_kernel(const __grid_constant__ Table table) {
  if (table.skips()) return;
  const auto& p = table.placed[table.which(blockIdx.x)];
  const auto f = F::of(table.numbers(p));
  change_piece<kStates>(f, p, p.grad, blockIdx.x, table.piece);
}

// How many elements a block takes: more where there are blocks enough for every GPU.
inline int64_t update_piece(const PrepareContext& c) {
  int64_t elements = 0;
  for (size_t i = 0; i < c.count("Param"); ++i) elements += c.shape("Param", i).numel();
  return elements < (1 << 22) ? 1024 : 8192;
}

// F: the formula of the rule. kMost: parameters in a launch.
template <template <typename> class F, int kStates, int kMost, typename T>
Step cuda_dense_update(PrepareContext& c) {
  if (c.op().type().starts_with(kFused)) c.keep_together("Grad");
  return [all = CudaParameters<T, kStates, kMost>(c, rule_of(c.op()), update_piece(c), true)] {
    all.start();
    all.for_each_table([&](const auto& table, int64_t) {
      if (table.blocks == 0) return;
      const auto blocks = static_cast<unsigned>(table.blocks);
      update_kernel<F<T>, kStates><<<blocks, kUpdateThreads, 0, all.queue()>>>(table);
      cuda::check(cudaGetLastError(), "update {} parameters", table.count);
    });
    all.advance();
  };
}

// Adds the kernels of an op. kMost is 1 for an op of one parameter.
template <template <typename> class F, int kStates, int kMost>
bool add_cuda_update(std::string_view type) {
  return add_kernels(type, {{kCuda, f32, cuda_dense_update<F, kStates, kMost, float>},
                            {kCuda, f64, cuda_dense_update<F, kStates, kMost, double>}});
}

}  // namespace flotilla::ops
