// c_concat and dist_concat: Out of every process holds the columns of all, side by side.

#include "flotilla/ops/collective/parts.h"
#include "flotilla/ops/collective/plain.h"

namespace flotilla::ops {
namespace {

Step concat(PrepareContext& c) {
  const Columns columns(c, "X");
  return on_parts(c, "X",
                  [columns, dtype = c.dtype("X"),
                   parts = c.workspace(columns.rows * columns.part * columns.ranks)](
                      comm::Group& group, const char* x, char* out, int64_t count) {
                    group.all_gather(x, parts.data(), count, dtype);
                    for (int64_t r = 0; r < columns.ranks; ++r) {
                      columns.put(parts.data() + r * columns.rows * columns.part, out, r);
                    }
                  });
}

const OpDef& c_concat = define_collective(
    {.type = "c_concat",
     .doc = "Out holds the X of all processes, one beside the other along the last axis.",
     .attrs = {kRingId, kAtOnce, kRanks, kRank, kModelParallel},
     .kernels = every_dtype(concat),
     .infer = infer_along<Axis::kLast, true>,
     .grad = custom_grad([](GradContext& g) { emit_collective(g, "c_split"); })});

constexpr Plain kPlain = {"dist_concat", "c_concat"};
const bool plain = define_plain<kPlain>({kPlainRanks});

}  // namespace
}  // namespace flotilla::ops
