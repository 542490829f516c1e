// flotilla inspect op: the definitions of operators.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "flotilla/op/print.h"

namespace flotilla::cli {
namespace {

void inspect_ops(const std::vector<std::string>& types) {
  for (const std::string& type : types) fmt::print("{}", print(op_def(type), Docs::kShown));
  if (!types.empty()) return;
  for (const std::string& type : op_types()) fmt::print("{}", print(op_def(type)));
}

}  // namespace

void add_inspect_op(CLI::App& inspect_command) {
  auto types = std::make_shared<std::vector<std::string>>();
  CLI::App* cmd = inspect_command.add_subcommand(
      "op", "Show slots, attributes, gradients and kernels of operators");
  cmd->add_option("type", *types, "Operator types, e.g. relu (all by default)");
  cmd->callback([types] { inspect_ops(*types); });
}

}  // namespace flotilla::cli
