// c_broadcast and broadcast: Out of every process is the X of one.

#include "flotilla/ops/collective/bucket.h"
#include "flotilla/ops/collective/parts.h"

namespace flotilla::ops {
namespace {

Step broadcast(PrepareContext& c) {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  const int root = static_cast<int>(c.attr<int64_t>("root"));
  const auto bucket = std::make_shared<Bucket>(c);
  return here_or_beside(c, channel, bucket->bytes(),
                        [bucket, root](comm::Group& group) { bucket->broadcast(group, root); });
}

const OpDef& c_broadcast = define_collective({.type = "c_broadcast",
                                              .doc = "Out of every process is the X of one.",
                                              .attrs = {kRingId, kUseCalcStream, kRoot},
                                              .kernels = every_dtype(broadcast)});

const OpDef& legacy_broadcast = define_collective(
    {.type = "broadcast",
     .doc = "c_broadcast by its older name.",
     .attrs = {kRingId, kAtOnce, kRoot, {"sync_mode", false, "a hint of Paddle's"}},
     .kernels = every_dtype(broadcast)});

}  // namespace
}  // namespace flotilla::ops
