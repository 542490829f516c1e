// exponential: exponentially distributed numbers, in the place of X.

#include <cmath>

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

// Paddle has no operator for it.
void exponential_grad(GradContext& g) { hand_back(g, "fill_any_like", {{"value", 0.0f}}); }

constexpr auto exponential = []<typename T>(PrepareContext& c) -> Step {
  const T rate = c.attr<float>("lambda");
  require(rate > 0, "lambda must be positive, but is {}", rate);
  return [rate, n = c.shape("Out").numel(), draws = Draws{c.random(0)},
          out = c.out<T>("Out")]() mutable {
    generate(draws.next(), out.data(), n,
             [=](uint32_t word) { return -std::log(unit_number<T>(word)) / rate; });
  };
};

const OpDef& exponential_op =
    define_random_over("exponential", "Exponentially distributed numbers, in the place of X.",
                       {.name = "X", .doc = "gives the shape", .shape_only = true},
                       {{"lambda", 1.0f, "one divided by their mean"}}, infer_like_x,
                       kernels_for<float, double>(exponential), custom_grad(exponential_grad));

}  // namespace
}  // namespace flotilla::ops
