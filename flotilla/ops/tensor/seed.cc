// seed: for an operator that draws later.

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

void infer_seed(InferContext& c) { c.out("Out") = VarMeta::tensor(i32, {1}); }

// The seed of an operator that draws later: its own, or another one every time.
Step prepare_seed(PrepareContext& c) {
  return [seed = c.attr<int32_t>("seed"), draws = Draws{c.random(0)},
          out = c.out<int32_t>("Out")]() mutable {
    *out.data() = seed != 0 ? seed : static_cast<int32_t>(draws.next().at(0)[0] >> 1);
  };
}

const OpDef& seed_op = define_random("seed", "A seed for an operator that takes one.", {}, {kSeed},
                                     infer_seed, {{kCpu, i32, prepare_seed}});

}  // namespace
}  // namespace flotilla::ops
