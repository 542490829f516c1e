// c_split: this process' part of the columns of X.

#include "flotilla/ops/collective/parts.h"

namespace flotilla::ops {
namespace {

void infer_split(InferContext& c) {
  const int64_t ranks = ranks_of(c), rank = c.attr<int64_t>("rank");
  require(0 <= rank && rank < ranks, "rank must lie in [0, {}), but is {}", ranks, rank);
  infer_along<Axis::kLast, false>(c);
}

// Nobody else is asked.
Step split(PrepareContext& c) {
  return [columns = Columns(c, "Out"), rank = c.attr<int64_t>("rank"), x = c.in_bytes("X"),
          out = c.out_bytes("Out")] { columns.take(x.data(), out.data(), rank); };
}

const OpDef& c_split = define_collective(
    {.type = "c_split",
     .doc = "Out is this process' part of X, along the last axis.",
     .attrs = {kRingId, kUseCalcStream, kRanks, kRank, kModelParallel},
     .kernels = every_dtype(split),
     .infer = infer_split,
     .grad = custom_grad([](GradContext& g) { emit_collective(g, "c_concat"); })});

}  // namespace
}  // namespace flotilla::ops
