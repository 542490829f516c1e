#include "flotilla/layers/optimizer.h"

#include <algorithm>

#include "flotilla/layers/functions.h"
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
  Attrs attrs = {};                  // with their defaults
  bool fuses_l2 = false;             // has regularization_method and regularization_coeff
  std::string own_setting = {};      // no attribute of the op: only says how an accumulator starts
  std::string decay_attr = {};       // of a decay that is part of the rule, e.g. coeff
  std::string beta_power_slot = {};  // the op reads it, and a `scale` behind it moves it on
};

const std::vector<Accumulator> kAdamState = {{"moment1", "Moment1"},
                                             {"moment2", "Moment2"},
                                             {"beta1_pow_acc", "Beta1Pow", 0, true, "beta1"},
                                             {"beta2_pow_acc", "Beta2Pow", 0, true, "beta2"}};

const std::map<std::string, Rule, std::less<>>& rules() {
  static const std::map<std::string, Rule, std::less<>> table = {
      {"sgd", {}},
      {"momentum",
       {.accumulators = {{"velocity", "Velocity"}},
        .attrs = {{"mu", 0.9f}, {"use_nesterov", false}, {"rescale_grad", 1.0f}},
        .fuses_l2 = true}},
      {"adam",
       {.accumulators = kAdamState,
        .attrs = {{"beta1", 0.9f}, {"beta2", 0.999f}, {"epsilon", 1e-8f}, {"lazy_mode", false}}}},
      {"adamw",
       {.accumulators = kAdamState,
        .attrs = {{"beta1", 0.9f},
                  {"beta2", 0.999f},
                  {"epsilon", 1e-8f},
                  {"lazy_mode", false},
                  {"coeff", 0.01f},
                  {"lr_ratio", 1.0f},
                  {"with_decay", true}},
        .decay_attr = "coeff"}},
      {"adagrad",
       {.accumulators = {{"moment", "Moment", 0, false, "initial_accumulator_value"}},
        .attrs = {{"epsilon", 1e-6f}, {"initial_accumulator_value", 0.0f}},
        .own_setting = "initial_accumulator_value"}},
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
        .attrs = {{"beta1", 0.9f}, {"beta2", 0.999f}, {"epsilon", 1e-8f}},
        .beta_power_slot = "Beta1Pow"}},
      {"ftrl",
       {.accumulators = {{"squared", "SquaredAccumulator"}, {"linear", "LinearAccumulator"}},
        .attrs = {{"l1", 0.0f}, {"l2", 0.0f}, {"lr_power", -0.5f}}}},
      {"lamb",
       {.accumulators = kAdamState,
        .attrs = {{"beta1", 0.9f},
                  {"beta2", 0.999f},
                  {"epsilon", 1e-6f},
                  {"weight_decay", 0.01f},
                  {"always_adapt", false}},
        .decay_attr = "weight_decay"}},
      {"lars_momentum",
       {.accumulators = {{"velocity", "Velocity"}},
        .attrs = {{"mu", 0.9f},
                  {"lars_coeff", 0.001f},
                  {"lars_weight_decay", std::vector<float>{0.0005f}},
                  {"epsilon", 0.0f},
                  {"rescale_grad", 1.0f}},
        .decay_attr = "lars_weight_decay"}},
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

// A temporary of the decay; Paddle names them so.
OpOptions generated() { return {.out = context().names.generate("_generated_var")}; }

// g = g + coeff * p, or g + coeff * sign(p).
void append_decay(Block& block, ParamGrad& pg, const Regularizer& regularizer) {
  const RoleGuard role(block.program(), kOptimizeRole, {pg.param, pg.grad});
  Variable decayed = block.var(pg.param);
  if (regularizer.kind == Regularizer::kL1) decayed = op("sign", {{"X", decayed}}, {}, generated());
  const Variable decay = op("scale", {{"X", decayed}}, {{"scale", regularizer.coeff}}, generated());
  const Variable grad = block.var(pg.grad);
  if (grad->kind == VarKind::kSelectedRows) pg.grad += "@NEWGRAD@";
  op("sum", {{"X", {grad, decay}}}, {}, {.out = pg.grad});
}

// The decay that is part of the rule, switched off for one parameter.
void leave_out_decay(Attr& attr) {
  if (auto* values = std::get_if<std::vector<float>>(&attr)) {
    for (float& value : *values) value = 0;
  } else {
    attr = 0.0f;
  }
}

