#include "flotilla/layers/optimizer.h"

#include <algorithm>

#include "flotilla/layers/functions.h"
#include "flotilla/layers/grad_clip.h"
#include "flotilla/update/rule.h"

namespace flotilla::layers {
namespace {

const update::Rule& rule_of(const std::string& type) {
  const update::Rule* rule = update::find_rule(type);
  require(rule != nullptr, "there is no optimizer \"{}\".{}", type,
          did_you_mean(type, update::rule_names()));
  return *rule;
}

Attr attr_of(const update::Value& value) {
  return std::visit([](const auto& v) { return Attr(v); }, value);
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
void leave_out_decay(const update::Rule& rule, Attrs& attrs) {
  for (const update::Setting& setting : rule.settings) {
    if (!setting.decays) continue;
    Attr& attr = attrs.at(setting.name);
    if (auto* values = std::get_if<std::vector<float>>(&attr)) {
      std::fill(values->begin(), values->end(), 0.0f);
    } else if (bool* flag = std::get_if<bool>(&attr)) {
      *flag = false;
    } else {
      attr = 0.0f;
    }
  }
}

}  // namespace

Optimizer::Optimizer(std::string type, OptimizerOptions options)
    : type_(std::move(type)), options_(std::move(options)) {
  Attrs attrs;
  for (const update::Setting& setting : rule_of(type_).settings) {
    if (setting.layer) attrs[setting.name] = attr_of(*setting.layer);
  }
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
  const update::Rule& rule = rule_of(type_);
  for (ParamGrad& pg : params_grads) {
    const Regularizer regularizer = regularizer_of(block.var(pg.param), options_);
    const bool fused = rule.takes_l2 && regularizer.kind == Regularizer::kL2;
    if (regularizer.kind != Regularizer::kNone && !fused) append_decay(block, pg, regularizer);
  }
  Var& learning_rate = learning_rate_var(context().main);
  std::vector<Op*> ops;
  ops.reserve(params_grads.size());
  for (const ParamGrad& pg : params_grads) {
    ops.push_back(&append_update(block, pg, learning_rate));
  }
  const RoleGuard role(block.program(), kOptimizeRole);
  for (const update::Power& power : rule.powers) {
    if (power.by != update::Power::kProgram) continue;
    const float base = attr_as<float>(options_.attrs.at(power.base), power.base);
    for (const Op* update : ops) {
      const std::string& var = update->input(power.slot);
      append_op(block, "scale", {{"X", {var}}}, {{"Out", {var}}}, {{"scale", base}});
    }
  }
  return ops;
}

Op& Optimizer::append_update(Block& block, const ParamGrad& pg, Var& learning_rate) {
  const update::Rule& rule = rule_of(type_);
  Var& param = block.var(pg.param);
  const RoleGuard role(block.program(), kOptimizeRole, {pg.param, pg.grad});
  Slots inputs = {{"Param", {pg.param}},
                  {"Grad", {pg.grad}},
                  {"LearningRate", {learning_rate_of(block, param, learning_rate).name}}};
  Slots outputs = {{"ParamOut", {pg.param}}};
  Attrs attrs = options_.attrs;
  const auto number = [&](const std::string& setting) -> double {
    return setting.empty() ? 0 : attr_as<float>(attrs.at(setting), setting);
  };
  for (const update::State& state : rule.states_in_order()) {
    const std::string& name = accumulator(param, state.name, number(state.start), false).name;
    inputs[state.slot] = outputs[state.out_slot()] = {name};
  }
  for (const update::Power& power : rule.powers) {
    const std::string& name = accumulator(param, power.name, number(power.base), true).name;
    inputs[power.slot] = {name};
    if (power.by != update::Power::kProgram) outputs[power.slot + "Out"] = {name};
  }
  std::erase_if(attrs, [&](const auto& attr) { return !rule.find_setting(attr.first)->op; });
  if (options_.decays && !options_.decays(param)) leave_out_decay(rule, attrs);
  if (const Regularizer regularizer = regularizer_of(param, options_);
      rule.takes_l2 && regularizer.kind == Regularizer::kL2) {
    attrs["regularization_method"] = std::string("l2_decay");
    attrs["regularization_coeff"] = regularizer.coeff;
  }
  Op& op = append_op(block, type_, std::move(inputs), std::move(outputs), std::move(attrs));
  // These optimizers are fluid's, and 1.8 has one number; 2.x writes a list, as the passes do.
  for (const update::Setting& setting : rule.settings) {
    if (setting.layer && std::holds_alternative<std::vector<float>>(*setting.layer)) {
      op.set_attr(setting.name, op.attr<std::vector<float>>(setting.name).front());
    }
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
