// flotilla/ops/tensor/shard_index.cc
//
// shard_index: ids in [0, index_num) are dealt to nshards shards, each of which has as many, one
// behind the other. An id of shard shard_id becomes its place there, any other ignore_value.

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const int64_t shards = c.attr<int64_t>("nshards"), shard = c.attr<int64_t>("shard_id");
  require(c.attr<int64_t>("index_num") > 0, "index_num must be positive, but is {}",
          c.attr<int64_t>("index_num"));
  require(shards > 0, "nshards must be positive, but is {}", shards);
  require(0 <= shard && shard < shards, "shard_id must lie in [0, {}), but is {}", shards, shard);
  c.out("Out") = like(c.in("X"));
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t ids = c.attr<int64_t>("index_num"), shards = c.attr<int64_t>("nshards");
  return [ids, size = (ids + shards - 1) / shards, shard = c.attr<int64_t>("shard_id"),
          other = static_cast<T>(c.attr<int64_t>("ignore_value")), n = c.shape("X").numel(),
          in = c.in<T>("X"), out = c.out<T>("Out")] {
    parallel_for(n, 8, [&](int64_t i) {
      const int64_t id = in.data()[i];
      require(0 <= id && id < ids, "an id must lie in [0, {}), but the one at place {} is {}", ids,
              i, id);
      out.data()[i] = id / size == shard ? static_cast<T>(id % size) : other;
    });
  };
};

const OpDef& shard_index = define_op({
    .type = "shard_index",
    .doc = "The places of ids within one of several shards.",
    .inputs = {{.name = "X", .doc = "ids", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "same shape as X", .no_grad = true}},
    .attrs = {{"index_num", 0, "how many ids there are"},
              {"nshards", 0, "how many shards"},
              {"shard_id", 0, "which one"},
              {"ignore_value", -1, "for ids of other shards"}},
    .infer = infer,
    .kernels = kernels_for<int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
