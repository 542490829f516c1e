#include "flotilla/layers/optimizer.h"

#include <algorithm>

#include "flotilla/layers/grad_clip.h"

namespace flotilla::layers {
namespace {

// One accumulator of an update rule: it is read from slot <in> and written to slot <in>Out.
struct Accumulator {
  std::string kind = {};  // as in its name, <param>_<kind>_0
  std::string slot = {};
  double initial = 0;
  bool scalar = false;            // one element instead of the parameter's shape
  std::string initial_attr = {};  // takes its first value from this attribute
};

struct Rule {
  std::vector<Accumulator> accumulators = {};
  Attrs attrs = {};             // with their defaults
  bool fuses_l2 = false;        // has regularization_method and regularization_coeff
  std::string decay_attr = {};  // decoupled weight decay, e.g. coeff
};

const std::map<std::string, Rule, std::less<>>& rules() {
  static const std::map<std::string, Rule, std::less<>> table = {
      {"sgd", {}},
      {"momentum",
       {.accumulators = {{"velocity", "Velocity"}},
        .attrs = {{"mu", 0.9f}, {"use_nesterov", false}},
        .fuses_l2 = true}},
      {"adam",
       {.accumulators = {{"moment1", "Moment1"},
                         {"moment2", "Moment2"},
                         {"beta1_pow_acc", "Beta1Pow", 0, true, "beta1"},
                         {"beta2_pow_acc", "Beta2Pow", 0, true, "beta2"}},
        .attrs = {{"beta1", 0.9f}, {"beta2", 0.999f}, {"epsilon", 1e-8f}, {"lazy_mode", false}}}},
      {"adamw",
       {.accumulators = {{"moment1", "Moment1"},
                         {"moment2", "Moment2"},
                         {"beta1_pow_acc", "Beta1Pow", 0, true, "beta1"},
                         {"beta2_pow_acc", "Beta2Pow", 0, true, "beta2"}},
        .attrs = {{"beta1", 0.9f},
                  {"beta2", 0.999f},
                  {"epsilon", 1e-8f},
                  {"lazy_mode", false},
                  {"coeff", 0.01f},
                  {"with_decay", true}}}},
      {"adagrad", {.accumulators = {{"moment", "Moment"}}, .attrs = {{"epsilon", 1e-6f}}}},
      {"rmsprop",
       {.accumulators = {{"momentum", "Moment"},
                         {"mean_square", "MeanSquare"},
                         {"mean_grad", "MeanGrad"}},
        .attrs = {{"decay", 0.95f}, {"epsilon", 1e-6f}, {"momentum", 0.0f}, {"centered", false}}}},
      {"adadelta",
       {.accumulators = {{"_avg_squared_grad", "AvgSquaredGrad"},
                         {"_avg_squared_update", "AvgSquaredUpdate"}},
        .attrs = {{"epsilon", 1e-6f}, {"rho", 0.95f}}}},
      {"adamax",
       {.accumulators = {{"moment", "Moment"},
                         {"inf_norm", "InfNorm"},
                         {"beta1_pow_acc", "Beta1Pow", 0, true, "beta1"}},
        .attrs = {{"beta1", 0.9f}, {"beta2", 0.999f}, {"epsilon", 1e-8f}}}},
      {"ftrl",
       {.accumulators = {{"squared", "SquaredAccumulator"}, {"linear", "LinearAccumulator"}},
        .attrs = {{"l1", 0.0f}, {"l2", 0.0f}, {"lr_power", -0.5f}}}},
      {"lamb",
       {.accumulators = {{"moment1", "Moment1"},
                         {"moment2", "Moment2"},
                         {"beta1_pow_acc", "Beta1Pow", 0, true, "beta1"},
                         {"beta2_pow_acc", "Beta2Pow", 0, true, "beta2"}},
        .attrs =
            {{"beta1", 0.9f}, {"beta2", 0.999f}, {"epsilon", 1e-6f}, {"weight_decay", 0.01f}}}},
      {"lars_momentum",
       {.accumulators = {{"velocity", "Velocity"}},
        .attrs = {{"mu", 0.9f},
                  {"lars_coeff", 0.001f},
                  {"lars_weight_decay", std::vector<float>{0.0005f}},
                  {"epsilon", 0.0f}}}},
  };
  return table;
}

const Rule& rule_of(const std::string& type) {
  const auto found = rules().find(type);
  if (found != rules().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, rule] : rules()) known.push_back(name);
  refuse("there is no optimizer \"{}\".{}", type, did_you_mean(type, known));
}

// The parameter's own regularizer stands before the optimizer's.
Regularizer regularizer_of(const Var& param, const OptimizerOptions& options) {
  return param.parameter && param.parameter->regularizer ? *param.parameter->regularizer
                                                         : options.regularization;
}

// g + coeff * p, or g + coeff * sign(p).
std::string append_decay(Block& block, const ParamGrad& pg, const Regularizer& regularizer) {
  LayerHelper helper("regularized");
  Var& param = block.var(pg.param);
  Var* decayed = &param;
  if (regularizer.kind == Regularizer::kL1) {
    decayed = &helper.result("sign", {{"X", {pg.param}}});
  }
  Var& decay = helper.result("scale", {{"X", {decayed->name}}}, {{"scale", regularizer.coeff}});
  return helper.result("sum", {{"X", {pg.grad, decay.name}}}).name;
}

}  // namespace

