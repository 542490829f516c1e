#include "flotilla/layers/op.h"

#include <algorithm>
#include <cmath>

namespace flotilla::layers {
namespace {

std::vector<OutSlot> needed_outputs(const OpDef& def) {
  std::vector<OutSlot> outputs;
  for (const Slot& slot : def.outputs) {
    if (!slot.optional) outputs.emplace_back(slot.name);
  }
  return outputs;
}

}  // namespace

// The most variables that one op writes: a typing error must not fill the memory with names.
constexpr int64_t kMaxOutputs = 1 << 20;

Variables op_outputs(const std::string& type, const Inputs& inputs, Attrs attrs,
                     const OpOptions& options) {
  const std::vector<OutSlot> outputs =
      options.outputs.empty() ? needed_outputs(op_def(type)) : options.outputs;
  const std::string& layer = options.layer.empty() ? type : options.layer;
  // An exact name needs no generated one, unless more variables follow.
  const bool exact_only = !options.out.empty() && outputs.size() == 1 && options.act.empty();
  LayerHelper helper(layer, exact_only ? options.out : options.name);
  Slots reads, writes;
  for (const auto& [slot, vars] : inputs) {
    if (!vars.empty()) reads[slot] = vars.names();
  }
  std::vector<std::string> names;
  for (const OutSlot& output : outputs) {
    require(0 <= output.count && output.count <= kMaxOutputs,
            "{} can write {} variables at most, but {} were asked for", type, kMaxOutputs,
            output.count);
    for (int64_t i = 0; i < output.count; ++i) {
      names.push_back(names.empty() && !options.out.empty() ? options.out : helper.temporary());
      writes[output.slot].push_back(names.back());
    }
  }
  helper.append(type, std::move(reads), std::move(writes), std::move(attrs));
  Variables made;
  for (const std::string& name : names) {
    Var& var = helper.block().var(name);
    // A name that is used again may have belonged to a constant.
    if (name != options.out || options.stop_gradient) var.stop_gradient = options.stop_gradient;
    made.push_back(var);
  }
  if (!made.empty()) made.front() = helper.activate(made.front(), options.act);
  return made;
}

Variable op(const std::string& type, const Inputs& inputs, Attrs attrs, const OpOptions& options) {
  const Variables made = op_outputs(type, inputs, std::move(attrs), options);
  require(!made.empty(), "the op \"{}\" writes nothing that could be returned", type);
  return made.front();
}

int64_t whole_number(const Operand& extent) {
  const double number = extent.number();
  require(std::abs(number) < 0x1p62 && number == std::trunc(number),
          "a whole number of at most 62 bits is expected, but {} was given", number);
  return static_cast<int64_t>(number);
}

ShapeArgument shape_argument(const std::vector<Operand>& extents) {
  ShapeArgument made;
  const bool all_known = std::all_of(extents.begin(), extents.end(),
                                     [](const Operand& one) { return one.var() == nullptr; });
  for (const Operand& one : extents) {
    made.extents.push_back(one.var() == nullptr ? whole_number(one) : -1);
    if (all_known) continue;
    made.tensors.push_back(one.var() != nullptr ? Variable(*one.var())
                                                : op("fill_constant", {},
                                                     {{"shape", std::vector<int64_t>{1}},
                                                      {"dtype", to_paddle(i32)},
                                                      {"value", static_cast<float>(one.number())},
                                                      {"force_cpu", true}},
                                                     {.stop_gradient = true}));
  }
  return made;
}

}  // namespace flotilla::layers
