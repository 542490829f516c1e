// flotilla/ops/optim/adam.cc
//
// adam and adamw; see update/adam.h for the formula. In a sparse gradient repeated rows are added
// up; a row that is left out has gradient zero, or with lazy_mode is left alone.
//
// Two known answers of Paddle's CPU kernels are not repeated here: with sparse gradients they take
// the beta powers of the next step, and in adamw they apply lr_ratio to the decay only.

#include "flotilla/update/adam.h"

#include "flotilla/ops/optim/optim.h"
#include "flotilla/ops/optim/sparse.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  for (const std::string slot : {"Param", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"}) {
    c.out(slot + "Out") = c.in(slot);
  }
}

// Hyperparameters, from attributes or from the tensors that may stand in for them.
template <typename T>
class Hyper {
 public:
  explicit Hyper(PrepareContext& c)
      : lr_(c, "LearningRate"),
        beta1_power_(c.in<T>("Beta1Pow")),
        beta2_power_(c.in<T>("Beta2Pow")),
        beta1_power_out_(c.out<T>("Beta1PowOut")),
        beta2_power_out_(c.out<T>("Beta2PowOut")),
        keeps_powers_(c.attr<bool>("use_global_beta_pow")) {
    rule_.beta1 = static_cast<T>(c.attr<float>("beta1"));
    rule_.beta2 = static_cast<T>(c.attr<float>("beta2"));
    rule_.epsilon = static_cast<T>(c.attr<float>("epsilon"));
    rule_.plain_epsilon = c.attr<bool>("plain_epsilon");
    if (c.has("Beta1Tensor")) beta1_ = NumberIn(c, "Beta1Tensor");
    if (c.has("Beta2Tensor")) beta2_ = NumberIn(c, "Beta2Tensor");
    if (c.has("EpsilonTensor")) epsilon_ = NumberIn(c, "EpsilonTensor");
    if (c.has("SkipUpdate")) skip_ = c.in<bool>("SkipUpdate");
    if (c.op().type() == "adamw") {
      ratio_ = static_cast<T>(c.attr<float>("lr_ratio"));
      rule_.decay = c.attr<bool>("with_decay") ? static_cast<T>(c.attr<float>("coeff")) : T{0};
    }
  }

  bool skip() const { return skip_ && *skip_.data(); }

  update::Adam<T> rule() const {
    update::Adam<T> rule = rule_;
    if (beta1_) rule.beta1 = beta1_.get<T>();
    if (beta2_) rule.beta2 = beta2_.get<T>();
    if (epsilon_) rule.epsilon = epsilon_.get<T>();
    rule.lr = ratio_ * lr_.get<T>();
    rule.beta1_power = *beta1_power_.data();
    rule.beta2_power = *beta2_power_.data();
    return rule;
  }

  // Leaves the powers of the next step, once this one is done.
  void advance(const update::Adam<T>& rule) const {
    const bool keep = keeps_powers_ || skip();
    *beta1_power_out_.data() = rule.beta1_power * (keep ? T{1} : rule.beta1);
    *beta2_power_out_.data() = rule.beta2_power * (keep ? T{1} : rule.beta2);
  }

 private:
  update::Adam<T> rule_ = {};
  T ratio_ = 1;
  NumberIn lr_;
  In<T> beta1_power_, beta2_power_;
  Out<T> beta1_power_out_, beta2_power_out_;
  bool keeps_powers_;
  NumberIn beta1_, beta2_, epsilon_;
  In<bool> skip_;
};

template <typename T>
struct State {
  Changed<T> param, moment1, moment2;

  State(PrepareContext& c, const Layout& layout)
      : param(c, "Param", "ParamOut", layout),
        moment1(c, "Moment1", "Moment1Out", layout),
        moment2(c, "Moment2", "Moment2Out", layout) {}
};

