// c_reducescatter and reduce_scatter: Out is this process' part of the sum of all X.

#include "flotilla/ops/collective/parts.h"
#include "flotilla/ops/collective/plain.h"

namespace flotilla::ops {
namespace {

Step reduce_scatter(PrepareContext& c) {
  return on_parts(
      c, "Out",
      [dtype = c.dtype("X")](comm::Group& group, const char* x, char* out, int64_t count) {
        group.reduce_scatter(x, out, count, dtype, comm::Reduce::kSum);
      });
}

const OpDef& c_reducescatter = define_collective(
    {.type = "c_reducescatter",
     .doc = "Out is this process' part of the sum of all X, along the first axis.",
     .attrs = {kRingId, kUseCalcStream, kRanks},
     .kernels = reducible_dtypes(reduce_scatter),
     .infer = infer_along<Axis::kFirst, false>,
     .grad = custom_grad([](GradContext& g) { emit_collective(g, "c_allgather"); })});

constexpr Plain kPlain = {"reduce_scatter", "c_reducescatter"};
const bool plain = define_plain<kPlain>({kPlainRanks});

}  // namespace
}  // namespace flotilla::ops
