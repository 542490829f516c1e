#include "flotilla/runtime/schedule.h"

#include <algorithm>

#include "flotilla/ir/text.h"
#include "flotilla/op/op_def.h"

namespace flotilla {
namespace {

void add_lines(const Block& block, const Op& op, std::vector<std::string>& lines) {
  const std::string what =
      fmt::format("{} in ring {}", op.type(), op.attr_or<int32_t>("ring_id", 0));
  const auto vars = op.input_list("X");
  if (vars.empty()) lines.push_back(what);
  // An op that reads more than X exchanges what it makes of it (sync_batch_norm): batches may
  // differ.
  const bool travels = op.inputs().size() == 1;
  for (const std::string& name : vars) {
    const Var* var = travels ? block.find_var_recursive(name) : nullptr;
    lines.push_back(var == nullptr
                        ? fmt::format("{} of {}", what, name)
                        : fmt::format("{} of {} {}{}", what, name, var->dtype, var->shape));
  }
}

}  // namespace

std::vector<std::string> ops_to_compare(const Program& program) {
  std::vector<std::string> lines;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      // Who sends to whom, and where a rank is to be found.
      if (!op->attrs().contains("peer") && !op->attrs().contains("rank"))
        lines.push_back(print(*op));
    }
  }
  return lines;
}

std::vector<std::string> collective_schedule(const Program& program) {
  std::vector<std::string> lines;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      const OpDef* def = find_op(op->type());
      // What two ranks send each other is not the same on both.
      const bool between_two = def != nullptr && def->find_attr("peer") != nullptr;
      if (def != nullptr && def->find_attr("ring_id") != nullptr && !between_two) {
        add_lines(*block, *op, lines);
      }
    }
  }
  return lines;
}

ExchangeLayouts agree_on_layouts(comm::World& world, const ExchangeLayouts& mine) {
  std::string text;
  for (const auto& [name, layout] : mine) text += fmt::format("{} {}\n", name, layout);
  const std::vector<std::string> texts = world.exchange().all_gather(std::move(text));
  if (std::ranges::all_of(texts, [&](const std::string& t) { return t == texts.front(); })) {
    return mine;
  }
  ExchangeLayouts plain;
  for (const auto& [name, layout] : mine) plain[name] = {};
  return plain;
}

}  // namespace flotilla
