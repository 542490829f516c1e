// flotilla/ops/collective/all_reduce.cc
//
// c_allreduce_{sum,max,min,prod}, allreduce and all_reduce: Out of every process is the sum (…) of
// all X, added up in the order of ranks. fused_all_reduce does it for many variables in one call.
// mp_allreduce_sum stands behind layers whose weights are shared out, see identity.cc.

#include "flotilla/ops/collective/bucket.h"
#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/collective/plain.h"

namespace flotilla::ops {
namespace {

using comm::Group;
using comm::Reduce;

Step all_reduce(PrepareContext& c, Reduce how) {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  const auto bucket = std::make_shared<Bucket>(c);
  return here_or_beside(c, channel, bucket->bytes(),
                        [bucket, how](Group& group) { bucket->all_reduce(group, how); });
}

template <Reduce kHow>
Step all_reduce(PrepareContext& c) {
  return all_reduce(c, kHow);
}

// The numbers that the legacy op calls them by.
Step all_reduce_by_number(PrepareContext& c) {
  constexpr Reduce kByNumber[] = {Reduce::kSum, Reduce::kProd, Reduce::kMax, Reduce::kMin};
  const int64_t type = c.attr<int64_t>("reduce_type");
  require(type >= 0 && type < 4,
          "reduce_type is 0 (sum), 1 (product), 2 (largest) or 3 (smallest), but {} was given",
          type);
  return all_reduce(c, kByNumber[type]);
}

void infer_bucket(InferContext& c) {
  infer_exchange(c);
  for (size_t i = 1; i < c.in_count("X"); ++i) {
    require(c.dtype("X", i) == c.dtype("X"),
            "all of X must have one dtype, but \"{}\" is {} and \"{}\" is {}",
            c.op().input_list("X")[0], c.dtype("X"), c.op().input_list("X")[i], c.dtype("X", i));
  }
}

template <Reduce kHow>
bool define(const std::string& name, const std::string& what, GradRule grad) {
  define_collective(
      {.type = "c_allreduce_" + name,
       .doc = "Out of every process is " + what + " of all X.",
       .attrs = {kRingId, kUseCalcStream, {"use_model_parallel", false, "a hint of Paddle's"}},
       .kernels = reducible_dtypes(all_reduce<kHow>),
       .grad = std::move(grad)});
  return true;
}

const bool sum = define<Reduce::kSum>(
    "sum", "the sum", custom_grad([](GradContext& g) { emit_collective(g, "c_allreduce_sum"); }));
const bool max = define<Reduce::kMax>("max", "the largest", no_grad());
const bool min = define<Reduce::kMin>("min", "the smallest", no_grad());
const bool prod = define<Reduce::kProd>("prod", "the product", no_grad());

const OpDef& mp_allreduce_sum = define_collective(
    {.type = "mp_allreduce_sum",
     .doc = "Out of every process is the sum of all X; its gradient is handed on.",
     .attrs = {kRingId, kUseCalcStream},
     .kernels = reducible_dtypes(all_reduce<Reduce::kSum>),
     .grad = custom_grad([](GradContext& g) { emit_collective(g, "c_identity"); })});

const OpDef& legacy =
    define_collective({.type = "allreduce",
                       .doc = "c_allreduce_sum and its like, by the number of the reduction.",
                       .attrs = {kRingId,
                                 kAtOnce,
                                 {"reduce_type", 0, "0: sum, 1: product, 2: largest, 3: smallest"},
                                 {"sync_mode", false, "a hint of Paddle's"}},
                       .kernels = reducible_dtypes(all_reduce_by_number)});

const OpDef& fused = define_collective({.type = "fused_all_reduce",
                                        .doc = "c_allreduce_sum of many variables in one exchange.",
                                        .attrs = {kRingId, kUseCalcStream},
                                        .kernels = reducible_dtypes(all_reduce<Reduce::kSum>),
                                        .infer = infer_bucket,
                                        .list = true});

constexpr Plain kPlain = {"all_reduce", "c_allreduce_"};
const bool plain = define_plain<kPlain>({kPlainHow});

}  // namespace
}  // namespace flotilla::ops
