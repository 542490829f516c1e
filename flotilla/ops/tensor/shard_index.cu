// flotilla/ops/tensor/shard_index.cu
//
// shard_index on a GPU. What is no id becomes ignore_value, too.

#include "flotilla/device/cuda/each.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/cuda_kernels.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct PlaceInShard {
  int64_t ids, size, shard;
  T other;
  const T* x;
  T* out;

  __device__ void operator()(int64_t i) const {
    const int64_t id = x[i];
    const bool own = 0 <= id && id < ids && id / size == shard;
    out[i] = own ? static_cast<T>(id % size) : other;
  }
};

constexpr auto shard_index = []<typename T>(PrepareContext& c, Of<T>) -> Step {
  const int64_t ids = c.attr<int64_t>("index_num"), shards = c.attr<int64_t>("nshards");
  return [ids, size = (ids + shards - 1) / shards, shard = c.attr<int64_t>("shard_id"),
          other = static_cast<T>(c.attr<int64_t>("ignore_value")), n = c.shape("X").numel(),
          stream = c.around().stream, processors = c.around().gpu->info().processors,
          in = c.in<T>("X"), out = c.out<T>("Out")] {
    cuda::each(stream, processors, n,
               PlaceInShard<T>{ids, size, shard, other, in.data(), out.data()});
  };
};

[[maybe_unused]] const bool kShardIndex =
    add_kernels("shard_index", cuda_kernels_for<int32_t, int64_t>(shard_index));

}  // namespace
}  // namespace flotilla::ops
