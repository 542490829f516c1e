// alltoall and all_to_all: from each process to each its part along the first axis.

#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/collective/plain.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

Step all_to_all(PrepareContext& c) {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  const int64_t rows = c.shape("X").rank() > 0 ? c.shape("X")[0] : 1;
  return [channel, rows, x = c.in_bytes("X"), out = c.out_bytes("Out"),
          count = c.shape("X").numel(), dtype = c.dtype("X")] {
    channel.run([&](comm::Group& group) {
      require(rows % group.size() == 0, "{} rows of X cannot be shared out to {} ranks evenly",
              rows, group.size());
      group.all_to_all(x.data(), out.data(), count / group.size(), dtype);
    });
  };
}

const OpDef& alltoall =
    define_collective({.type = "alltoall",
                       .doc = "Part r of X goes to rank r; part r of Out comes from it.",
                       .attrs = {kRingId, kUseCalcStream},
                       .kernels = every_dtype(all_to_all)});

constexpr Plain kPlain = {"all_to_all", "alltoall"};
const bool plain = define_plain<kPlain>({});

}  // namespace
}  // namespace flotilla::ops
