// flotilla/ops/optim/layerwise.cc
//
// Optimizers whose step depends on the norm of a whole parameter:
//
//   lamb           see update/lamb.h; without weight_decay the ratio is 1, unless always_adapt.
//                  In Paddle 1.x (plain_moments) the moments are taken as they are, beta^t being
//                  0, and every step is scaled
//   lars_momentum  rate = lr * lars_coeff * |p| / (|g| + decay * |p| + epsilon), or lr where decay
//                  or a norm is zero;  v = mu * v + rate * (g + decay * p);  p -= v
//                  (You, Gitman and Ginsburg, "Large batch training of convolutional networks",
//                  2017)

#include <cmath>
#include <memory>

#include "flotilla/ops/optim/optim.h"
#include "flotilla/ops/optim/sparse.h"
#include "flotilla/update/lamb.h"
#include "flotilla/update/norm.h"

namespace flotilla::ops {
namespace {

void infer_lamb(InferContext& c) {
  for (const std::string slot : {"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"}) {
    c.out(slot + "Out") = c.in(slot);
  }
}

// The gradient as it is, or a sparse one spread out into workspace.
template <typename T>
class DenseGrad {
 public:
  DenseGrad(PrepareContext& c, const Layout& layout) {
    if (!c.is_sparse("Grad")) {
      dense_ = c.in<T>("Grad", 0, layout);
      return;
    }
    sparse_ = c.sparse_in<T>("Grad");
    spread_ = c.workspace<T>(sparse_.height * sparse_.width);
  }

  const T* data() const {
    if (dense_) return dense_.data();
    T* all = spread_.data();
    std::fill_n(all, sparse_.height * sparse_.width, T{0});
    check_rows({sparse_.rows.data(), static_cast<size_t>(sparse_.count)}, sparse_.height);
    for (int64_t i = 0; i < sparse_.count; ++i) {
      const T* from = sparse_.value.data() + i * sparse_.width;
      T* to = all + sparse_.rows.data()[i] * sparse_.width;
      for (int64_t j = 0; j < sparse_.width; ++j) to[j] += from[j];
    }
    return all;
  }

 private:
  In<T> dense_;
  SparseIn<T> sparse_ = {};
  Out<T> spread_;
};

constexpr auto lamb = []<typename T>(PrepareContext& c) -> Step {
  const Layout layout = c.is_sparse("Grad") ? Layout() : c.layout("Param");
  const NumberIn rate(c, "LearningRate");
  const Changed<T> param(c, "Param", "ParamOut", layout);
  const Changed<T> moment1(c, "Moment1", "Moment1Out", layout);
  const Changed<T> moment2(c, "Moment2", "Moment2Out", layout);
  const bool advances = c.has("Beta1PowOut") && c.has("Beta2PowOut");
  const float decay = c.attr<float>("weight_decay");
  const bool plain = c.attr<bool>("plain_moments");
  const bool adapts = decay > 0 || c.attr<bool>("always_adapt") || plain;
  const update::Lamb<T> same = {.beta1 = static_cast<T>(c.attr<float>("beta1")),
                                .beta2 = static_cast<T>(c.attr<float>("beta2")),
                                .epsilon = static_cast<T>(c.attr<float>("epsilon")),
                                .decay = static_cast<T>(decay)};
  return [=, grad = DenseGrad<T>(c, layout), step = c.workspace<T>(param.size()),
          power1 = c.in<T>("Beta1Pow"), power2 = c.in<T>("Beta2Pow"),
          power1_out = advances ? c.out<T>("Beta1PowOut") : Out<T>(),
          power2_out = advances ? c.out<T>("Beta2PowOut") : Out<T>(),
          skip = c.has("SkipUpdate") ? c.in<bool>("SkipUpdate") : In<bool>()] {
    T* p = param.start();
    T* m = moment1.start();
    T* v = moment2.start();
    update::Lamb<T> rule = same;
    rule.beta1_power = *power1.data();
    rule.beta2_power = *power2.data();
    const bool skips = skip && *skip.data();
    if (power1_out) {
      *power1_out.data() = rule.beta1_power * (skips ? T{1} : rule.beta1);
      *power2_out.data() = rule.beta2_power * (skips ? T{1} : rule.beta2);
    }
    if (skips) return;
    if (plain) rule.beta1_power = rule.beta2_power = 0;
    const T* g = grad.data();
    T* s = step.data();
    const int64_t n = param.size();
    parallel_ranges(n, kUpdateGrain, [=, &rule](int64_t begin, int64_t end) {
      update::lamb_step(part<const T>(p, begin, end), part(g, begin, end), part(m, begin, end),
                        part(v, begin, end), part(s, begin, end), rule);
    });
    const double ratio = adapts ? update::lamb_ratio(update::sum_of_squares(part<const T>(p, 0, n)),
                                                     update::sum_of_squares(part<const T>(s, 0, n)))
                                : 1.0;
    const T scale = static_cast<T>(rate.get<double>() * ratio);
    parallel_ranges(n, kUpdateGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) p[i] -= scale * s[i];
    });
  };
};

// One number in programs of 1.x, a list in those of 2.x.
template <typename Context>
std::vector<float> decays_of(const Context& c) {
  const Attr* given = c.op().find_attr("lars_weight_decay");
  if (given != nullptr && std::holds_alternative<float>(*given)) return {std::get<float>(*given)};
  return c.template attr<std::vector<float>>("lars_weight_decay");
}

