// flotilla/ops/optim/ftrl.cc
//
// ftrl; see update/ftrl.h for the formula. Rows that a sparse gradient leaves out stay.

#include "flotilla/update/ftrl.h"

#include "flotilla/ops/optim/optim.h"
#include "flotilla/ops/optim/sparse.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  c.out("ParamOut") = c.in("Param");
  c.out("SquaredAccumOut") = c.in("SquaredAccumulator");
  c.out("LinearAccumOut") = c.in("LinearAccumulator");
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const bool is_sparse = c.is_sparse("Grad");
  const Layout layout = is_sparse ? Layout() : c.layout("Param");
  const NumberIn rate(c, "LearningRate");
  const Changed<T> param(c, "Param", "ParamOut", layout);
  const Changed<T> square(c, "SquaredAccumulator", "SquaredAccumOut", layout);
  const Changed<T> linear(c, "LinearAccumulator", "LinearAccumOut", layout);
  const update::Ftrl<T> same = {.l1 = static_cast<T>(c.attr<float>("l1")),
                                .l2 = static_cast<T>(c.attr<float>("l2")),
                                .lr_power = static_cast<T>(c.attr<float>("lr_power"))};
  const auto update = [=](int64_t begin, int64_t end, std::span<const T> g,
                          const update::Ftrl<T>& rule) {
    update::ftrl(part(param.data(), begin, end), g, part(square.data(), begin, end),
                 part(linear.data(), begin, end), rule);
  };
  const auto start = [=] {
    param.start();
    square.start();
    linear.start();
    update::Ftrl<T> rule = same;
    rule.lr = rate.get<T>();
    return rule;
  };
  if (is_sparse) {
    return [=, grad = MergedRows<T>(c, "Grad")] {
      const update::Ftrl<T> rule = start();
      grad.for_each(
          [&](int64_t row, std::span<const T> g) {
            update(row * grad.width(), (row + 1) * grad.width(), g, rule);
          },
          [](int64_t, int64_t) {});
    };
  }
  return [=, grad = c.in<T>("Grad", 0, layout)] {
    const update::Ftrl<T> rule = start();
    parallel_ranges(param.size(), kUpdateGrain, [&](int64_t begin, int64_t end) {
      update(begin, end, part(grad.data(), begin, end), rule);
    });
  };
};

const OpDef& ftrl = define_op({
    .type = "ftrl",
    .doc = "Follows the regularized leader: keeps parameters at zero that do not earn their place.",
    .inputs = {{"Param", "parameter"},
               like_param("SquaredAccumulator", "sum of squared gradients"),
               like_param("LinearAccumulator", "sum of gradients, corrected"),
               like_param("Grad", "gradient of Param, dense or sparse rows"),
               one_number("LearningRate", "one number")},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                like_param("SquaredAccumOut", "in the place of SquaredAccumulator"),
                like_param("LinearAccumOut", "in the place of LinearAccumulator")},
    .attrs = {{"l1", 0.0f, "strength of the L1 penalty"},
              {"l2", 0.0f, "strength of the L2 penalty"},
              {"lr_power", -0.5f, "how the learning rate falls with the squared gradients"}},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
});

}  // namespace
}  // namespace flotilla::ops
