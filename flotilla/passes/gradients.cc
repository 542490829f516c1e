#include "flotilla/passes/gradients.h"

namespace flotilla::passes {
namespace {

// What the backward op gives to updates of this block: its op_role_var names pairs of a parameter
// and its gradient. A program that carries no such marks says it by who reads.
std::vector<std::string> gradients_of(const Op& op, const Names& updated, const Names& used) {
  std::vector<std::string> found;
  const auto pairs = op.attr_or<std::vector<std::string>>("op_role_var", {});
  require(pairs.size() % 2 == 0,
          "op_role_var of {} must hold pairs of a parameter and its gradient, but holds {} names",
          op.type(), pairs.size());
  Names given;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (updated.contains(pairs[i])) given.insert(pairs[i + 1]);
  }
  for (const std::string& name : names_in(op.outputs())) {
    if (name != kEmptyVar && (given.contains(name) || used.contains(name))) found.push_back(name);
  }
  return found;
}

}  // namespace

Names updated_params(const Block& block) {
  Names found;
  for (const auto& op : block.ops()) {
    if (!has_role(*op, kOptimizeRole)) continue;
    for (const std::string& param : op->input_list("Param")) found.insert(param);
  }
  return found;
}

std::map<std::string, size_t> find_gradients(const Block& block) {
  const Names updated = updated_params(block);
  std::map<std::string, size_t> finished;
  if (updated.empty()) return finished;
  Names used;
  for (const auto& op : block.ops()) {
    if (!has_role(*op, kOptimizeRole)) continue;
    for (const std::string& name : names_in(op->inputs())) used.insert(name);
  }
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (!has_role(op, kBackwardRole) || has_role(op, kOptimizeRole)) continue;
    for (const std::string& name : gradients_of(op, updated, used)) finished[name] = i;
  }
  return finished;
}

}  // namespace flotilla::passes