void infer_lars(InferContext& c) {
  const size_t count = c.in_count("Param");
  for (const std::string_view slot : {"Grad", "Velocity", "LearningRate"}) {
    require(c.in_count(slot) == count, "Param holds {} variables, but {} holds {}", count, slot,
            c.in_count(slot));
  }
  const size_t decays = decays_of(c).size();
  require(decays == count || decays == 1,
          "lars_weight_decay must hold a number for each of {} parameters, but holds {}", count,
          decays);
  for (size_t i = 0; i < count; ++i) {
    c.out("ParamOut", i) = c.in("Param", i);
    c.out("VelocityOut", i) = c.in("Velocity", i);
  }
}

template <typename T>
Step lars_one(PrepareContext& c, size_t i, float weight_decay) {
  const Layout layout = c.layout("Param", i);
  const NumberIn rate(c, "LearningRate", i);
  const Changed<T> param(c, "Param", "ParamOut", layout, i);
  const Changed<T> velocity(c, "Velocity", "VelocityOut", layout, i);
  const T mu = static_cast<T>(c.attr<float>("mu"));
  const T rescale = static_cast<T>(c.attr<float>("rescale_grad"));
  const T decay = static_cast<T>(weight_decay);
  const double coeff = c.attr<float>("lars_coeff"), epsilon = c.attr<float>("epsilon");
  return [=, grad = c.in<T>("Grad", i, layout)] {
    T* p = param.start();
    T* v = velocity.start();
    const T* g = grad.data();
    const int64_t n = param.size();
    const double p_norm = std::sqrt(update::sum_of_squares(part<const T>(p, 0, n)));
    const double g_norm = std::sqrt(update::sum_of_squares(part(g, 0, n))) * std::abs(rescale);
    double lr = rate.get<double>();
    if (decay > 0 && p_norm > 0 && g_norm > 0) {
      lr *= coeff * p_norm / (g_norm + static_cast<double>(decay) * p_norm + epsilon);
    }
    const T local = static_cast<T>(lr);
    parallel_ranges(n, kUpdateGrain, [=](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        v[j] = mu * v[j] + local * (rescale * g[j] + decay * p[j]);
        p[j] -= v[j];
      }
    });
  };
}

constexpr auto lars_momentum = []<typename T>(PrepareContext& c) -> Step {
  const std::vector<float> decays = decays_of(c);
  std::vector<Step> steps;
  for (size_t i = 0; i < c.count("Param"); ++i) {
    steps.push_back(lars_one<T>(c, i, decays[decays.size() == 1 ? 0 : i]));
  }
  return [steps] {
    for (const Step& step : steps) step();
  };
};

const OpDef& lamb_op = define_op({
    .type = "lamb",
    .doc = "Adam's step, scaled to the size of the parameter.",
    .inputs = {{"Param", "parameter"},
               like_param("Grad", "gradient of Param, dense or sparse rows"),
               one_number("LearningRate", "one number"),
               like_param("Moment1", "mean of gradients"),
               like_param("Moment2", "mean of squared gradients"),
               one_number("Beta1Pow", "beta1 to the power of the step, which counts from 1"),
               one_number("Beta2Pow", "beta2 to the same power"),
               master_param(),
               optional(one_number("SkipUpdate", "one bool: leave everything as it is"))},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                like_param("Moment1Out", "in the place of Moment1"),
                like_param("Moment2Out", "in the place of Moment2"),
                optional(one_number("Beta1PowOut", "in the place of Beta1Pow")),
                optional(one_number("Beta2PowOut", "in the place of Beta2Pow")),
                master_param_out()},
    .attrs = {{"weight_decay", 0.0f, "how much of the parameter is added to the step"},
              {"beta1", 0.9f, "what remains of Moment1 after a step"},
              {"beta2", 0.999f, "what remains of Moment2 after a step"},
              {"epsilon", 1e-6f, "keeps the divisor above zero"},
              {"always_adapt", false, "whether steps are scaled without weight_decay too"},
              kMultiPrecision,
              {"plain_moments", false, "whether a program of Paddle 1.x holds the op"}},
    .infer = infer_lamb,
    .kernels = kernels_for<float, double>(lamb),
    .spell_out = [](Block& block, size_t i) { write_release(block.op(i), "plain_moments"); },
    .take_in = [](Op& op) { read_release(op, "plain_moments"); },
});

Slot list(std::string_view name, std::string_view doc) {
  return {.name = std::string(name), .doc = std::string(doc), .list = true};
}

const OpDef& lars_momentum_op = define_op({
    .type = "lars_momentum",
    .doc = "Momentum, with steps scaled to the size of each parameter.",
    .inputs = {list("Param", "parameters"), like_param("Grad", "their gradients", true),
               like_param("Velocity", "like Param", true),
               one_number("LearningRate", "one number each", true), master_param(true)},
    .outputs = {like_param("ParamOut", "in the place of Param", true),
                like_param("VelocityOut", "in the place of Velocity", true),
                master_param_out(true)},
    .attrs = {{"mu", 0.0f, "what remains of the velocity after a step"},
              {"lars_coeff", 0.001f, "how far a step may go, relative to the parameter"},
              {"lars_weight_decay", std::vector<float>{0.0005f}, "decay, for all or for each"},
              {"epsilon", 0.0f, "keeps the divisor above zero"},
              kMultiPrecision,
              {"rescale_grad", 1.0f, "what the gradient is multiplied with first"}},
    .infer = infer_lars,
    .kernels = kernels_for<float, double>(lars_momentum),
});

}  // namespace
}  // namespace flotilla::ops