Optimizer::Optimizer(std::string type, OptimizerOptions options)
    : type_(std::move(type)), options_(std::move(options)) {
  Attrs attrs = rule_of(type_).attrs;
  for (auto& [name, value] : options_.attrs) {
    const auto known = attrs.find(name);
    std::vector<std::string> names;
    for (const auto& [attr, initial] : attrs) names.push_back(attr);
    require(known != attrs.end(), "the optimizer {} has no setting \"{}\".{}", type_, name,
            did_you_mean(name, names));
    known->second = convert(value, known->second, fmt::format("\"{}\" of {}", name, type_));
  }
  options_.attrs = std::move(attrs);
}

Optimizer::Result Optimizer::minimize(Var& loss, const std::vector<std::string>& parameters,
                                      const std::vector<std::string>& no_grad_set) {
  const std::shared_ptr<Program> program = loss.block->program().weak_from_this().lock();
  const ProgramGuard guard(program != nullptr ? program : context().main);
  Result result;
  result.params_grads = backward(loss, parameters, no_grad_set);
  result.ops = apply_gradients(result.params_grads);
  return result;
}

std::vector<ParamGrad> Optimizer::backward(Var& loss, const std::vector<std::string>& parameters,
                                           const std::vector<std::string>& no_grad_set) {
  return append_backward(loss,
                         {.parameter_list = parameters.empty() ? options_.parameters : parameters,
                          .no_grad_set = no_grad_set});
}

std::vector<Op*> Optimizer::apply_gradients(std::vector<ParamGrad> params_grads) {
  require(!params_grads.empty(),
          "the loss depends on no trainable parameter, so there is nothing to optimize");
  std::sort(params_grads.begin(), params_grads.end(),
            [](const ParamGrad& a, const ParamGrad& b) { return a.param < b.param; });
  Program& program = *context().main;
  Block& block = program.global_block();
  Var& learning_rate = learning_rate_var(program);
  {
    const RoleGuard role(program, kOptimizeRole);
    append_grad_clip(block, options_.clip, params_grads);
  }
  std::vector<Op*> ops;
  for (const ParamGrad& pg : params_grads) {
    ops.push_back(&append_update(block, pg, learning_rate));
  }
  return ops;
}

Op& Optimizer::append_update(Block& block, const ParamGrad& pg, Var& learning_rate) {
  Program& program = block.program();
  const Rule& rule = rule_of(type_);
  Var& param = block.var(pg.param);
  const Regularizer regularizer = regularizer_of(param, options_);
  const RoleGuard role(program, kOptimizeRole, {pg.param, pg.grad});
  Attrs attrs = options_.attrs;
  std::string grad = pg.grad;
  if (rule.fuses_l2 && regularizer.kind == Regularizer::kL2) {
    attrs["regularization_method"] = std::string("l2_decay");
    attrs["regularization_coeff"] = regularizer.coeff;
  } else if (regularizer.kind != Regularizer::kNone) {
    grad = append_decay(block, pg, regularizer);
  }
  Slots inputs = {{"Param", {pg.param}},
                  {"Grad", {grad}},
                  {"LearningRate", {learning_rate_of(block, param, learning_rate).name}}};
  Slots outputs = {{"ParamOut", {pg.param}}};
  for (const Accumulator& acc : rule.accumulators) {
    const double initial =
        acc.initial_attr.empty()
            ? acc.initial
            : static_cast<double>(attr_as<float>(attrs.at(acc.initial_attr), acc.initial_attr));
    const std::string& name = accumulator(param, acc.kind, initial, acc.scalar).name;
    inputs[acc.slot] = {name};
    // Adamax leaves the power of beta1 to an op behind it.
    if (type_ == "adamax" && acc.scalar) continue;
    outputs[(type_ == "ftrl" ? acc.slot.substr(0, acc.slot.size() - 11) + "AccumOut"
                             : acc.slot + "Out")] = {name};
  }
  Op& update = append_op(block, type_, std::move(inputs), std::move(outputs), std::move(attrs));
  if (type_ == "adamax") {
    const std::string& power = update.input("Beta1Pow");
    append_op(block, "scale", {{"X", {power}}}, {{"Out", {power}}},
              {{"scale", attr_as<float>(options_.attrs.at("beta1"), "beta1")}});
  }
  return update;
}

Var& Optimizer::accumulator(const Var& param, const std::string& kind, double value, bool scalar) {
  const auto key = std::make_pair(kind, param.name);
  if (const auto found = accumulators_.find(key); found != accumulators_.end()) {
    if (Var* var = context().main->global_block().find_var(found->second)) return *var;
  }
  LayerHelper helper(type_);
  Var& var = helper.global_var(context().names.generate(fmt::format("{}_{}", param.name, kind)),
                               scalar ? Shape{1} : param.shape, param.dtype, constant(value));
  accumulators_[key] = var.name;
  return var;
}

Var& Optimizer::learning_rate_var(Program& program) {
  if (!options_.learning_rate_var.empty())
    return program.global_block().var(options_.learning_rate_var);
  if (const auto found = learning_rates_.find(program.id()); found != learning_rates_.end()) {
    return program.global_block().var(found->second);
  }
  Var& var = create_global_var({1}, static_cast<double>(options_.learning_rate), f32, true,
                               context().names.generate("learning_rate"));
  learning_rates_[program.id()] = var.name;
  return var;
}

Var& Optimizer::learning_rate_of(Block& block, const Var& param, Var& learning_rate) {
  const float factor = param.parameter ? param.parameter->learning_rate : 1;
  if (factor == 1) return learning_rate;
  const RoleGuard role(block.program(), kOptimizeRole | kLrSchedRole);
  LayerHelper helper("learning_rate");
  return helper.result("scale", {{"X", {learning_rate.name}}}, {{"scale", factor}});
}

}  // namespace flotilla::layers
