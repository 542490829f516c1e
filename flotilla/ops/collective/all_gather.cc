// c_allgather and all_gather: Out of every process holds the X of all, along the first axis.
// partial_allgather: each gives its part of X, and gets those of the others.

#include "flotilla/ops/collective/parts.h"
#include "flotilla/ops/collective/plain.h"

namespace flotilla::ops {
namespace {

using comm::Group;

void infer_parts(InferContext& c) {
  const int64_t ranks = ranks_of(c), count = c.in("X").shape.numel();
  require(count < 0 || count % ranks == 0,
          "the elements of X must be a multiple of nranks, {}, but X has shape {}", ranks,
          c.in("X").shape);
  c.out("Out") = like(c.in("X"));
}

Step all_gather(PrepareContext& c) {
  return on_parts(c, "X",
                  [dtype = c.dtype("X")](Group& group, const char* x, char* out, int64_t count) {
                    group.all_gather(x, out, count, dtype);
                  });
}

// Each process gives its part of X, and gets the others'.
Step gather_parts(PrepareContext& c) {
  const int64_t bytes = c.shape("X").numel() * size_of(c.dtype("X")) / c.attr<int64_t>("nranks");
  return on_parts(c, "X",
                  [bytes, dtype = c.dtype("X"), own = c.workspace(bytes)](
                      Group& group, const char* x, char* out, int64_t count) {
                    copy_bytes(own.data(), x + group.rank() * bytes, bytes);
                    group.all_gather(own.data(), out, count / group.size(), dtype);
                  });
}

const OpDef& c_allgather = define_collective(
    {.type = "c_allgather",
     .doc = "The X of all processes, concatenated along the first axis.",
     .attrs = {kRingId, kUseCalcStream, kRanks},
     .kernels = every_dtype(all_gather),
     .infer = infer_along<Axis::kFirst, true>,
     .grad = custom_grad([](GradContext& g) { emit_collective(g, "c_reducescatter"); })});

const OpDef& partial_allgather =
    define_collective({.type = "partial_allgather",
                       .doc = "Out is X, whose parts come from the processes; part r from rank r.",
                       .attrs = {kRingId, kUseCalcStream, kRanks, kRank},
                       .kernels = every_dtype(gather_parts),
                       .infer = infer_parts});

constexpr Plain kPlain = {"all_gather", "c_allgather"};
const bool plain = define_plain<kPlain>({kPlainRanks});

}  // namespace
}  // namespace flotilla::ops
