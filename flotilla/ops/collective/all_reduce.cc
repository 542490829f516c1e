// flotilla/ops/collective/all_reduce.cc
//
// c_allreduce_{sum,max,min,prod} and allreduce: Out of every process is the sum (…) of all X, added
// up in the order of ranks. fused_all_reduce does it for many variables in one call. c_reduce_*
// leave the result at one process.

#include "flotilla/ops/collective/bucket.h"
#include "flotilla/ops/collective/channel.h"
#include "flotilla/ops/collective/collective.h"
#include "flotilla/ops/tensor/move.h"

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

template <Reduce kHow>
Step reduce(PrepareContext& c) {
  const Channel channel(c);
  if (channel.alone()) return identity(c);
  const int root = static_cast<int>(c.attr<int64_t>("root_id"));
  c.in_place("X", "Out");
  return [channel, root, count = c.shape("X").numel(), dtype = c.dtype("X"), x = c.in_bytes("X"),
          out = c.out_bytes("Out")] {
    channel.run([&](Group& group) {
      group.reduce(x.data(), out.data(), count, dtype, kHow, root);
      if (group.rank() != root) copy_bytes(out.data(), x.data(), count * size_of(dtype));
    });
  };
}

void infer_bucket(InferContext& c) {
  infer_exchange(c);
  for (size_t i = 1; i < c.in_count("X"); ++i) {
    require(c.dtype("X", i) == c.dtype("X"),
            "all of X must have one dtype, but \"{}\" is {} and \"{}\" is {}",
            c.op().input_list("X")[0], c.dtype("X"), c.op().input_list("X")[i], c.dtype("X", i));
  }
}

// The sum over all of the gradients that each of them got from the sum.
void sum_grad(GradContext& g) { emit_collective(g, "c_allreduce_sum"); }

template <Reduce kHow>
bool define(const std::string& name, const std::string& what, GradRule grad) {
  define_collective(
      {.type = "c_allreduce_" + name,
       .doc = "Out of every process is " + what + " of all X.",
       .attrs = {kRingId, kUseCalcStream, {"use_model_parallel", false, "a hint of Paddle's"}},
       .kernels = reducible_dtypes(all_reduce<kHow>),
       .grad = std::move(grad)});
  define_collective({.type = "c_reduce_" + name,
                     .doc = "Out of one process is " + what + " of all X; the others keep theirs.",
                     .attrs = {kRingId, kUseCalcStream, {"root_id", 0, "who gets the result"}},
                     .kernels = reducible_dtypes(reduce<kHow>)});
  return true;
}

const bool sum = define<Reduce::kSum>("sum", "the sum", custom_grad(sum_grad));
const bool max = define<Reduce::kMax>("max", "the largest", no_grad());
const bool min = define<Reduce::kMin>("min", "the smallest", no_grad());
const bool prod = define<Reduce::kProd>("prod", "the product", no_grad());

// Between layers whose weights are shared out (Megatron-LM: Shoeybi et al., 2019): before them the
// gradients add up, behind them the results do.
const OpDef& c_identity =
    define_collective({.type = "c_identity",
                       .doc = "Out is X; its gradient is the sum of those of all processes.",
                       .attrs = {kRingId, kAtOnce, kModelParallel},
                       .kernels = every_dtype(identity),
                       .grad = custom_grad(sum_grad)});

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

}  // namespace
}  // namespace flotilla::ops
