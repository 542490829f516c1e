// flotilla/passes/layerwise_rates.cc
//
//     momentum(Param=w, Grad=g, ...) {mu}   ==>   lars_momentum(Param=w, Grad=g, ...) {mu, lars_*}
//     adam(Param=w, Grad=g, ...) {beta1}    ==>   lamb(Param=w, Grad=g, ...) {beta1, weight_decay}

#include "flotilla/passes/layerwise_rates.h"

#include <algorithm>

#include "flotilla/op/infer.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_check.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

// Attributes of `to`: those of the same name that `op` has, and the marks of every op.
Attrs kept_attrs(const Op& op, const OpDef& from, const OpDef& to) {
  Attrs attrs = marks_of(op);
  if (const Attr* pairs = op.find_attr("op_role_var")) attrs["op_role_var"] = *pairs;
  for (const AttrSpec& spec : to.attrs) {
    if (from.find_attr(spec.name) != nullptr) {
      attrs[spec.name] = attr_or_default(op, from, spec.name);
    }
  }
  return attrs;
}

// Replaces all ops of type `from`; `change` completes the attributes of one, given its parameter.
template <typename Change>
int64_t replace_updates(Program& program, const std::string& from, const std::string& to,
                        Change change) {
  int64_t count = 0;
  for (const auto& block : program.blocks()) {
    for (size_t i = 0; i < block->size(); ++i) {
      const Op& op = block->op(i);
      if (op.type() != from) continue;
      const std::string& param = op.input("Param");
      require(block->var(op.input("Grad")).kind != VarKind::kSelectedRows,
              "{} needs dense gradients, but that of \"{}\" is sparse", to, param);
      Attrs attrs = kept_attrs(op, op_def(from), op_def(to));
      change(param, op, attrs);
      Op changed(to, op.inputs(), op.outputs(), std::move(attrs));
      block->erase(i);
      block->insert(i, std::move(changed));
      ++count;
    }
  }
  return count;
}

void say_if_none(int64_t count, std::string_view field, std::string_view optimizer,
                 std::vector<std::string>& said) {
  if (count > 0) return;
  said.push_back(
      fmt::format("strategy.{} = True has no effect: it changes {}, and the program has "
                  "no such update.",
                  field, optimizer));
}

}  // namespace

std::vector<std::string> use_lars(Program& program, const LarsOptions& options) {
  std::vector<std::string> said;
  bool decays = false, looks_ahead = false;
  const auto change = [&](const std::string& param, const Op& op, Attrs& attrs) {
    const bool excluded =
        std::any_of(options.exclude.begin(), options.exclude.end(),
                    [&](const std::string& part) { return param.find(part) != std::string::npos; });
    attrs["lars_coeff"] = options.coeff;
    attrs["lars_weight_decay"] = std::vector<float>{excluded ? 0 : options.weight_decay};
    attrs["epsilon"] = options.epsilon;
    decays = decays || !op.attr_or<std::string>("regularization_method", "").empty();
    looks_ahead = looks_ahead || op.attr_or<bool>("use_nesterov", false);
  };
  say_if_none(replace_updates(program, "momentum", "lars_momentum", change), "lars", "Momentum",
              said);
  if (decays) {
    said.push_back(
        "strategy.lars = True: the L2 decay of Momentum gives way to lars_weight_decay.");
  }
  if (looks_ahead) said.push_back("strategy.lars = True: LARS has no Nesterov momentum.");
  return said;
}

std::vector<std::string> use_lamb(Program& program, const LambOptions& options) {
  std::vector<std::string> said;
  const auto change = [&](const std::string& param, const Op&, Attrs& attrs) {
    const bool excluded = std::any_of(options.exclude.begin(), options.exclude.end(),
                                      [&](const std::string& end) { return param.ends_with(end); });
    attrs["weight_decay"] = excluded ? 0.0f : options.weight_decay;
  };
  say_if_none(replace_updates(program, "adam", "lamb", change), "lamb", "Adam", said);
  return said;
}

void lars(PassContext& context) {
  const strategy::LarsConfig& config = context.settings().lars_configs();
  const auto& exclude = config.exclude_from_weight_decay();
  context.say(use_lars(context.main, {.coeff = config.lars_coeff(),
                                      .weight_decay = config.lars_weight_decay(),
                                      .epsilon = config.epsilon(),
                                      .exclude = {exclude.begin(), exclude.end()}}));
}

void lamb(PassContext& context) {
  const strategy::LambConfig& config = context.settings().lamb_configs();
  const auto& exclude = config.exclude_from_weight_decay();
  context.say(use_lamb(context.main, {.weight_decay = config.lamb_weight_decay(),
                                      .exclude = {exclude.begin(), exclude.end()}}));
}

void check_layerwise_rates(const DistributedStrategy& strategy) {
  refuse_both(strategy, "lars", "lamb");
}

}  // namespace flotilla::passes
