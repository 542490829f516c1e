// flotilla/ops/optim/fused.cc
//
// fused_sgd, fused_momentum, fused_adam: one step over all parameters of an optimizer. Passes make
// them of single ops with the same attributes; slots are lists, and entry i of each belongs
// together. Threads share out the elements of all parameters evenly, whatever their sizes.

#include <memory>
#include <vector>

#include "flotilla/ops/optim/optim.h"
#include "flotilla/update/adam.h"
#include "flotilla/update/momentum.h"
#include "flotilla/update/sgd.h"

namespace flotilla::ops {
namespace {

// Parameters, gradients and states, side by side, and where each begins in the row of all elements.
template <typename T, size_t kStates>
struct Tensors {
  struct One {
    Changed<T> param = {};
    In<T> grad = {};
    Changed<T> states[kStates + 1] = {};  // one more than needed: there may be none
  };
  std::vector<One> all;
  std::vector<int64_t> begins = {0};

  Tensors(PrepareContext& c, const std::vector<std::string>& state_slots) {
    c.keep_together("Grad");
    for (size_t i = 0; i < c.count("Param"); ++i) {
      const Layout layout = c.layout("Param", i);
      One one = {.param = Changed<T>(c, "Param", "ParamOut", layout, i),
                 .grad = c.in<T>("Grad", i, layout)};
      for (size_t s = 0; s < state_slots.size(); ++s) {
        one.states[s] = Changed<T>(c, state_slots[s], state_slots[s] + "Out", layout, i);
      }
      begins.push_back(begins.back() + one.param.size());
      all.push_back(std::move(one));
    }
  }

