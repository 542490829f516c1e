#include "flotilla/op/lower.h"

#include <algorithm>

#include "flotilla/op/build.h"

namespace flotilla {

LowerContext::LowerContext(Block& block, const Op& op, const OpDef& def)
    : block_(block), op_(op), def_(def) {}

bool LowerContext::has(std::string_view slot) const {
  const auto vars = op_.input_list(slot);
  return !vars.empty() && vars.front() != kEmptyVar;
}

const std::string& LowerContext::in(std::string_view slot, size_t i) const {
  const auto vars = op_.input_list(slot);
  require(i < vars.size() && vars[i] != kEmptyVar, "{} needs a variable in slot {}", def_.type,
          slot);
  return vars[i];
}

bool LowerContext::wants(std::string_view slot, size_t i) const {
  const auto vars = op_.output_list(slot);
  return i < vars.size() && vars[i] != kEmptyVar;
}

std::string LowerContext::append(std::string type, Slots inputs, Attrs attrs) {
  const OpDef& appended = op_def(type);
  const auto gradient_uses = [&](const Slot& slot) {
    return std::ranges::find(appended.grad.uses, slot.name, &Use::slot) != appended.grad.uses.end();
  };
  Slots outputs;
  std::string first;
  for (const Slot& slot : appended.outputs) {
    if (slot.optional && !gradient_uses(slot)) continue;
    const Var& made = block_.add_temporary(type, f32, {});
    if (first.empty()) first = made.name;
    outputs[slot.name] = {made.name};
  }
  invariant(!first.empty(), "the body of {} has no use for {}, which has no output", def_.type,
            type);
  append_op(block_, std::move(type), std::move(inputs), std::move(outputs), std::move(attrs));
  return first;
}

std::string LowerContext::apply(std::string type, std::string x, Attrs attrs) {
  return append(std::move(type), {{"X", {std::move(x)}}}, std::move(attrs));
}

std::string LowerContext::apply(std::string type, std::string x, std::string y, Attrs attrs) {
  return append(std::move(type), {{"X", {std::move(x)}}, {"Y", {std::move(y)}}}, std::move(attrs));
}

std::string LowerContext::scale(std::string x, float factor, float summand) {
  return apply("scale", std::move(x), {{"scale", factor}, {"bias", summand}});
}

std::string LowerContext::clip(std::string x, float least, float most) {
  return apply("clip", std::move(x), {{"min", least}, {"max", most}});
}

std::string LowerContext::cast(std::string x, DType to) {
  const int32_t from = to_paddle(var(x).dtype);
  return apply("cast", std::move(x), {{"in_dtype", from}, {"out_dtype", to_paddle(to)}});
}

std::string LowerContext::sum(std::string x, Ints axes, bool keep) {
  return apply("reduce_sum", std::move(x), {{"dim", std::move(axes)}, {"keep_dim", keep}});
}

std::string LowerContext::reshape(std::string x, Ints shape) {
  return apply("reshape2", std::move(x), {{"shape", std::move(shape)}});
}

std::string LowerContext::flatten(std::string x, int32_t first, int32_t last) {
  return apply("flatten_contiguous_range", std::move(x),
               {{"start_axis", first}, {"stop_axis", last}});
}

std::string LowerContext::slice(std::string x, int32_t axis, int64_t begin, int64_t end,
                                bool drop) {
  return append("slice", {{"Input", {std::move(x)}}},
                {{"axes", Ints{axis}},
                 {"starts", std::vector<int64_t>{begin}},
                 {"ends", std::vector<int64_t>{end}},
                 {"decrease_axis", drop ? Ints{axis} : Ints{}}});
}

void LowerContext::result(std::string slot, std::string var, size_t i) {
  invariant(def_.find_output(slot) != nullptr, "{} has no output {}", def_.type, slot);
  results_[{std::move(slot), i}] = std::move(var);
}

}  // namespace flotilla
