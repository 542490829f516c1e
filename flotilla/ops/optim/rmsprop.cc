// flotilla/ops/optim/rmsprop.cc
//
// rmsprop, plain and centered; see update/rmsprop.h for the formula. A row that a sparse gradient
// leaves out has gradient zero.

#include "flotilla/update/rmsprop.h"

#include "flotilla/ops/optim/optim.h"
#include "flotilla/ops/optim/sparse.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  if (c.attr<bool>("centered")) {
    require(c.has_in("MeanGrad"), "a centered rmsprop needs the input MeanGrad");
    require(c.has_out("MeanGradOut"), "a centered rmsprop needs the output MeanGradOut");
  }
  for (const std::string slot : {"Param", "MeanSquare", "Moment"}) {
    c.out(slot + "Out") = c.in(slot);
  }
  c.out("MeanGradOut") = c.in(c.has_in("MeanGrad") ? "MeanGrad" : "Param");
}

template <typename T>
struct State {
  Changed<T> param, square, moment, mean;
  bool centered;

  State(PrepareContext& c, const Layout& layout)
      : param(c, "Param", "ParamOut", layout),
        square(c, "MeanSquare", "MeanSquareOut", layout),
        moment(c, "Moment", "MomentOut", layout),
        centered(c.attr<bool>("centered")) {
    // Where it is needed, @EMPTY@ in its place is refused.
    if (centered || (c.has("MeanGrad") && c.has("MeanGradOut"))) {
      mean = Changed<T>(c, "MeanGrad", "MeanGradOut", layout);
    }
  }

  void start() const {
    param.start();
    square.start();
    moment.start();
    if (mean.size() > 0) mean.start();
  }
  void update(int64_t begin, int64_t end, std::span<const T> grad,
              const update::Rmsprop<T>& rule) const {
    update::rmsprop(part(param.data(), begin, end), grad, part(square.data(), begin, end),
                    centered ? part(mean.data(), begin, end) : std::span<T>(),
                    part(moment.data(), begin, end), rule);
  }
};

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const bool is_sparse = c.is_sparse("Grad");
  const Layout layout = is_sparse ? Layout() : c.layout("Param");
  const NumberIn rate(c, "LearningRate");
  const State<T> state(c, layout);
  const update::Rmsprop<T> same = {.decay = static_cast<T>(c.attr<float>("decay")),
                                   .momentum = static_cast<T>(c.attr<float>("momentum")),
                                   .epsilon = static_cast<T>(c.attr<float>("epsilon"))};
  if (is_sparse) {
    return [=, grad = MergedRows<T>(c, "Grad")] {
      update::Rmsprop<T> rule = same;
      rule.lr = rate.get<T>();
      state.start();
      const int64_t width = grad.width();
      grad.for_each(
          [&](int64_t row, std::span<const T> g) {
            state.update(row * width, (row + 1) * width, g, rule);
          },
          [&](int64_t begin, int64_t end) { state.update(begin * width, end * width, {}, rule); });
    };
  }
  return [=, grad = c.in<T>("Grad", 0, layout)] {
    update::Rmsprop<T> rule = same;
    rule.lr = rate.get<T>();
    state.start();
    parallel_ranges(state.param.size(), kUpdateGrain, [&](int64_t begin, int64_t end) {
      state.update(begin, end, part(grad.data(), begin, end), rule);
    });
  };
};

const OpDef& rmsprop = define_op({
    .type = "rmsprop",
    .doc = "Divides each step by the root of the mean of recent squared gradients.",
    .inputs = {{"Param", "parameter"},
               like_param("MeanSquare", "mean of squared gradients"),
               like_param("Grad", "gradient of Param, dense or sparse rows"),
               like_param("Moment", "what remains of the last step"),
               one_number("LearningRate", "one number"),
               optional(like_param("MeanGrad", "mean of gradients; where centered")),
               master_param()},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                like_param("MomentOut", "in the place of Moment"),
                like_param("MeanSquareOut", "in the place of MeanSquare"),
                optional(like_param("MeanGradOut", "in the place of MeanGrad")),
                master_param_out()},
    .attrs = {{"epsilon", 1e-10f, "keeps the divisor above zero"},
              {"decay", 0.9f, "what remains of the means after a step"},
              {"momentum", 0.0f, "what remains of a step in the next one"},
              {"centered", false, "whether the variance is taken instead of the mean square"},
              kMultiPrecision},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
});

}  // namespace
}  // namespace flotilla::ops
