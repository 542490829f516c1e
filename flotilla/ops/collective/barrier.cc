// barrier: waits until all processes are here.

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

Step barrier(PrepareContext& c) {
  const Channel channel(c, "waits at a barrier", Progress::Kind::kBarrier);
  const Step pass = c.has("X") && c.has("Out") ? identity(c) : Step([] {});
  if (channel.alone()) return pass;
  return [channel, pass] {
    pass();
    channel.run([](comm::Group& group) { group.barrier(); });
  };
}

const OpDef& barrier_op =
    define_op({.type = "barrier",
               .doc = "Waits until all processes are here.",
               .inputs = {{.name = "X", .doc = "any tensor", .optional = true}},
               .outputs = {{.name = "Out", .doc = "the same", .optional = true}},
               .attrs = {kRingId},
               .infer =
                   [](InferContext& c) {
                     if (c.has_in("X")) infer_exchange(c);
                   },
               .kernels = every_dtype(barrier),
               .side_effect = true});

}  // namespace
}  // namespace flotilla::ops
