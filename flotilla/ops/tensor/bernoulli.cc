// bernoulli: one with the probability in X, zero otherwise.

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

constexpr auto bernoulli = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), draws = Draws{c.random(0)}, in = c.in<T>("X"),
          out = c.out<T>("Out")]() mutable {
    const T* p = in.data();
    T* to = out.data();
    for_words(draws.next(), n,
              [=](int64_t i, uint32_t word) { to[i] = unit_number<T>(word) < p[i] ? T{1} : T{0}; });
  };
};

const OpDef& bernoulli_op = define_op({
    .type = "bernoulli",
    .doc = "One with the probability in X, zero otherwise.",
    .inputs = {{.name = "X", .doc = "probabilities", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .infer = infer_like_x,
    .kernels = kernels_for<float, double>(bernoulli),
});

}  // namespace
}  // namespace flotilla::ops