  // Calls f(tensor, begin, end) for pieces of tensors.
  template <typename F>
  void for_pieces(F f) const {
    for (const One& one : all) {
      one.param.start();
      for (size_t s = 0; s < kStates; ++s) one.states[s].start();
    }
    parallel_ranges(begins.back(), kUpdateGrain, [&](int64_t begin, int64_t end) {
      const auto after = std::upper_bound(begins.begin(), begins.end(), begin);
      for (size_t i = static_cast<size_t>(after - begins.begin()) - 1;
           i < all.size() && begins[i] < end; ++i) {
        f(i, std::max(begin, begins[i]) - begins[i], std::min(end, begins[i + 1]) - begins[i]);
      }
    });
  }
};

void infer_lists(InferContext& c, std::initializer_list<std::string> states) {
  const size_t count = c.in_count("Param");
  for (const std::string_view slot : {"Grad", "ParamOut"}) {
    const size_t found = slot == "Grad" ? c.in_count(slot) : c.out_count(slot);
    require(found == count, "Param holds {} variables, but {} holds {}", count, slot, found);
  }
  for (size_t i = 0; i < count; ++i) {
    c.out("ParamOut", i) = c.in("Param", i);
    for (const std::string& state : states) c.out(state + "Out", i) = c.in(state, i);
  }
}

Slot list(std::string_view name, std::string_view doc) {
  return {.name = std::string(name), .doc = std::string(doc), .list = true};
}

constexpr auto sgd = []<typename T>(PrepareContext& c) -> Step {
  const NumberIn rate(c, "LearningRate");
  const auto tensors = std::make_shared<Tensors<T, 0>>(c, std::vector<std::string>{});
  return [rate, tensors] {
    const T lr = rate.get<T>();
    tensors->for_pieces([&](size_t i, int64_t begin, int64_t end) {
      const auto& one = tensors->all[i];
      update::sgd(part(one.param.data(), begin, end), part(one.grad.data(), begin, end), lr);
    });
  };
};

const OpDef& fused_sgd = define_op({
    .type = "fused_sgd",
    .doc = "sgd on many parameters at once.",
    .inputs = {list("Param", "parameters"), like_param("Grad", "their gradients", true),
               one_number("LearningRate", "one number")},
    .outputs = {like_param("ParamOut", "in the place of Param", true)},
    .attrs = {kMultiPrecision},
    .infer = [](InferContext& c) { infer_lists(c, {}); },
    .kernels = kernels_for<float, double>(sgd),
});

constexpr auto momentum = []<typename T>(PrepareContext& c) -> Step {
  const NumberIn rate(c, "LearningRate");
  const auto tensors = std::make_shared<Tensors<T, 1>>(c, std::vector<std::string>{"Velocity"});
  const bool decays = c.attr<std::string>("regularization_method") == "l2_decay";
  const auto coeffs = c.attr<std::vector<float>>("regularization_coeffs");
  require(coeffs.empty() || coeffs.size() == tensors->all.size(),
          "regularization_coeffs must hold a number for each of {} parameters, but holds {}",
          tensors->all.size(), coeffs.size());
  const update::Momentum<T> same = {
      .mu = static_cast<T>(c.attr<float>("mu")),
      .nesterov = c.attr<bool>("use_nesterov"),
      .l2 = decays ? static_cast<T>(c.attr<float>("regularization_coeff")) : T{0},
      .rescale = static_cast<T>(c.attr<float>("rescale_grad"))};
  return [=] {
    const T lr = rate.get<T>();
    tensors->for_pieces([&](size_t i, int64_t begin, int64_t end) {
      const auto& one = tensors->all[i];
      update::Momentum<T> rule = same;
      rule.lr = lr;
      if (!coeffs.empty()) rule.l2 = static_cast<T>(coeffs[i]);
      update::momentum(part(one.param.data(), begin, end), part(one.grad.data(), begin, end),
                       part(one.states[0].data(), begin, end), rule);
    });
  };
};

const OpDef& fused_momentum = define_op({
    .type = "fused_momentum",
    .doc = "momentum on many parameters at once.",
    .inputs = {list("Param", "parameters"), like_param("Grad", "their gradients", true),
               like_param("Velocity", "their velocities", true),
               one_number("LearningRate", "one number")},
    .outputs = {like_param("ParamOut", "in the place of Param", true),
                like_param("VelocityOut", "in the place of Velocity", true)},
    .attrs = {{"mu", 0.0f, "what remains of the velocity after a step"},
              {"use_nesterov", false, "whether the step looks ahead by the velocity"},
              {"regularization_method", "", "\"l2_decay\", or \"\" for none"},
              {"regularization_coeff", 0.0f, "how much of the parameter is added to the gradient"},
              {"regularization_coeffs", std::vector<float>{},
               "the same for each parameter by itself; empty: regularization_coeff for all"},
              kMultiPrecision,
              {"rescale_grad", 1.0f, "what the gradient is multiplied with first"}},
    .infer = [](InferContext& c) { infer_lists(c, {"Velocity"}); },
    .kernels = kernels_for<float, double>(momentum),
});

constexpr auto adam = []<typename T>(PrepareContext& c) -> Step {
  const NumberIn rate(c, "LearningRate");
  const auto tensors =
      std::make_shared<Tensors<T, 2>>(c, std::vector<std::string>{"Moment1", "Moment2"});
  const size_t count = tensors->all.size();
  std::vector<Changed<T>> powers1, powers2;
  for (size_t i = 0; i < count; ++i) {
    powers1.emplace_back(c, "Beta1Pow", "Beta1PowOut", Layout{}, i);
    powers2.emplace_back(c, "Beta2Pow", "Beta2PowOut", Layout{}, i);
  }
  const update::Adam<T> same = {.beta1 = static_cast<T>(c.attr<float>("beta1")),
                                .beta2 = static_cast<T>(c.attr<float>("beta2")),
                                .epsilon = static_cast<T>(c.attr<float>("epsilon")),
                                .plain_epsilon = c.attr<bool>("plain_epsilon")};
  return [=, rules = std::vector<update::Adam<T>>(count)]() mutable {
    for (size_t i = 0; i < count; ++i) {
      rules[i] = same;
      rules[i].lr = rate.get<T>();
      rules[i].beta1_power = *powers1[i].start();
      rules[i].beta2_power = *powers2[i].start();
    }
    tensors->for_pieces([&](size_t i, int64_t begin, int64_t end) {
      const auto& one = tensors->all[i];
      update::adam(part(one.param.data(), begin, end), part(one.grad.data(), begin, end),
                   part(one.states[0].data(), begin, end), part(one.states[1].data(), begin, end),
                   rules[i]);
    });
    for (size_t i = 0; i < count; ++i) {
      *powers1[i].data() *= same.beta1;
      *powers2[i].data() *= same.beta2;
    }
  };
};

const OpDef& fused_adam = define_op({
    .type = "fused_adam",
    .doc = "adam on many parameters at once.",
    .inputs = {list("Param", "parameters"), like_param("Grad", "their gradients", true),
               like_param("Moment1", "means of gradients", true),
               like_param("Moment2", "means of squared gradients", true),
               one_number("Beta1Pow", "beta1 to the power of the step, one for each parameter",
                          true),
               one_number("Beta2Pow", "beta2 to the same power", true),
               one_number("LearningRate", "one number")},
    .outputs = {like_param("ParamOut", "in the place of Param", true),
                like_param("Moment1Out", "in the place of Moment1", true),
                like_param("Moment2Out", "in the place of Moment2", true),
                one_number("Beta1PowOut", "in the place of Beta1Pow", true),
                one_number("Beta2PowOut", "in the place of Beta2Pow", true)},
    .attrs = {{"beta1", 0.9f, "what remains of Moment1 after a step"},
              {"beta2", 0.999f, "what remains of Moment2 after a step"},
              {"epsilon", 1e-8f, "keeps the divisor above zero"},
              {"lazy_mode", false, "of no effect on dense gradients"},
              {"min_row_size_to_use_multithread", int64_t{1000}, "not used"},
              kMultiPrecision,
              kPlainEpsilon,
              {"use_global_beta_pow", false, "must be false"}},
    .infer =
        [](InferContext& c) {
          infer_lists(c, {"Moment1", "Moment2", "Beta1Pow", "Beta2Pow"});
        },
    .kernels = kernels_for<float, double>(adam),
});

}  // namespace
}  // namespace flotilla::ops
