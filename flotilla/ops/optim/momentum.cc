// flotilla/ops/optim/momentum.cc
//
// momentum, with Nesterov's look-ahead and L2 decay; see update/momentum.h for the formula. A row
// that a sparse gradient leaves out has gradient zero: its velocity decays and still moves it.

#include "flotilla/update/momentum.h"

#include "flotilla/ops/optim/optim.h"
#include "flotilla/ops/optim/sparse.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const auto method = c.attr<std::string>("regularization_method");
  require(method.empty() || method == "l2_decay",
          "regularization_method must be \"\" or \"l2_decay\", but is \"{}\"", method);
  c.out("ParamOut") = c.in("Param");
  c.out("VelocityOut") = c.in("Velocity");
}

template <typename T>
update::Momentum<T> rule_of(const PrepareContext& c) {
  const bool decays = c.attr<std::string>("regularization_method") == "l2_decay";
  return {.mu = static_cast<T>(c.attr<float>("mu")),
          .nesterov = c.attr<bool>("use_nesterov"),
          .l2 = decays ? static_cast<T>(c.attr<float>("regularization_coeff")) : T{0},
          .rescale = static_cast<T>(c.attr<float>("rescale_grad"))};
}

template <typename T>
Step dense(PrepareContext& c) {
  const Layout layout = c.layout("Param");
  const NumberIn rate(c, "LearningRate");
  const Changed<T> param(c, "Param", "ParamOut", layout);
  const Changed<T> velocity(c, "Velocity", "VelocityOut", layout);
  return [=, rule = rule_of<T>(c), grad = c.in<T>("Grad", 0, layout)]() mutable {
    rule.lr = rate.get<T>();
    update_parts(
        param, grad, [&](auto p, auto g, auto v) { update::momentum(p, g, v, rule); }, velocity);
  };
}

template <typename T>
Step sparse(PrepareContext& c) {
  const NumberIn rate(c, "LearningRate");
  const Changed<T> param(c, "Param", "ParamOut", {});
  const Changed<T> velocity(c, "Velocity", "VelocityOut", {});
  const MergedRows<T> grad(c, "Grad");
  return [=, rule = rule_of<T>(c)]() mutable {
    T* p = param.start();
    T* v = velocity.start();
    rule.lr = rate.get<T>();
    const auto rows = [&](int64_t begin, int64_t end, std::span<const T> g) {
      begin *= grad.width();
      end *= grad.width();
      update::momentum(part(p, begin, end), g, part(v, begin, end), rule);
    };
    grad.for_each([&](int64_t row, std::span<const T> g) { rows(row, row + 1, g); },
                  [&](int64_t begin, int64_t end) { rows(begin, end, {}); });
  };
}

const OpDef& momentum = define_op({
    .type = "momentum",
    .doc = "Moves the parameter by a velocity that gathers the gradients.",
    .inputs = {{"Param", "parameter"},
               like_param("Grad", "gradient of Param, dense or sparse rows"),
               like_param("Velocity", "like Param"),
               one_number("LearningRate", "one number"),
               master_param()},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                like_param("VelocityOut", "the new velocity, in the place of Velocity"),
                master_param_out()},
    .attrs = {{"mu", 0.0f, "what remains of the velocity after a step"},
              {"use_nesterov", false, "whether the step looks ahead by the velocity"},
              {"regularization_method", "", "\"l2_decay\", or \"\" for none"},
              {"regularization_coeff", 0.0f, "how much of the parameter is added to the gradient"},
              kMultiPrecision,
              {"rescale_grad", 1.0f, "what the gradient is multiplied with first"}},
    .infer = infer,
    .kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
      return c.is_sparse("Grad") ? sparse<T>(c) : dense<T>(c);
    }),
});

}  // namespace
}  // namespace flotilla::ops