// The name of the slot that an accumulator is written to.
std::string out_slot(std::string_view in) {
  constexpr std::string_view long_name = "Accumulator";
  if (in.ends_with(long_name)) {
    return std::string(in.substr(0, in.size() - long_name.size())) + "AccumOut";
  }
  return std::string(in) + "Out";
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

Optimizer::Result Optimizer::minimize(Var& loss, const MinimizeOptions& options) {
  const ProgramGuard guard(loss.block->program().shared_from_this(), options.startup);
  Result result;
  result.params_grads = backward(loss, options);
  result.ops = apply_gradients(result.params_grads);
  return result;
}

std::vector<ParamGrad> Optimizer::backward(Var& loss, const MinimizeOptions& options) {
  BackwardStages* const stages = context().stages;
  Var& differentiated = stages != nullptr ? stages->before_backward(loss) : loss;
  std::vector<ParamGrad> params_grads = append_backward(
      differentiated,
      {.parameter_list = options.parameters.empty() ? options_.parameters : options.parameters,
       .no_grad_set = options.no_grad_set});
  if (stages != nullptr) stages->after_backward(differentiated, params_grads);
  return params_grads;
}

std::vector<Op*> Optimizer::apply_gradients(std::vector<ParamGrad> params_grads) {
  require(!params_grads.empty(),
          "the loss depends on no trainable parameter, so there is nothing to optimize");
  std::sort(params_grads.begin(), params_grads.end(),
            [](const ParamGrad& a, const ParamGrad& b) { return a.param < b.param; });
  Block& block = context().main->global_block();
  append_grad_clip(block, options_.clip, params_grads);
  const Rule& rule = rule_of(type_);
  for (ParamGrad& pg : params_grads) {
    const Regularizer regularizer = regularizer_of(block.var(pg.param), options_);
    const bool fused = rule.fuses_l2 && regularizer.kind == Regularizer::kL2;
    if (regularizer.kind != Regularizer::kNone && !fused) append_decay(block, pg, regularizer);
  }
  Var& learning_rate = learning_rate_var(context().main);
  std::vector<Op*> ops;
  ops.reserve(params_grads.size());
  for (const ParamGrad& pg : params_grads) {
    ops.push_back(&append_update(block, pg, learning_rate));
  }
  if (rule.beta_power_slot.empty()) return ops;
  const float beta1 = attr_as<float>(options_.attrs.at("beta1"), "beta1");
  const RoleGuard role(block.program(), kOptimizeRole);
  for (const Op* update : ops) {
    const std::string& power = update->input(rule.beta_power_slot);
    append_op(block, "scale", {{"X", {power}}}, {{"Out", {power}}}, {{"scale", beta1}});
  }
  return ops;
}

Op& Optimizer::append_update(Block& block, const ParamGrad& pg, Var& learning_rate) {
  const Rule& rule = rule_of(type_);
  Var& param = block.var(pg.param);
  const RoleGuard role(block.program(), kOptimizeRole, {pg.param, pg.grad});
  Slots inputs = {{"Param", {pg.param}},
                  {"Grad", {pg.grad}},
                  {"LearningRate", {learning_rate_of(block, param, learning_rate).name}}};
  Slots outputs = {{"ParamOut", {pg.param}}};
  Attrs attrs = options_.attrs;
  for (const Accumulator& acc : rule.accumulators) {
    const double initial =
        acc.initial_attr.empty()
            ? acc.initial
            : static_cast<double>(attr_as<float>(attrs.at(acc.initial_attr), acc.initial_attr));
    const std::string& name = accumulator(param, acc.kind, initial, acc.scalar).name;
    inputs[acc.slot] = {name};
    if (acc.slot != rule.beta_power_slot) outputs[out_slot(acc.slot)] = {name};
  }
  attrs.erase(rule.own_setting);
  if (!rule.decay_attr.empty() && options_.decays && !options_.decays(param)) {
    leave_out_decay(attrs.at(rule.decay_attr));
    if (attrs.contains("with_decay")) attrs["with_decay"] = false;
  }
  if (const Regularizer regularizer = regularizer_of(param, options_);
      rule.fuses_l2 && regularizer.kind == Regularizer::kL2) {
    attrs["regularization_method"] = std::string("l2_decay");
    attrs["regularization_coeff"] = regularizer.coeff;
  }
  Op& op = append_op(block, type_, std::move(inputs), std::move(outputs), std::move(attrs));
  // This optimizer is fluid's, and 1.8 has one number; 2.x writes a list, as the pass for it does.
  if (type_ == "lars_momentum") {
    op.set_attr(rule.decay_attr, op.attr<std::vector<float>>(rule.decay_attr).front());
  }
  return op;
}

Var& Optimizer::accumulator(const Var& param, const std::string& kind, double value, bool scalar) {
  const auto key = std::make_pair(kind, param.name);
  if (const auto found = accumulators_.find(key); found != accumulators_.end()) {
    if (Var* var = context().main->global_block().find_var(found->second)) return *var;
  }
  const std::string prefix =
      options_.name.empty() ? param.name : fmt::format("{}_{}", param.name, options_.name);
  LayerHelper helper(type_, "accumulator");
  Var& var = helper.global_var(context().names.generate(fmt::format("{}_{}", prefix, kind)),
                               scalar ? Shape{1} : param.shape, param.dtype, constant(value));
  accumulators_[key] = var.name;
  return var;
}

Var& Optimizer::learning_rate_var(const std::shared_ptr<Program>& program) {
  Block& block = program->global_block();
  if (!options_.learning_rate_var.empty()) return block.var(options_.learning_rate_var);
  if (const auto found = learning_rates_.find(program->id()); found != learning_rates_.end()) {
    return block.var(found->second);
  }
  const ProgramGuard guard(program);
  Var& var = create_global_var({1}, options_.learning_rate, f32, true,
                               context().names.generate("learning_rate"));
  learning_rates_[program->id()] = var.name;
  return var;
}

Var& Optimizer::learning_rate_of(Block& block, const Var& param, Var& learning_rate) {
  const RoleGuard role(block.program(), kOptimizeRole | kLrSchedRole);
  Variable rate = learning_rate;
  if (param.parameter && param.parameter->learning_rate != 1) {
    rate = rate * param.parameter->learning_rate;
  }
  return rate.dtype() == param.dtype ? rate : cast(rate, param.dtype);
}

}  // namespace flotilla::layers