template <typename T>
Step dense(PrepareContext& c) {
  const Layout layout = c.layout("Param");
  const Hyper<T> hyper(c);
  const State<T> state(c, layout);
  return [=, grad = c.in<T>("Grad", 0, layout)] {
    const update::Adam<T> rule = hyper.rule();
    T* p = state.param.start();
    T* m = state.moment1.start();
    T* v = state.moment2.start();
    const T* g = grad.data();
    if (!hyper.skip()) {
      parallel_ranges(state.param.size(), kUpdateGrain, [=, &rule](int64_t begin, int64_t end) {
        update::adam(part(p, begin, end), part(g, begin, end), part(m, begin, end),
                     part(v, begin, end), rule);
      });
    }
    hyper.advance(rule);
  };
}

template <typename T>
Step sparse(PrepareContext& c) {
  const Hyper<T> hyper(c);
  const State<T> state(c, {});
  const MergedRows<T> grad(c, "Grad");
  return [=, lazy = c.attr<bool>("lazy_mode")] {
    const update::Adam<T> rule = hyper.rule();
    T* p = state.param.start();
    T* m = state.moment1.start();
    T* v = state.moment2.start();
    const auto rows = [&](int64_t begin, int64_t end, std::span<const T> g) {
      begin *= grad.width();
      end *= grad.width();
      update::adam(part(p, begin, end), g, part(m, begin, end), part(v, begin, end), rule);
    };
    const auto gap = [&](int64_t begin, int64_t end) {
      if (!lazy) rows(begin, end, {});
    };
    if (!hyper.skip()) {
      grad.for_each([&](int64_t row, std::span<const T> g) { rows(row, row + 1, g); }, gap);
    }
    hyper.advance(rule);
  };
}

OpDef definition(std::string type, std::string doc, std::vector<AttrSpec> extra) {
  OpDef def = {
      .type = std::move(type),
      .doc = std::move(doc),
      .inputs = {{"Param", "parameter"},
                 like_param("Grad", "gradient of Param, dense or sparse rows"),
                 one_number("LearningRate", "one number"),
                 like_param("Moment1", "mean of gradients"),
                 like_param("Moment2", "mean of squared gradients"),
                 one_number("Beta1Pow", "beta1 to the power of the step, which counts from 1"),
                 one_number("Beta2Pow", "beta2 to the same power"),
                 master_param(),
                 optional(one_number("SkipUpdate", "one bool: leave everything as it is")),
                 optional(one_number("Beta1Tensor", "one number in the place of beta1")),
                 optional(one_number("Beta2Tensor", "one number in the place of beta2")),
                 optional(one_number("EpsilonTensor", "one number in the place of epsilon"))},
      .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                  like_param("Moment1Out", "in the place of Moment1"),
                  like_param("Moment2Out", "in the place of Moment2"),
                  one_number("Beta1PowOut", "in the place of Beta1Pow"),
                  one_number("Beta2PowOut", "in the place of Beta2Pow"), master_param_out()},
      .attrs = {{"beta1", 0.9f, "what remains of Moment1 after a step"},
                {"beta2", 0.999f, "what remains of Moment2 after a step"},
                {"epsilon", 1e-8f, "keeps the divisor above zero"},
                {"lazy_mode", false, "whether rows that a sparse gradient leaves out stay"},
                {"min_row_size_to_use_multithread", int64_t{1000}, "not used"},
                kMultiPrecision,
                kPlainEpsilon,
                {"use_global_beta_pow", false, "whether somebody else advances the beta powers"}},
      .infer = infer,
      .kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
        return c.is_sparse("Grad") ? sparse<T>(c) : dense<T>(c);
      }),
  };
  def.attrs.insert(def.attrs.end(), extra.begin(), extra.end());
  return def;
}

const OpDef& adam = [] {
  OpDef def = definition("adam", "Moves the parameter by the ratio of two running means.", {});
  def.spell_out = [](Block& block, size_t i) { write_release(block.op(i), "plain_epsilon"); };
  def.take_in = [](Op& op) { read_release(op, "plain_epsilon"); };
  return define_op(std::move(def));
}();

const OpDef& adamw = define_op(
    definition("adamw", "Adam, with a decay of the parameter that is no part of its gradient.",
               {{"lr_ratio", 1.0f, "what the learning rate of this parameter is multiplied with"},
                {"coeff", 0.01f, "decay"},
                {"with_decay", false, "whether this parameter decays"}}));

}  // namespace
}  // namespace flotilla::ops
