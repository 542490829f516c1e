// c_scatter: Out is this process' part of the X of one.

#include "flotilla/ops/collective/parts.h"

namespace flotilla::ops {
namespace {

Step scatter(PrepareContext& c) {
  const int root = static_cast<int>(c.attr<int64_t>("root"));
  return on_parts(
      c, "Out",
      [root, dtype = c.dtype("X")](comm::Group& group, const char* x, char* out, int64_t count) {
        group.scatter(x, out, count, dtype, root);
      });
}

const OpDef& c_scatter =
    define_collective({.type = "c_scatter",
                       .doc = "Out is this process' part of the X of one, along the first axis.",
                       .attrs = {kRingId, kUseCalcStream, kRanks, kRoot},
                       .kernels = every_dtype(scatter),
                       .infer = infer_along<Axis::kFirst, false>});

}  // namespace
}  // namespace flotilla::ops
